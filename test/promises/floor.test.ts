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

/** With a poll of one second, on however busy a machine. */
const soonMs = 20_000

describe('behind what a worker has claimed, it finds', () => {
  test('a job whose transaction stayed open while later ones ran', async () => {
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

  test('a job that is put back in its old place, and one of a priority never seen before', async () => {
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
    // As a replay does: the same id, the same place in time, and nobody is told.
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

  test('a job that was given another priority, before those it overtook', async () => {
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
    // Two surveys later at the latest the worker knows of it; its only slot is still taken.
    await surveyed(2)
    worker.tell('go')
    const [, next] = await ledger.wroteMany({ type: 'start' }, 2)
    expect(next?.job).toBe(last)
  })
})

describe('jobs that a worker cannot run', () => {
  const many = form === 'short' ? 20_000 : 200_000
  const strange = [
    { what: 'of a kind it does not know', queue: 'kinds', kind: 'nobody.knows', version: 1, count: many },
    {
      what: 'of a newer version of their contract',
      queue: 'versions',
      kind: 'work',
      version: 2,
      count: many / 4,
    },
  ]
  test.each(strange)(
    '$count $what stay ready, keep no others waiting, and are reported',
    async ({ queue, kind, version, count }) => {
      const ledger = await createLedger()
      const job = { kind: 'work', queue }
      await insertStrange({ queue, kind, version, count })
      const { jobs: first } = await stint.enqueueMany(defineJob(job), [{}, {}, {}, {}, {}])
      const startedAt = monotonicMs()
      await startWorker(ledger, {
        name: 'worker',
        jobs: [job],
        options: { connection: db.url, pollFloor: '60s', queues: { [queue]: 10 } },
      })
      // Some come while it looks past the strange ones: those are not for the next poll either.
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

  // It measures time. In `npm test` test/plans.test.ts holds the same by blocks: one long look, then the tail spares the next.
  test.skipIf(form === 'short' || isOutOf('no-notify', 'how soon a job starts is then a matter of the poll'))(
    'slow no claim down once they were looked past: others start as soon as in a queue without such',
    async () => {
      const ledger = await createLedger()
      await insertStrange({ queue: 'crowded', kind: 'nobody.knows', version: 1, count: 100_000 })
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
      // To read past 100,000 jobs takes many times as long as a claim does.
      const [crowded = Infinity, clear = 0] = ['crowded', 'clear'].map((queue) =>
        percentile(waits[queue] ?? [], 0.5),
      )
      expect(crowded).toBeLessThan(3 * clear + 15)
    },
  )

  test('keep no others waiting when they have keys that come first', async () => {
    const ledger = await createLedger()
    const job = { kind: 'work', queue: 'keys' }
    await db.query(
      `insert into stint.job (id, queue, kind, key, input)
       select gen_random_uuid(), 'keys', 'nobody.knows', 'a' || n, '{}' from generate_series(1, 200) as n`,
    )
    await startWorker(ledger, {
      name: 'worker',
      jobs: [job],
      options: { connection: db.url, queues: { keys: 3 } },
    })
    const { id } = await stint.enqueue(defineJob(job), {}, { key: 'z' })
    await ledger.wrote({ name: 'succeeded', job: id })
    const { said } = await ledger.wrote({ name: 'unknownKinds' })
    expect(Object.values(said ?? {})).toEqual([{ queue: 'keys', kind: 'nobody.knows', jobs: 200 }])
  })
})

/** Jobs that lie before all others of their queue. */
async function insertStrange(strange: {
  queue: string
  kind: string
  version: number
  count: number
}): Promise<void> {
  const { queue, kind, version, count } = strange
  await db.query(
    `insert into stint.job (id, queue, kind, version, run_at, input)
     select gen_random_uuid(), $1, $2, $3, now() - interval '1 hour' + n * interval '1 millisecond', '{}'
       from generate_series(1, $4) as n`,
    [queue, kind, version, count],
  )
  // As autovacuum would by now.
  await db.query('analyze stint.job')
}

/** Resolves when the worker has looked over its queues so many times from now. */
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
