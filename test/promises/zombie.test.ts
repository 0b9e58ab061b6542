import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { createLedger, monotonicMs } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
  // Without a unique index, so that an effect that happens twice is visible twice.
  await db.query('create table effect (job uuid not null, by text not null)')
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

/** Long enough for the stopped worker to register again while another one looks for lost workers. */
const leaseMs = 6_000
const sweepMs = 100

/** Every write that a handler can do; each is refused once the job has a newer lease. */
const writes = [
  ...['complete', 'fail', 'snooze', 'dead-letter', 'cancel', 'progress', 'log', 'enqueue'],
  ...['tx', 'ctx.complete', 'once'],
] as const
/** The writes that are refused while the handler runs, so that they throw in it. */
const refusedAtOnce = ['tx', 'ctx.complete', 'once']

test('a worker that was stopped and lost its jobs is refused every write, and goes on under a new id', async () => {
  const ledger = await createLedger()
  const job = { kind: 'zombie', queue: 'zombie' }
  const other = { kind: 'again', queue: 'again' }
  const zombie = await startWorker(ledger, {
    name: 'zombie',
    jobs: [job, other],
    options: {
      connection: db.url,
      lease: leaseMs,
      sweepEvery: '1h',
      queues: { zombie: 50, again: 1 },
    },
  })
  // Each write twice: while the other worker runs the job, and after it has finished the job.
  const inputs = writes.flatMap((write) => [true, false].map((held) => ({ act: 'zombie', write, held })))
  const { jobs } = await stint.enqueueMany(defineJob(job), inputs)
  const ids = jobs.map(({ id }) => id)
  const [first] = await ledger.wroteMany({ type: 'start', worker: 'zombie' }, jobs.length)
  const thaw = `${ledger.file}.thaw`
  zombie.tell(`freeze ${thaw}`)
  await ledger.wrote({ type: 'frozen' })
  zombie.signal('SIGSTOP')

  const heir = await startWorker(ledger, {
    name: 'heir',
    jobs: [job],
    options: { connection: db.url, lease: '15s', sweepEvery: sweepMs, queues: { zombie: 50 } },
  })
  await ledger.wroteMany({ type: 'start', worker: 'heir' }, jobs.length)
  await ledger.wroteMany({ name: 'succeeded', worker: 'heir' }, writes.length)
  // A job that only the stopped worker serves: it must be claimed under the new id, not under the lost one.
  const late = await stint.enqueue(defineJob(other), {})
  writeFileSync(thaw, '')
  zombie.signal('SIGCONT')

  // Every write is refused, and the worker reports that for every job.
  const lost = await ledger.wroteMany({ name: 'leaseLost', worker: 'zombie' }, jobs.length)
  expect(lost.map(({ job: id }) => id).sort()).toEqual([...ids].sort())
  const threw = ledger.lines({ type: 'threw', code: 'lease-lost' }).map(({ write }) => write)
  expect(new Set(threw)).toEqual(new Set(refusedAtOnce))

  // Its heartbeat is refused too: the worker is lost, and goes on under a new id.
  await ledger.wrote({ name: 'workerLost', worker: 'zombie' })
  const [, again] = await ledger.wroteMany({ name: 'ready', worker: 'zombie' }, 2)
  expect(again?.workerId).not.toBe(first?.workerId)
  await ledger.wrote({ name: 'succeeded', job: late.id })
  const [lateRow] = await db.query('select worker_id, crashes, epoch from stint.finished where id = $1', [
    late.id,
  ])
  expect(lateRow).toEqual({ worker_id: again?.workerId, crashes: 0, epoch: 1 })

  // The jobs that the other worker runs are unchanged, and its results are kept.
  const running = await db.query(
    `select state, attempt, epoch, progress, worker_id from stint.job where queue = 'zombie'`,
  )
  const heirId = ledger.lines({ type: 'start', worker: 'heir' })[0]?.workerId
  const untouched = { state: 'running', attempt: 1, epoch: 2, progress: null, worker_id: heirId }
  expect(running).toEqual(writes.map(() => untouched))
  heir.tell('go')
  await ledger.wroteMany({ name: 'succeeded', worker: 'heir' }, jobs.length)
  const finished = await db.query(
    `select id, state, attempt, epoch, worker_id, result from stint.finished where queue = 'zombie' order by id`,
  )
  const standing = {
    state: 'succeeded',
    attempt: 1,
    epoch: 2,
    worker_id: heirId,
    result: { by: 'heir' },
  }
  expect(finished).toEqual(ids.map((id) => ({ id, ...standing })))

  expect(await db.query('select * from effect')).toEqual([])
  expect(await db.query('select * from stint.effect')).toEqual([])
  expect(await db.query('select * from stint.log')).toEqual([])
  expect(await db.query('select * from stint.dead')).toEqual([])
  expect(await db.query(`select * from stint.jobs where queue = 'children'`)).toEqual([])
  const attempts = await db.query<{ job_id: string; epoch: number; outcome: string; worker_id: string }>(
    `select job_id, epoch, outcome, worker_id from stint.attempt where job_id = any($1) order by job_id, outcome`,
    [ids],
  )
  expect(attempts).toEqual(
    ids.flatMap((id) =>
      ['lease-lost', 'refused'].map((outcome) => ({
        job_id: id,
        epoch: 1,
        outcome,
        worker_id: first?.workerId,
      })),
    ),
  )
  const [buried] = await db.query('select lost_at is not null as "isLost" from stint.worker where id = $1', [
    first?.workerId,
  ])
  expect(buried).toEqual({ isLost: true })
})

test('a worker that is stopped inside ctx.tx holds its job for at most two leases, and its effect happens once', async () => {
  const ledger = await createLedger()
  const job = { kind: 'charge', queue: 'charge' }
  const thaw = `${ledger.file}.thaw`
  const { id } = await stint.enqueue(defineJob(job), { act: 'effect', until: thaw })
  const zombie = await startWorker(ledger, {
    name: 'zombie',
    jobs: [job],
    options: { connection: db.url, lease: leaseMs, sweepEvery: '1h', queues: { charge: 1 } },
  })
  await ledger.wrote({ type: 'inside', job: id })
  zombie.signal('SIGSTOP')
  const stoppedAt = monotonicMs()
  await startWorker(ledger, {
    name: 'heir',
    jobs: [job],
    options: { connection: db.url, lease: '15s', sweepEvery: sweepMs, queues: { charge: 1 } },
  })
  const { at } = await ledger.wrote({ type: 'start', job: id, worker: 'heir' })
  const slack = 20_000
  expect(at - stoppedAt).toBeLessThan(2 * leaseMs + sweepMs + slack)
  await ledger.wrote({ name: 'succeeded', job: id, worker: 'heir' })
  writeFileSync(thaw, '')
  zombie.signal('SIGCONT')
  await ledger.wrote({ name: 'leaseLost', job: id, worker: 'zombie' })

  expect(await db.query('select by from effect where job = $1', [id])).toEqual([{ by: 'heir' }])
  const [row] = await db.query('select state, attempt, result from stint.finished where id = $1', [id])
  expect(row).toEqual({ state: 'succeeded', attempt: 1, result: { by: 'heir' } })
})
