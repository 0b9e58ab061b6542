import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { cancelRunningSql } from '../../src/jobs/cancel-running.sql.ts'
import { claimSql } from '../../src/jobs/claim.sql.ts'
import { deadLetterSql } from '../../src/jobs/dead-letter.sql.ts'
import { putBackSql } from '../../src/jobs/put-back.sql.ts'
import { retrySql } from '../../src/jobs/retry.sql.ts'
import { succeedSql } from '../../src/jobs/succeed.sql.ts'
import { registerSql } from '../../src/jobs/leases/register.sql.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { createLedger, monotonicMs } from '../support/ledger.ts'
import { statementMarks } from '../support/statement-marks.ts'
import { startWorker } from '../support/worker-process.ts'

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
  await db.query('create table effect (job uuid not null, by text not null)')
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

describe('a claim whose connection dies', () => {
  test.each([
    { when: 'before' as const, epoch: 1, outcomes: [] },
    { when: 'after' as const, epoch: 2, outcomes: ['released'] },
  ])(
    'a claim whose connection dies $when it is committed costs no attempt, and its jobs run',
    async ({ when, epoch, outcomes }) => {
      const ledger = await createLedger()
      const proxy = await startFaultProxy(db.url)
      const queue = `claim-${when}`
      const job = { kind: 'work', queue }
      await startWorker(ledger, {
        name: 'worker',
        jobs: [job],
        // Too long for a poll to be the reason that the jobs run.
        options: { connection: proxy.url, pollFloor: '60s', queues: { [queue]: 10 } },
      })
      const cut = proxy.cutNext({ text: statementMarks(claimSql), when })
      const { jobs } = await stint.enqueueMany(defineJob(job), [{ n: 1 }, { n: 2 }, { n: 3 }])
      await cut
      const cutAt = monotonicMs()
      const starts = await ledger.wroteMany({ type: 'start' }, 3)
      // Reconciling runs every 5 s, long before the next poll, even on a busy machine.
      for (const { at } of starts) expect(at - cutAt).toBeLessThan(30_000)
      await ledger.wroteMany({ name: 'succeeded' }, 3)

      const ids = jobs.map(({ id }) => id)
      const rows = await db.query(
        'select id, state, attempt, crashes, epoch from stint.finished where queue = $1 order by id',
        [queue],
      )
      expect(rows).toEqual(ids.map((id) => ({ id, state: 'succeeded', attempt: 1, crashes: 0, epoch })))
      expect(await outcomesOf(ids)).toEqual(
        ids.flatMap((id) => outcomes.map((outcome) => ({ id, epoch: 1, outcome }))),
      )
      expect(ledger.lines({ type: 'start' })).toHaveLength(3)
    },
  )
})

/** The endings of a job, the statement that stores each, and the expected rows. */
const endings = [
  {
    ending: 'succeeded',
    input: { act: 'return', value: { n: 1 } },
    text: statementMarks(succeedSql),
    place: 'finished',
    outcomes: [],
  },
  {
    ending: 'failed',
    input: { act: 'fail', failure: 'unknown' },
    text: statementMarks(retrySql),
    place: 'live',
    outcomes: ['failed'],
  },
  {
    ending: 'dead',
    input: { act: 'fail', failure: 'permanent' },
    text: statementMarks(deadLetterSql),
    place: 'dead',
    outcomes: ['failed'],
  },
  {
    ending: 'cancelled',
    input: { act: 'fail', failure: 'cancel' },
    text: statementMarks(cancelRunningSql),
    place: 'finished',
    outcomes: [],
  },
  {
    ending: 'snoozed',
    input: { act: 'fail', failure: 'snooze' },
    text: statementMarks(putBackSql),
    place: 'live',
    outcomes: ['snoozed'],
  },
  { ending: 'succeeded', input: { act: 'parent' }, text: 'commit\0', place: 'finished', outcomes: [] },
  { ending: 'succeeded', input: { act: 'tx' }, text: 'commit\0', place: 'finished', outcomes: [] },
] as const

describe('an ending whose connection dies', () => {
  test.each(['before', 'after'] as const)(
    'an ending whose connection dies %s it is committed is stored once, and is neither a failure nor a lost lease',
    async (when) => {
      const ledger = await createLedger()
      const proxy = await startFaultProxy(db.url)
      const queue = `settle-${when}`
      const job = { kind: 'work', queue }
      await startWorker(ledger, {
        name: 'worker',
        jobs: [job],
        options: { connection: proxy.url, queues: { [queue]: 10 } },
      })
      for (const { ending, input, text, place, outcomes } of endings) {
        const cut = proxy.cutNext({ text, when })
        const { id } = await stint.enqueue(defineJob(job), input)
        await cut
        await ledger.wrote({ name: ending, job: id })
        const rows = await db.query('select place, crashes from stint.jobs where id = $1', [id])
        expect(rows, ending).toEqual([{ place, crashes: 0 }])
        expect(await outcomesOf([id]), ending).toEqual(outcomes.map((outcome) => ({ id, epoch: 1, outcome })))
        // A transaction of the handler that was not committed runs again; the handler itself does not.
        const events = ledger.lines({ type: 'event', job: id }).map(({ name }) => name)
        expect(events, ending).toEqual([ending])
        expect(ledger.lines({ type: 'start', job: id }), ending).toHaveLength(1)
      }
      const [counts] = await db.query(
        `select (select count(*)::integer from effect where job in (select id from stint.finished where queue = $1)) as effects,
                (select count(*)::integer from stint.jobs where parent_id in (select id from stint.finished where queue = $1)) as children`,
        [queue],
      )
      expect(counts).toEqual({ effects: 1, children: 1 })
    },
  )
})

test('an ending that was never stored does not count as stored when its job was swept meanwhile', async () => {
  const ledger = await createLedger()
  const proxy = await startFaultProxy(db.url)
  const job = { kind: 'work', queue: 'swept' }
  const slow = await startWorker(ledger, {
    name: 'slow',
    jobs: [job],
    options: { connection: proxy.url, lease: '1500ms', sweepEvery: '1h', queues: { swept: 1 } },
  })
  const cuts = { isOver: false }
  const cut = proxy.cutNext({ text: statementMarks(succeedSql), when: 'before' })
  const cutting = cut.then(async () => {
    // Every repeat is cut too, until the worker is stopped.
    while (!cuts.isOver) await proxy.cutNext({ text: statementMarks(succeedSql), when: 'before' })
  })
  const { id } = await stint.enqueue(defineJob(job), {})
  await cut
  slow.signal('SIGSTOP')
  await startWorker(ledger, {
    name: 'heir',
    jobs: [job],
    options: { connection: db.url, lease: '15s', sweepEvery: 100, queues: { swept: 1 } },
  })
  await ledger.wrote({ name: 'succeeded', job: id, worker: 'heir' })
  cuts.isOver = true
  slow.signal('SIGCONT')
  await ledger.wrote({ name: 'leaseLost', job: id, worker: 'slow' })

  expect(ledger.lines({ name: 'succeeded', worker: 'slow' })).toEqual([])
  const [row] = await db.query('select result from stint.finished where id = $1', [id])
  expect(row).toEqual({ result: { by: 'heir' } })
  expect(await outcomesOf([id])).toEqual([
    { id, epoch: 1, outcome: 'lease-lost' },
    { id, epoch: 1, outcome: 'refused' },
  ])
  void cutting
})

test('a lost worker starts again under a new id, even if the reply to its registration is lost', async () => {
  const ledger = await createLedger()
  const proxy = await startFaultProxy(db.url)
  const job = { kind: 'work', queue: 'anew' }
  const worker = await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    options: { connection: proxy.url, lease: '1500ms', sweepEvery: '1h', queues: { anew: 1 } },
  })
  worker.signal('SIGSTOP')
  const sweeper = await startWorker(ledger, {
    name: 'sweeper',
    jobs: [{ kind: 'other' }],
    options: { connection: db.url, sweepEvery: 100, queues: { other: 1 } },
  })
  const lostId = ledger.lines({ name: 'ready', worker: 'worker' })[0]?.workerId
  await eventually(async () => {
    expect(
      await db.query('select 1 from stint.worker where id = $1 and lost_at is not null', [lostId]),
    ).toHaveLength(1)
  })
  // Without a sweeper it cannot be declared lost again if the machine is too busy to renew in time.
  sweeper.signal('SIGKILL')
  await sweeper.exited
  const { id } = await stint.enqueue(defineJob(job), {})
  const cut = proxy.cutNext({ text: statementMarks(registerSql), when: 'after' })
  worker.signal('SIGCONT')
  await cut
  const [, again] = await ledger.wroteMany({ name: 'ready', worker: 'worker' }, 2)
  expect(again?.workerId).not.toBe(lostId)
  // The waiting job is claimed under the new id, not under the lost one.
  await ledger.wrote({ name: 'succeeded', job: id })
  const [row] = await db.query('select worker_id, crashes, epoch from stint.finished where id = $1', [id])
  expect(row).toEqual({ worker_id: again?.workerId, crashes: 0, epoch: 1 })
})

function outcomesOf(ids: readonly string[]): Promise<unknown[]> {
  return db.query(
    'select job_id as id, epoch, outcome from stint.attempt where job_id = any($1) order by job_id, outcome',
    [ids],
  )
}
