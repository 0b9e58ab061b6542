import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { middleOf } from '../../src/core/histogram.ts'
import { Stint } from '../../src/index.ts'
import { QueueDetails, QueueList, QueueSettings } from '../../src/server/api/queue.ts'
import { bury } from '../support/dead-letters.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { givenMinute, givenWorker } from './numbers-given.ts'
import { anything, call, openConsole, problemOf, tokens } from './scene.ts'

const viewer = { token: tokens.viewer.token }

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

describe('queues', () => {
  test('queues are listed with their jobs, rates, last hour and workers', async () => {
    const queue = 'mail/eu.%1'
    await stint.enqueueMany(anything, [1, 2, 3], { queue })
    await stint.enqueue(anything, 4, { queue, delay: '1h' })
    await stint.enqueue(anything, 5, { queue, key: 'acme', priority: 7 })
    const { id } = await stint.enqueue(anything, 6, { queue })
    await bury(db, id)
    await givenMinute(db, { queue, kind: 'any.thing', ago: 1, succeeded: 8, failed: 2, run: { '100': 10 } })
    // A late worker, so that it does not refresh the gauges.
    await givenWorker(db, { queues: { [queue]: 3 }, kinds: ['any.thing'], silentFor: '25 seconds' })
    await stint.queues.set(queue, { keep: '1d' })

    const served = openConsole(db.url)
    const list = QueueList.parse((await call(served, 'GET /v1/queues', viewer)).body)
    const item = list.items.find((one) => one.queue === queue)
    expect(item).toMatchObject({
      ready: 4,
      scheduled: 1,
      running: 0,
      dead: 1,
      estimated: [],
      atLeast: [],
      slots: 3,
      workers: 1,
    })
    expect(item?.failureRate).toBeCloseTo(0.2)
    expect(item?.run.p50).toBeGreaterThan(0)
    expect(item?.countedAt).not.toBeNull()

    const answer = await call(served, `GET /v1/queues/${encodeURIComponent(queue)}`, viewer)
    const detail = QueueDetails.parse(answer.body)
    expect(detail).toMatchObject({ queue, ready: 4, scheduled: 1, dead: 1, slots: 3, workers: 1 })
    expect(detail.kinds).toMatchObject([{ kind: 'any.thing', ready: 4, scheduled: 1, handled: true }])
    expect(detail.kinds[0]?.failureRate).toBeCloseTo(0.2)
    expect(detail.priorities).toEqual([
      { priority: 7, ready: 1 },
      { priority: 0, ready: 3 },
    ])
    expect(detail.topKeys).toEqual([{ key: 'acme', ready: 1 }])
    expect(detail.settings).toEqual({ keepMs: 86_400_000, keepDeadMs: null })
    expect(detail.retryBudget).toBeNull()
    const budget = { share: 0.2, least: 10, windowMs: 60_000 }
    await db.query('update stint.queue set retry_budget = $2 where name = $1', [queue, budget])
    const limited = await call(served, `GET /v1/queues/${encodeURIComponent(queue)}`, viewer)
    expect(QueueDetails.parse(limited.body).retryBudget).toEqual(budget)
  })

  test('the last hour of a queue is 60 minutes long, and includes counts that are written later', async () => {
    const queue = 'hourly'
    await givenMinute(db, { queue, ago: 61, succeeded: 1_000, run: { '200': 1_000 } })
    await givenMinute(db, { queue, ago: 57, succeeded: 10, run: { '100': 10 } })
    await givenMinute(db, { queue, ago: 0, succeeded: 1, run: { '100': 1 } })
    const ended = async (): Promise<number | undefined> => {
      const { queues } = await stint.view.queues()
      const found = queues.find((one) => one.queue === queue)
      expect(found?.run.p99).toBeCloseTo(middleOf(100))
      return found?.spark.reduce((sum, jobs) => sum + jobs, 0)
    }
    expect(await ended()).toBe(11)
    await givenMinute(db, { queue, ago: 1, succeeded: 100, run: { '100': 100 } })
    expect(await ended()).toBe(111)
  })

  test('the rates of the kinds of a queue cover the same minutes as the rate of the queue, and add up to it', async () => {
    const queue = 'rated'
    const at = { queue, now: new Date() }
    await givenMinute(db, { ...at, kind: 'a', ago: 40, succeeded: 9_000 })
    await givenMinute(db, { ...at, kind: 'a', ago: 3, succeeded: 240 })
    await givenMinute(db, { ...at, kind: 'b', ago: 1, succeeded: 30, dead: 30 })
    const detail = await stint.view.queue(queue)
    const [a = 0, b = 0] = detail?.kinds.map(({ perSecond }) => perSecond) ?? []
    expect(a / b).toBeCloseTo(4)
    // This is read a moment later, so it covers a moment more.
    expect((a + b) / (detail?.outPerSecond ?? 0)).toBeCloseTo(1, 1)
  })

  test('an unknown queue is 404', async () => {
    const served = openConsole(db.url)
    const answer = await call(served, `GET /v1/queues/${randomUUID()}`, viewer)
    expect(answer.status).toBe(404)
    expect(problemOf(answer).type).toBe('urn:stint:problem:queue-not-found')
    const wrong = await call(served, 'GET /v1/queues/%20', viewer)
    expect(wrong.status).toBe(422)
  })

  test('a queue that a caller may not see is 404, and is not listed', async () => {
    await stint.enqueue(anything, null, { queue: 'hidden' })
    const served = openConsole(db.url, {
      tokens: [],
      auth: () => ({ actor: 'ana', role: 'viewer', can: (_, of) => of?.queue !== 'hidden' }),
    })
    expect((await call(served, 'GET /v1/queues/hidden')).status).toBe(404)
    const list = QueueList.parse((await call(served, 'GET /v1/queues')).body)
    expect(list.items.map(({ queue }) => queue)).not.toContain('hidden')
  })
  test('an admin sets how long a queue keeps its jobs, and the audit has an entry', async () => {
    const served = openConsole(db.url)
    const path = 'PATCH /v1/queues/kept'
    const refused = await call(served, path, { token: tokens.operator.token, json: { keep: '2d' } })
    expect(refused.status).toBe(403)
    const admin = { token: tokens.admin.token }
    const set = await call(served, path, { ...admin, json: { keep: '2d', keepDead: '30d', reason: 'law' } })
    expect(set.status).toBe(200)
    expect(QueueSettings.parse(set.body)).toMatchObject({
      queue: 'kept',
      keepMs: 2 * 86_400_000,
      keepDeadMs: 30 * 86_400_000,
      asOf: expect.stringContaining('T') as string,
    })
    const back = await call(served, path, { ...admin, json: { keep: '0', keepDead: 'forever' } })
    expect(back.body).toMatchObject({ keepMs: 0, keepDeadMs: null })
    expect((await stint.queues.get('kept')).keepMs).toBe(0)
    expect((await call(served, path, { ...admin, json: { keep: 'long' } })).status).toBe(422)
    expect((await call(served, path, { ...admin, json: {} })).status).toBe(422)
    const noted = await db.query<{ actor: string; reason: string | null }>(
      `select actor, reason from stint.audit where action = 'queue.set' and outcome = 'done' order by id`,
    )
    expect(noted).toEqual([
      { actor: 'ada', reason: 'law' },
      { actor: 'ada', reason: null },
    ])
  })

  test('a caller who may see but not edit a queue is refused, and the audit has an entry', async () => {
    const can = (action: string, of?: { queue?: string | undefined }): boolean =>
      action !== 'queue.edit' || of?.queue === undefined || of.queue === 'own'
    const served = openConsole(db.url, {
      tokens: [],
      auth: () => ({ actor: 'scoped', role: 'admin', origin: 'api', can }),
    })
    const json = { keep: '2d', reason: 'tidy' }
    expect((await call(served, 'PATCH /v1/queues/foreign', { json })).status).toBe(403)
    expect((await call(served, 'PATCH /v1/queues/own', { json })).status).toBe(200)
    expect(
      await db.query(
        `select action, target, outcome, reason from stint.audit where actor = 'scoped' order by id`,
      ),
    ).toMatchObject([
      { action: 'queue.set', target: 'foreign', outcome: 'refused', reason: 'tidy' },
      { action: 'queue.set', target: 'own', outcome: 'done', reason: 'tidy' },
    ])
  })
})
