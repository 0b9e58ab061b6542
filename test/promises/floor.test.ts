import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { percentile } from '../guarantees/harness/audit.ts'
import { connectTo, createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { form } from '../support/form.ts'
import { isOutOf } from '../support/lane.ts'
import { createLedger, monotonicMs } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

/** Generous for a poll of one second, even on a busy machine. */
const soonMs = 20_000

describe('jobs behind the position that a worker has claimed up to', () => {
  test('a worker finds a job whose transaction stayed open while later jobs ran', async () => {
    const ledger = await createLedger()
    const job = { kind: 'work', queue: 'late' }
    const contract = defineJob(job)
    await startWorker(ledger, {
      name: 'worker',
      jobs: [job],
      options: { connection: db.url, queues: { late: 10 } },
    })
    const client = await connectTo(db.url)
    await client.query('begin')
    const late = await stint.enqueue(contract, {}, { tx: client })
    for (let round = 0; round < 3; round++) {
      await stint.enqueueMany(contract, [{}, {}, {}, {}, {}])
      await ledger.wroteMany({ name: 'succeeded' }, 5 * (round + 1))
    }
    expect(ledger.lines({ job: late.id })).toEqual([])
    await client.query('commit')
    const committedAt = monotonicMs()
    const { at } = await ledger.wrote({ type: 'start', job: late.id })
    expect(at - committedAt).toBeLessThan(soonMs)
  })

  test('a worker finds a job that was put back with its old time, and a job of a new priority', async () => {
    const ledger = await createLedger()
    const job = { kind: 'work', queue: 'replayed' }
    const contract = defineJob(job)
    await startWorker(ledger, {
      name: 'worker',
      jobs: [job],
      options: { connection: db.url, queues: { replayed: 10 } },
    })
    const { jobs } = await stint.enqueueMany(contract, [{}, {}, {}])
    await ledger.wroteMany({ name: 'succeeded' }, 3)
    // As a replay does it: the same id and the same time, without a notification.
    const [first] = jobs
    await db.query(
      `with gone as (delete from stint.finished where id = $1 returning *)
       insert into stint.job (id, queue, kind, created_at, run_at, epoch, attempt, max_attempts, input)
       select id, queue, kind, created_at, run_at, epoch, attempt, max_attempts + 5, input from gone`,
      [first?.id],
    )
    await db.query(
      `insert into stint.job (id, queue, kind, priority, input) values (gen_random_uuid(), 'replayed', 'work', 42, '{"n": 42}')`,
    )
    const storedAt = monotonicMs()
    const [, again] = await ledger.wroteMany({ type: 'start', job: first?.id as string }, 2)
    const urgent = await ledger.wrote({ type: 'start', n: 42 })
    expect(again?.epoch).toBe(2)
    for (const line of [again, urgent]) expect((line?.at ?? Infinity) - storedAt).toBeLessThan(soonMs)
  })

  test('a worker runs a job that got a higher priority before the jobs that it overtook', async () => {
    const ledger = await createLedger()
    const job = { kind: 'work', queue: 'urgent' }
    const contract = defineJob(job)
    const worker = await startWorker(ledger, {
      name: 'worker',
      jobs: [job],
      options: { connection: db.url, queues: { urgent: { concurrency: 1, prefetch: 0 } } },
    })
    const holding = await stint.enqueue(contract, { act: 'hold' })
    await ledger.wrote({ type: 'start', job: holding.id })
    const { jobs } = await stint.enqueueMany(
      contract,
      Array.from({ length: 20 }, (_, n) => ({ n })),
    )
    const last = jobs.at(-1)?.id as string
    await stint.reprioritize(last, 50)
    // The worker knows of the new priority after two surveys at most; its only slot is still taken.
    await surveyed(2)
    worker.tell('go')
    const [, next] = await ledger.wroteMany({ type: 'start' }, 2)
    expect(next?.job).toBe(last)
  })
})

describe('jobs that a worker cannot run', () => {
  const many = form === 'short' ? 20_000 : 200_000
  const unrunnable = [
    { what: 'of a kind it does not know', queue: 'kinds', kind: 'unknown.kind', version: 1, count: many },
    {
      what: 'of a newer version of their contract',
      queue: 'versions',
      kind: 'work',
      version: 2,
      count: many / 4,
    },
  ]
  test.each(unrunnable)(
    '$count jobs $what stay ready, do not delay other jobs, and are reported',
    async ({ queue, kind, version, count }) => {
      const ledger = await createLedger()
      const job = { kind: 'work', queue }
      await insertUnrunnable({ queue, kind, version, count })
      const { jobs: first } = await stint.enqueueMany(defineJob(job), [{}, {}, {}, {}, {}])
      const startedAt = monotonicMs()
      await startWorker(ledger, {
        name: 'worker',
        jobs: [job],
        options: { connection: db.url, pollFloor: '60s', queues: { [queue]: 10 } },
      })
      // Some jobs come while the worker looks past the others; they do not wait for the next poll either.
      const later: { id: string }[] = []
      for (let n = 0; n < 30; n++) later.push(await stint.enqueue(defineJob(job), { n }))
      for (const { id } of [...first, ...later]) {
        const { at } = await ledger.wrote({ type: 'start', job: id })
        expect(at - startedAt).toBeLessThan(soonMs)
      }
      await ledger.wroteMany({ name: 'succeeded' }, first.length + later.length)
      const { said } = await ledger.wrote({ name: 'unknownKinds' })
      expect(Object.values(said ?? {})).toEqual([{ queue, kind, jobs: 1_000 }])
      const rows = await db.query(
        `select state, epoch, attempt, count(*)::integer as jobs from stint.job where queue = $1 group by 1, 2, 3`,
        [queue],
      )
      expect(rows).toEqual([{ state: 'ready', epoch: 0, attempt: 0, jobs: count }])
    },
  )

  // This test measures time. In `npm test`, test/plans.test.ts checks the same by blocks read: one long look, then a short one.
  test.skipIf(
    form === 'short' || isOutOf('no-notify', 'there the poll interval decides how soon a job starts'),
  )(
    'jobs that a worker cannot run do not slow down the claims of other jobs once it has looked past them',
    async () => {
      const ledger = await createLedger()
      await insertUnrunnable({ queue: 'crowded', kind: 'unknown.kind', version: 1, count: 100_000 })
      await startWorker(ledger, {
        name: 'worker',
        jobs: [{ kind: 'work' }],
        options: { connection: db.url, pollFloor: '60s', queues: { crowded: 10, clear: 10 } },
      })
      const waits: Record<string, number[]> = { crowded: [], clear: [] }
      for (let n = 0; n < 40; n++) {
        const queue = n % 2 === 0 ? 'crowded' : 'clear'
        const storedAt = monotonicMs()
        const { id } = await stint.enqueue(defineJob({ kind: 'work', queue }), { n })
        const { at } = await ledger.wrote({ type: 'start', job: id })
        waits[queue]?.push(at - storedAt)
      }
      // Reading past 100,000 jobs takes many times as long as a claim.
      const [crowded = Infinity, clear = 0] = ['crowded', 'clear'].map((queue) =>
        percentile(waits[queue] ?? [], 0.5),
      )
      expect(crowded).toBeLessThan(3 * clear + 15)
    },
  )

  test('jobs that a worker cannot run do not delay other jobs when their keys come first', async () => {
    const ledger = await createLedger()
    const job = { kind: 'work', queue: 'keys' }
    await db.query(
      `insert into stint.job (id, queue, kind, key, input)
       select gen_random_uuid(), 'keys', 'unknown.kind', 'a' || n, '{}' from generate_series(1, 200) as n`,
    )
    await startWorker(ledger, {
      name: 'worker',
      jobs: [job],
      options: { connection: db.url, queues: { keys: 3 } },
    })
    const { id } = await stint.enqueue(defineJob(job), {}, { key: 'z' })
    await ledger.wrote({ name: 'succeeded', job: id })
    const { said } = await ledger.wrote({ name: 'unknownKinds' })
    expect(Object.values(said ?? {})).toEqual([{ queue: 'keys', kind: 'unknown.kind', jobs: 200 }])
  })
})

/** Inserts jobs that come before all others of their queue. */
async function insertUnrunnable(unrunnable: {
  queue: string
  kind: string
  version: number
  count: number
}): Promise<void> {
  const { queue, kind, version, count } = unrunnable
  await db.query(
    `insert into stint.job (id, queue, kind, version, run_at, input)
     select gen_random_uuid(), $1, $2, $3, now() - interval '1 hour' + n * interval '1 millisecond', '{}'
       from generate_series(1, $4) as n`,
    [queue, kind, version, count],
  )
  // As autovacuum would do by now.
  await db.query('analyze stint.job')
}

/** Resolves when the worker has surveyed its queues this many times from now. */
async function surveyed(times: number): Promise<void> {
  const ends = async () => {
    const rows = await db.query<{ at: string }>(
      `select query_start::text || pid as at from pg_stat_activity
        where datname = current_database() and query like '%jobs/survey.sql%' and state = 'idle' and pid <> pg_backend_pid()`,
    )
    return rows.map(({ at }) => at)
  }
  const seen = new Set(await ends())
  const before = seen.size
  while (seen.size < before + times) {
    for (const at of await ends()) seen.add(at)
    await pause(10)
  }
}
