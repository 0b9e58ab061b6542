import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, Stint } from '../../src/entry/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
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

const leaseMs = 1_500
const sweepMs = 200

/** Their own lease is long, so that a busy machine costs no survivor its jobs; the victims' is short. */
function survivor(queue: string) {
  return { connection: db.url, queues: { [queue]: 10 }, lease: '15s', sweepEvery: sweepMs }
}
function victim(queue: string) {
  return { connection: db.url, queues: { [queue]: 10 }, lease: leaseMs, sweepEvery: '1h' }
}

test('jobs of a killed worker run again within a lease and a sweep, elsewhere, with no attempt burned', async () => {
  const ledger = await createLedger()
  const job = { kind: 'work', queue: 'killed' }
  const killed = await startWorker(ledger, { name: 'killed', jobs: [job], options: victim('killed') })
  const inputs = Array.from({ length: 5 }, () => ({ act: 'hold' }))
  const { jobs } = await stint.enqueueMany(defineJob(job), inputs)
  const first = await ledger.wroteMany({ type: 'start', worker: 'killed' }, 5)
  const survivors = await startWorker(ledger, { name: 'alive', jobs: [job], options: survivor('killed') })
  survivors.tell('go')
  const killedAt = monotonicMs()
  killed.signal('SIGKILL')

  const second = await ledger.wroteMany({ type: 'start', worker: 'alive' }, 5)
  const slack = 5_000
  for (const { at } of second) expect(at - killedAt).toBeLessThan(leaseMs + sweepMs + slack)
  await ledger.wroteMany({ name: 'succeeded' }, 5)

  expect(new Set(second.map(({ token }) => token))).not.toContain(first[0]?.token)
  const rows = await db.query(
    `select id, state, attempt, crashes, epoch, result ->> 'by' as by from stint.finished where queue = 'killed' order by id`,
  )
  const expected = { state: 'succeeded', attempt: 1, crashes: 1, epoch: 2, by: 'alive' }
  expect(rows).toEqual(jobs.map(({ id }) => ({ id, ...expected })))
  const attempts = await db.query(
    'select epoch, attempt, outcome, worker_id from stint.attempt where job_id = any($1)',
    [jobs.map(({ id }) => id)],
  )
  const lost = { epoch: 1, attempt: 1, outcome: 'lease-lost', worker_id: first[0]?.workerId }
  expect(attempts).toEqual(jobs.map(() => lost))
})

test('a job whose workers were killed three times is put aside as quarantined, with each crash on record', async () => {
  const ledger = await createLedger()
  const job = { kind: 'poison', queue: 'poison' }
  const { id } = await stint.enqueue(defineJob(job), { act: 'hold' })
  await startWorker(ledger, {
    name: 'sweeper',
    jobs: [{ kind: 'other' }],
    options: survivor('other'),
  })
  for (let epoch = 1; epoch <= 3; epoch++) {
    const name = `victim ${epoch}`
    const worker = await startWorker(ledger, { name, jobs: [job], options: victim('poison') })
    await ledger.wrote({ type: 'start', job: id, epoch, worker: name })
    worker.signal('SIGKILL')
  }
  const isAboutIt = (quarantined: unknown) => (quarantined as { id: string }[]).some((one) => one.id === id)
  await ledger.wrote(({ name, said }) => name === 'swept' && isAboutIt(said?.['quarantined']))

  const [dead] = await db.query(
    'select reason, crashes, attempt, epoch, input, error from stint.dead where id = $1',
    [id],
  )
  expect(dead).toMatchObject({
    ...{ reason: 'quarantined', crashes: 3, attempt: 1, epoch: 3, input: { act: 'hold' } },
    error: { class: 'crash', message: 'Its worker was lost while it ran, 3 times in all.' },
  })
  expect(await db.query('select 1 from stint.job where id = $1', [id])).toEqual([])
  const attempts = await db.query(
    'select epoch, attempt, outcome from stint.attempt where job_id = $1 order by epoch',
    [id],
  )
  expect(attempts).toEqual([1, 2, 3].map((epoch) => ({ epoch, attempt: 1, outcome: 'lease-lost' })))
})

test('a job that runs under a worker nobody knows is taken back', async () => {
  const ledger = await createLedger()
  const job = { kind: 'orphan', queue: 'orphan' }
  const { id } = await stint.enqueue(defineJob(job), {})
  // As a claim leaves it that commits after its worker was buried and its row is gone.
  await db.query(
    `update stint.job set state = 'running', attempt = 1, epoch = 1, worker_id = $2, lease_id = $2, started_at = now()
      where id = $1`,
    [id, randomUUID()],
  )
  await startWorker(ledger, { name: 'alive', jobs: [job], options: survivor('orphan') })
  await ledger.wrote({ name: 'succeeded', job: id })
  const [row] = await db.query('select attempt, crashes, epoch from stint.finished where id = $1', [id])
  expect(row).toEqual({ attempt: 1, crashes: 1, epoch: 2 })
})
