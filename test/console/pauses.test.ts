import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { Stint } from '../../src/index.ts'
import { Overview } from '../../src/server/api/overview.ts'
import { QueueDetails, QueueList, QueueSettings } from '../../src/server/api/queue.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { upkeepByHand } from '../support/history.ts'
import { anything, call, openConsole, problemOf, tokens } from './scene.ts'

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

const operator = { token: tokens.operator.token }
const viewer = { token: tokens.viewer.token }
const reason = 'the provider is down'

test('an operator pauses and resumes a queue, a kind and a key, and the audit has an entry of each', async () => {
  const served = openConsole(db.url)
  const path = 'POST /v1/queues/mail/pause'
  expect((await call(served, path, { ...viewer, json: { reason } })).status).toBe(403)
  const until = new Date(Date.now() + 3_600_000).toISOString()
  const whole = await call(served, path, { ...operator, json: { until, reason } })
  expect(whole.status).toBe(200)
  const pause = { kind: null, key: null, by: 'otto', until, reason }
  expect(QueueSettings.parse(whole.body)).toMatchObject({ queue: 'mail', pauses: [pause] })
  await call(served, path, { ...operator, json: { key: 'acme', reason: 'uploads' } })
  await call(served, path, { ...operator, json: { kind: 'mail.send', for: '2h', reason: 'bounces' } })
  const pauses = [pause, { key: 'acme', until: null }, { kind: 'mail.send', reason: 'bounces' }]
  const one = QueueDetails.parse((await call(served, 'GET /v1/queues/mail', viewer)).body)
  expect(one.pauses).toMatchObject(pauses)
  const list = QueueList.parse((await call(served, 'GET /v1/queues', viewer)).body)
  expect(list.items.find(({ queue }) => queue === 'mail')?.pauses).toMatchObject(pauses)
  const overview = Overview.parse((await call(served, 'GET /v1/overview', viewer)).body)
  expect(overview.queues.find(({ queue }) => queue === 'mail')?.pauses).toMatchObject(pauses)
  const metrics = await call(served, 'GET /metrics', viewer)
  expect(metrics.text).toContain('stint_queue_paused{queue="mail"} 1')
  const resumed = await call(served, 'POST /v1/queues/mail/resume', { ...operator, json: { key: 'acme' } })
  expect(QueueSettings.parse(resumed.body).pauses).toHaveLength(2)
  await call(served, 'POST /v1/queues/mail/resume', { ...operator, json: { reason: 'up again' } })
  const noted = await db.query(
    `select action, outcome, actor, reason, after ->> 'key' as key from stint.audit where target = 'mail' order by id`,
  )
  expect(noted).toEqual([
    { action: 'queue.pause', outcome: 'refused', actor: 'vi', reason: null, key: null },
    { action: 'queue.pause', outcome: 'done', actor: 'otto', reason, key: null },
    { action: 'queue.pause', outcome: 'done', actor: 'otto', reason: 'uploads', key: 'acme' },
    { action: 'queue.pause', outcome: 'done', actor: 'otto', reason: 'bounces', key: null },
    { action: 'queue.resume', outcome: 'done', actor: 'otto', reason: null, key: 'acme' },
    { action: 'queue.resume', outcome: 'done', actor: 'otto', reason: 'up again', key: null },
  ])
})

test.each([
  [{}],
  [{ reason: '' }],
  [{ reason, until: 'tomorrow' }],
  [{ reason, until: '2001-01-01T00:00:00Z' }],
  [{ reason, for: 'long' }],
  [{ reason, kind: 'a', key: 'b' }],
  [{ reason, kind: 'x'.repeat(129) }],
  [{ reason, kind: 'a\0' }],
  [{ reason, keys: ['a'] }],
])('a pause with the body %j is refused and names the field', async (json) => {
  const answer = await call(openConsole(db.url), 'POST /v1/queues/odd/pause', { ...operator, json })
  expect(answer.status).toBe(422)
  expect(problemOf(answer).errors?.length).toBeGreaterThan(0)
})

test('a caller who may see one key pauses that key and no more, and sees no other pause', async () => {
  const can = (_: string, of?: { key?: string | null | undefined }): boolean =>
    of?.key === undefined || of.key === 'acme'
  const served = openConsole(db.url, {
    tokens: [],
    auth: () => ({ actor: 'scoped', role: 'operator', origin: 'api', can }),
  })
  await stint.enqueue(anything, null, { queue: 'shared', key: 'acme' })
  await stint.queues.pause('shared', { key: 'bolt', reason: 'secret of bolt' })
  const path = 'POST /v1/queues/shared/pause'
  expect((await call(served, path, { json: { reason } })).status).toBe(403)
  expect((await call(served, path, { json: { key: 'bolt', reason } })).status).toBe(404)
  const paused = await call(served, path, { json: { key: 'acme', reason } })
  expect(paused.status).toBe(200)
  expect(paused.body).toMatchObject({ pauses: [{ key: 'acme', by: 'scoped' }] })
  for (const route of ['GET /v1/queues', 'GET /v1/queues/shared', 'GET /v1/overview']) {
    const { text } = await call(served, route)
    expect(text).toContain('"key":"acme"')
    expect(text).not.toContain('bolt')
  }
})

test('a paused queue is not reported as behind, and its reason hides passwords', async () => {
  await stint.enqueue(anything, null, { queue: 'late' })
  await stint.enqueue(anything, null, { queue: 'slow' })
  await db.query(
    `update stint.job set run_at = stint.now() - interval '1 hour' where queue in ('late', 'slow')`,
  )
  await db.query(
    `insert into stint.worker (id, lease_until, about)
     values (gen_random_uuid(), stint.now() + interval '1 hour', '{"queues": {"late": 1, "slow": 1}}')`,
  )
  const upkeep = upkeepByHand(db.url)
  onTestFinished(() => upkeep.close())
  await upkeep.pass('gauges')
  await stint.queues.pause('late', { reason: 'postgres://u:hunter2@host/db is down' })
  const served = openConsole(db.url)
  const answer = await call(served, 'GET /v1/overview', viewer)
  const { problems } = Overview.parse(answer.body)
  const behind = problems.filter(({ title }) => title.endsWith('is behind')).map(({ title }) => title)
  expect(behind).toEqual(['slow is behind'])
  expect(answer.text).not.toContain('hunter2')
})
