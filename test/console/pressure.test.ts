import { afterAll, beforeAll, expect, test } from 'vitest'
import { Stint } from '../../src/index.ts'
import { QueuePressure } from '../../src/server/api/pressure.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { newName } from '../support/workers.ts'
import { anything, call, openConsole, problemOf, tokens } from './scene.ts'

const viewer = { token: tokens.viewer.token }
const operator = { token: tokens.operator.token }
const admin = { token: tokens.admin.token }

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

async function fullQueue(): Promise<string> {
  const queue = newName('full')
  await stint.enqueueMany(anything, [1, 2, 3], { queue, key: 'acme' })
  await db.query('insert into stint.queue (name, pressure) values ($1, $2)', [
    queue,
    JSON.stringify({ maxDepth: 3, keyMaxDepth: 3, whenFull: 'reject' }),
  ])
  return queue
}

test('a job of a full queue is answered with 429 and Retry-After, in a batch too', async () => {
  const queue = await fullQueue()
  const served = openConsole(db.url)
  const job = { kind: 'any.thing', queue, input: 4 }
  const answer = await call(served, 'POST /v1/jobs', { ...operator, json: job })
  expect(problemOf(answer)).toMatchObject({ status: 429, type: 'urn:stint:problem:queue-full' })
  expect(problemOf(answer).detail).toContain('depth 3 of 3')
  expect(Number(answer.headers.get('Retry-After'))).toBeGreaterThanOrEqual(2)
  const batch = await call(served, 'POST /v1/jobs/batch', { ...operator, json: { jobs: [job, job] } })
  expect(problemOf(batch)).toMatchObject({ status: 429 })
  const [row] = await db.query('select count(*)::integer as jobs from stint.job where queue = $1', [queue])
  expect(row).toEqual({ jobs: 3 })
})

test('the pressure of a queue and of a key is read, with the metrics about it', async () => {
  const queue = await fullQueue()
  const served = openConsole(db.url)
  const answer = await call(served, `GET /v1/queues/${queue}/pressure`, viewer)
  expect(QueuePressure.parse(answer.body)).toMatchObject({
    ...{ queue, key: null, state: 'full', depth: 3, maxDepth: 3, whenFull: 'reject', share: 1 },
  })
  const ofKey = await call(served, `GET /v1/queues/${queue}/pressure?key=other`, viewer)
  expect(QueuePressure.parse(ofKey.body)).toMatchObject({
    key: 'other',
    state: 'full',
    depth: 0,
    maxDepth: 3,
  })
  const { text } = await call(served, 'GET /metrics', viewer)
  expect(text).toContain(`stint_queue_pressure{queue="${queue}"} 1\n`)
  expect(text).toContain(`stint_queue_closed{queue="${queue}"} 0\n`)
  expect(text).toContain(`stint_enqueue_refused_total{queue="${queue}"} 0\n`)
})

test('an admin drains and opens a queue; others may not, and a drained queue answers 409', async () => {
  const queue = newName('drained')
  const served = openConsole(db.url)
  const refused = await call(served, `POST /v1/queues/${queue}/drain`, { ...operator, json: {} })
  expect(problemOf(refused)).toMatchObject({ status: 403 })
  const drained = await call(served, `POST /v1/queues/${queue}/drain`, {
    ...admin,
    json: { reason: 'moved' },
  })
  expect(QueuePressure.parse(drained.body)).toMatchObject({ state: 'closed', closeReason: 'moved' })
  const job = { kind: 'any.thing', queue, input: 1 }
  const closed = await call(served, 'POST /v1/jobs', { ...operator, json: job })
  expect(problemOf(closed)).toMatchObject({ status: 409, type: 'urn:stint:problem:queue-closed' })
  const opened = await call(served, `POST /v1/queues/${queue}/open`, { ...admin, json: {} })
  expect(QueuePressure.parse(opened.body)).toMatchObject({ state: 'open', closedAt: null })
  const { entries } = await stint.audit.list({ target: queue })
  expect(entries.map(({ action, outcome, actor }) => [action, outcome, actor])).toEqual([
    ['queue.open', 'done', 'ada'],
    ['queue.drain', 'done', 'ada'],
    ['queue.drain', 'refused', 'otto'],
  ])
})

test('bad requests about pressure name the field', async () => {
  const served = openConsole(db.url)
  const bad = await call(served, 'POST /v1/queues/q/drain', { ...admin, json: { until: '1h' } })
  expect(problemOf(bad).status).toBe(422)
  const key = await call(served, 'GET /v1/queues/q/pressure?key=', viewer)
  expect([400, 422]).toContain(problemOf(key).status)
  const nul = await call(served, 'GET /v1/queues/q/pressure?key=%00', viewer)
  expect([400, 422]).toContain(problemOf(nul).status)
})
