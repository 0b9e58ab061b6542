import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { createLedger } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'
import type { ProgramJob } from '../support/worker-process.ts'

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

interface Case {
  what: string
  job?: Partial<ProgramJob>
  /** The contract that the producer uses, if it differs. */
  enqueuedAs?: Partial<ProgramJob>
  input: Record<string, unknown>
  /** The event that reports that the outcome is stored. */
  event: string
  row: Record<string, unknown>
  /** Seconds from the failure to the next try: at least, at most. */
  delay?: readonly [number, number]
  /** The row in stint.attempt; none if the attempt succeeded. */
  attempt?: { outcome: string; class?: string; reason?: string }
  /** How often the handler was called. */
  calls?: number
}

const fail = (failure: string) => ({ act: 'fail', failure })
/** The first delay of the default backoff, '30s', with its jitter of a quarter. */
const thirtySeconds = [22.5, 37.5] as const
const retrying = { place: 'live', state: 'retrying', attempt: 1, crashes: 0, epoch: 1 }

const table: Case[] = [
  {
    what: 'an unknown error is retried later',
    input: fail('unknown'),
    event: 'failed',
    row: retrying,
    delay: thirtySeconds,
    attempt: { outcome: 'failed', class: 'unknown' },
  },
  {
    what: 'an attempt past its timeout is retried later',
    job: { timeout: '100ms' },
    input: fail('timeout'),
    event: 'failed',
    row: retrying,
    delay: thirtySeconds,
    attempt: { outcome: 'timed-out', class: 'timeout' },
  },
  {
    what: 'a connection that fails is retried later',
    input: fail('connection'),
    event: 'failed',
    row: retrying,
    delay: thirtySeconds,
    attempt: { outcome: 'failed', class: 'connection' },
  },
  {
    what: 'a backoff of the contract is followed',
    job: { retry: { backoff: ['100s', '200s'] } },
    input: fail('unknown'),
    event: 'failed',
    row: retrying,
    delay: [75, 125],
    attempt: { outcome: 'failed', class: 'unknown' },
  },
  {
    what: 'a conflict is tried again in place, within the attempt',
    input: { ...fail('conflict'), times: 2 },
    event: 'succeeded',
    row: { place: 'finished', state: 'succeeded', attempt: 1, crashes: 0, epoch: 1 },
    calls: 3,
  },
  {
    what: 'a conflict that stays is retried later after three tries in place',
    input: fail('conflict'),
    event: 'failed',
    row: retrying,
    delay: thirtySeconds,
    attempt: { outcome: 'failed', class: 'conflict' },
    calls: 4,
  },
  {
    what: 'a rate limit waits as it was told to, and burns no attempt',
    input: fail('rate-limited'),
    event: 'failed',
    row: { ...retrying, attempt: 0 },
    delay: [70, 77.1],
    attempt: { outcome: 'failed', class: 'rate-limited' },
  },
  {
    what: 'an input that its contract refuses is dead at once',
    job: { isStrict: true },
    input: { n: 'no number' },
    event: 'dead',
    row: { place: 'dead', state: 'dead', attempt: 1, reason: 'discarded-contract' },
    attempt: { outcome: 'failed', class: 'invalid' },
    calls: 0,
  },
  {
    what: 'an input of a version that cannot be read is dead at once',
    job: { version: 2 },
    enqueuedAs: { version: 1 },
    input: { act: 'return' },
    event: 'dead',
    row: { place: 'dead', state: 'dead', attempt: 1, reason: 'discarded-contract' },
    attempt: { outcome: 'failed', class: 'contract' },
    calls: 0,
  },
  {
    what: 'a PermanentError is dead at once',
    input: fail('permanent'),
    event: 'dead',
    row: { place: 'dead', state: 'dead', attempt: 1, reason: 'permanent' },
    attempt: { outcome: 'failed', class: 'permanent' },
  },
  {
    what: 'RetryAfter says when',
    input: fail('retry-after'),
    event: 'failed',
    row: retrying,
    delay: [90, 90],
    attempt: { outcome: 'failed', class: 'unknown' },
  },
  {
    what: 'Snooze comes back later and burns nothing',
    input: fail('snooze'),
    event: 'snoozed',
    row: { place: 'live', state: 'scheduled', attempt: 0, crashes: 0, epoch: 1 },
    delay: [45, 45],
    attempt: { outcome: 'snoozed', reason: 'not yet' },
  },
  {
    what: 'CancelJob ends it as cancelled',
    input: fail('cancel'),
    event: 'cancelled',
    row: { place: 'finished', state: 'cancelled', attempt: 1, reason: 'not needed any more' },
  },
]

test('every class of failure has the consequence in the table', async () => {
  const ledger = await createLedger()
  const jobs = table.map(({ job }, index) => ({ kind: `case-${index}`, ...job }))
  await startWorker(ledger, {
    name: 'worker',
    jobs,
    options: { connection: db.url, queues: { default: 20 } },
  })
  const ids = await Promise.all(
    table.map(async ({ enqueuedAs, input }, index) => {
      // Only the worker has the strict contract.
      const { retry, version } = { ...table[index]?.job, ...enqueuedAs }
      const { id } = await stint.enqueue(defineJob({ kind: `case-${index}`, retry, version }), input)
      return id
    }),
  )
  for (const [index, { what, event, row, delay, attempt, calls = 1 }] of table.entries()) {
    const id = ids[index]
    await ledger.wrote({ type: 'event', name: event, job: id as string })
    const events = ledger.lines({ type: 'event', job: id as string })
    expect(
      events.map(({ name }) => name),
      what,
    ).toEqual([event])
    const [stored] = await db.query('select * from stint.jobs where id = $1', [id])
    expect(stored, what).toMatchObject(row)
    expect(ledger.lines({ type: 'start', job: id as string }), what).toHaveLength(calls)
    const attempts = await db.query(
      `select epoch, attempt, outcome, reason, error ->> 'class' as class from stint.attempt where job_id = $1`,
      [id],
    )
    const noted =
      attempt === undefined ? [] : [{ epoch: 1, attempt: 1, reason: null, class: null, ...attempt }]
    expect(attempts, what).toEqual(noted)
    if (delay === undefined) continue
    const [waits] = await db.query<{ seconds: number }>(
      `select extract(epoch from job.run_at - attempt.ended_at)::float8 as seconds
         from stint.attempt join stint.job on job.id = attempt.job_id where job.id = $1`,
      [id],
    )
    expect(waits?.seconds, what).toBeGreaterThanOrEqual(delay[0] - 0.002)
    expect(waits?.seconds, what).toBeLessThanOrEqual(delay[1] + 0.002)
  }
})

test('a job that uses up its attempts becomes a dead letter with everything needed to repair it', async () => {
  const ledger = await createLedger()
  const job = { kind: 'doomed', queue: 'doomed', retry: { attempts: 3, backoff: ['20ms', '40ms'] } }
  await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    options: { connection: db.url, queues: { doomed: 1 } },
  })
  const input = { act: 'fail', failure: 'unknown', order: { id: 77, country: 'BR' } }
  const { id } = await stint.enqueue(defineJob(job), input, { key: 'tenant-1', correlationId: 'request-9' })
  await ledger.wrote({ name: 'dead', job: id })
  expect(ledger.lines({ type: 'start', job: id }).map(({ attempt }) => attempt)).toEqual([1, 2, 3])

  expect(await db.query('select 1 from stint.job where id = $1', [id])).toEqual([])
  const [dead] = await db.query('select * from stint.dead where id = $1', [id])
  expect(dead).toMatchObject({
    input,
    key: 'tenant-1',
    correlation_id: 'request-9',
    queue: 'doomed',
    kind: 'doomed',
    reason: 'exhausted',
    attempt: 3,
    max_attempts: 3,
    crashes: 0,
    epoch: 3,
    failures: { unknown: 2 },
    error: {
      class: 'unknown',
      name: 'TypeError',
      message: 'cannot read it',
      stack: expect.stringContaining('acts.mjs') as unknown,
    },
    fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/) as unknown,
  })
  const attempts = await db.query<{ fingerprint: string }>(
    `select epoch, attempt, outcome, error ->> 'message' as message, fingerprint from stint.attempt
      where job_id = $1 order by epoch`,
    [id],
  )
  const failed = {
    outcome: 'failed',
    message: 'cannot read it',
    fingerprint: dead?.['fingerprint'] as string,
  }
  expect(attempts).toEqual([1, 2, 3].map((n) => ({ epoch: n, attempt: n, ...failed })))
})
