import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { createLedger } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'
import { eventually } from '../support/workers.ts'

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

/** A process counts as blocked after a lease. A busy machine may pause a whole process for half of that. */
const leaseMs = 6_000

function options(queue: string) {
  return {
    connection: db.url,
    queues: { [queue]: 4 },
    lease: leaseMs,
    sweepEvery: '100ms',
    stuck: { grace: '300ms' },
  } as const
}

test('a handler that blocks the event loop for longer than its lease, but within its timeout, runs once and keeps its job', async () => {
  const ledger = await createLedger()
  const job = { kind: 'busy', queue: 'busy', timeout: '5m' }
  const { id } = await stint.enqueue(defineJob(job), { act: 'block', ms: 1.5 * leaseMs })
  await startWorker(ledger, { name: 'blocked', jobs: [job], options: options('busy') })
  await startWorker(ledger, { name: 'other', jobs: [job], options: options('busy') })
  await ledger.wrote({ name: 'succeeded', job: id })
  expect(ledger.lines({ type: 'start', job: id })).toHaveLength(1)
})

test('a process that is blocked past the timeout of all its jobs kills itself, and the reason is stored', async () => {
  const ledger = await createLedger()
  const job = { kind: 'hung', queue: 'hung', timeout: '500ms' }
  const { id } = await stint.enqueue(defineJob(job), { act: 'block', ms: 600_000 })
  const hung = await startWorker(ledger, { name: 'hung', jobs: [job], options: options('hung') })
  await startWorker(ledger, { name: 'sweeper', jobs: [{ kind: 'x' }], options: options('nothing') })
  expect(await hung.exited).toMatchObject({ signal: 'SIGKILL' })
  expect(hung.output()).toContain('its event loop was blocked')
  await ledger.wrote(({ name, said }) => name === 'swept' && said?.['returned'] === 1)
  expect(await db.query('select state, attempt, suspect from stint.job where id = $1', [id])).toEqual([
    { state: 'ready', attempt: 0, suspect: true },
  ])
  const [attempt] = await db.query('select outcome, reason from stint.attempt where job_id = $1', [id])
  expect(attempt).toMatchObject({
    outcome: 'lease-lost',
    reason: expect.stringContaining('past the timeout of every job it ran') as string,
  })
})

test('a blocked process that was declared lost, and cannot learn of it, kills itself too', async () => {
  const ledger = await createLedger()
  const job = { kind: 'lost', queue: 'lost', timeout: '500ms' }
  const { id } = await stint.enqueue(defineJob(job), { act: 'block', ms: 600_000 })
  const lost = await startWorker(ledger, { name: 'lost', jobs: [job], options: options('lost') })
  const { workerId } = await ledger.wrote({ type: 'start', job: id })
  await db.query('update stint.worker set lost_at = stint.now() where id = $1', [workerId])
  expect(await lost.exited).toMatchObject({ signal: 'SIGKILL' })
  expect(lost.output()).toContain('its event loop was blocked')
})

test.each(['callback', 'promise'])(
  'an uncaught error in a %s fails only its own job, and is recorded if the attempt is already over',
  async (how) => {
    const ledger = await createLedger()
    const queue = `uncaught-${how}`
    const job = { kind: 'uncaught', queue, retry: { attempts: 1 } }
    const worker = await startWorker(ledger, { name: 'careless', jobs: [job], options: options(queue) })
    const neighbour = await stint.enqueue(defineJob(job), { act: 'hold' })
    await ledger.wrote({ type: 'start', job: neighbour.id })
    const { id } = await stint.enqueue(defineJob(job), { act: 'uncaught', how })
    const dead = await ledger.wrote({ name: 'dead', job: id })
    expect(dead.said?.['error']).toMatchObject({
      name: 'TypeError',
      message: expect.stringContaining('in a ') as string,
    })
    // Thrown after the handler returned: the error is recorded, and the job stays succeeded.
    const late = await stint.enqueue(defineJob(job), { act: 'uncaught', how, lateMs: 200 })
    const thrown = await ledger.wrote({ name: 'thrownLate', job: late.id })
    expect(thrown.said?.['error']).toMatchObject({ name: 'TypeError' })
    worker.tell('go')
    await ledger.wrote({ name: 'succeeded', job: neighbour.id })
    const after = await stint.enqueue(defineJob(job), { act: 'return' })
    await ledger.wrote({ name: 'succeeded', job: after.id })
    expect(await stint.get(late.id)).toMatchObject({ state: 'succeeded' })
    await eventually(async () => {
      const outcomes = (await stint.attempts(late.id)).map(({ outcome }) => outcome)
      return outcomes.includes('thrown-late')
    }, 'the note of what was thrown')
  },
)
