import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createLedger } from '../support/ledger.ts'
import { spawnWorker, startWorker } from '../support/worker-process.ts'

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

const job = { kind: 'work' }
const untouched = { state: 'ready', attempt: 0, crashes: 0, lease_id: null, worker_id: null }

test('SIGTERM lets running jobs finish and gives back claimed ones; readiness turns red first', async () => {
  const ledger = await createLedger()
  // One slot for two queues: the first job of the second queue is claimed and waits for the slot.
  const worker = await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    options: {
      connection: db.url,
      concurrency: 1,
      queues: { busy: 1, behind: 1 },
      health: { port: 0, host: '127.0.0.1' },
    },
  })
  const { healthPort } = await ledger.wrote({ name: 'ready' })
  const probe = async (path: string) => (await fetch(`http://127.0.0.1:${Number(healthPort)}/${path}`)).status
  expect([await probe('healthz'), await probe('readyz')]).toEqual([200, 200])
  const running = await stint.enqueue(defineJob(job), { act: 'hold' }, { queue: 'busy' })
  await ledger.wrote({ type: 'start', job: running.id })
  const waiting = await stint.enqueue(defineJob(job), {}, { queue: 'behind' })
  const waitingRow = () => db.query('select * from stint.job where id = $1', [waiting.id])
  // It is claimed, or was claimed and given back since: a claimed job does not wait long for a slot.
  await eventually(async () => {
    expect((await waitingRow())[0]).not.toMatchObject({ epoch: 0 })
  })

  worker.signal('SIGTERM')
  await ledger.wrote({ name: 'stopping' })
  expect([await probe('healthz'), await probe('readyz')]).toEqual([200, 503])
  await ledger.wrote({ name: 'released', job: waiting.id })
  const late = await stint.enqueue(defineJob(job), {}, { queue: 'busy' })
  expect([await probe('healthz'), await probe('readyz')]).toEqual([200, 503])
  worker.tell('go')

  expect(await worker.exited).toEqual({ code: 0, signal: null })
  const [finished] = await db.query('select state, attempt, crashes from stint.finished where id = $1', [
    running.id,
  ])
  expect(finished).toEqual({ state: 'succeeded', attempt: 1, crashes: 0 })
  expect((await waitingRow())[0]).toMatchObject(untouched)
  const outcomes = await db.query('select distinct outcome from stint.attempt where job_id = $1', [
    waiting.id,
  ])
  expect(outcomes).toEqual([{ outcome: 'released' }])
  // A job enqueued after the signal is not claimed.
  const [fresh] = await db.query('select state, attempt, epoch from stint.job where id = $1', [late.id])
  expect(fresh).toEqual({ state: 'ready', attempt: 0, epoch: 0 })
  const [row] = await db.query('select count(*)::integer as live from stint.worker where lost_at is null')
  expect(row).toEqual({ live: 0 })
})

test('after the drain, running jobs are aborted and given back at no cost, even if they ignore their signal', async () => {
  const ledger = await createLedger()
  const worker = await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    options: { connection: db.url, drain: '200ms', queues: { long: 10 } },
  })
  const inputs = [true, false].map((listens) => ({ act: 'hold', listens }))
  const { jobs } = await stint.enqueueMany(defineJob(job), inputs, { queue: 'long' })
  await ledger.wroteMany({ type: 'start' }, 2)
  worker.signal('SIGTERM')
  expect(await worker.exited).toEqual({ code: 0, signal: null })

  const ids = jobs.map(({ id }) => id)
  const rows = await db.query('select * from stint.job where id = any($1)', [ids])
  expect(rows).toHaveLength(2)
  for (const row of rows) expect(row).toMatchObject({ ...untouched, epoch: 1 })
  const attempts = await db.query('select epoch, outcome from stint.attempt where job_id = any($1)', [ids])
  expect(attempts).toEqual(ids.map(() => ({ epoch: 1, outcome: 'released' })))
})

test('a second signal ends the drain', async () => {
  const ledger = await createLedger()
  const worker = await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    options: { connection: db.url, drain: '10m', queues: { hurry: 1 } },
  })
  const { id } = await stint.enqueue(defineJob(job), { act: 'hold' }, { queue: 'hurry' })
  await ledger.wrote({ type: 'start', job: id })
  worker.signal('SIGTERM')
  await ledger.wrote({ name: 'stopping' })
  worker.signal('SIGTERM')
  expect(await worker.exited).toEqual({ code: 0, signal: null })
  expect((await db.query('select * from stint.job where id = $1', [id]))[0]).toMatchObject(untouched)
})

test('a worker that gets SIGTERM while it starts stops cleanly', async () => {
  const ledger = await createLedger()
  for (let round = 0; round < 3; round++) {
    const name = `worker ${round}`
    const worker = spawnWorker(ledger, { name, jobs: [job], options: { connection: db.url } })
    await ledger.wrote({ type: 'running', worker: name })
    worker.signal('SIGTERM')
    expect(await worker.exited).toEqual({ code: 0, signal: null })
  }
  const [row] = await db.query('select count(*)::integer as live from stint.worker where lost_at is null')
  expect(row).toEqual({ live: 0 })
})

test('workers that are replaced one by one under load burn no attempt and fail no job', async () => {
  const ledger = await createLedger()
  const setup = (name: string) => ({
    name,
    jobs: [job],
    isTerse: true,
    options: { connection: db.url, queues: { rolling: 5 } },
  })
  const workers = await Promise.all([1, 2, 3].map((n) => startWorker(ledger, setup(`first ${n}`))))
  const inputs = Array.from({ length: 1_200 }, (_, n) => ({ n, act: 'sleep', ms: 20 }))
  await stint.enqueueMany(defineJob(job), inputs, { queue: 'rolling' })
  for (const [index, worker] of workers.entries()) {
    await ledger.wroteMany({ type: 'start' }, 100 + index * 100)
    worker.signal('SIGTERM')
    const [{ code }] = await Promise.all([worker.exited, startWorker(ledger, setup(`second ${index}`))])
    expect(code).toBe(0)
  }
  await ledger.wroteMany({ type: 'end' }, inputs.length)
  await eventually(async () => {
    const rows = await db.query(
      `select place, state, attempt, crashes, count(*)::integer as jobs
         from stint.jobs where queue = 'rolling' group by 1, 2, 3, 4`,
    )
    expect(rows).toEqual([
      { place: 'finished', state: 'succeeded', attempt: 1, crashes: 0, jobs: inputs.length },
    ])
  })
})
