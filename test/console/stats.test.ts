import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { binOf } from '../../src/core/histogram.ts'
import { StatSeries } from '../../src/server/api/queue.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { givenMinute, givenWorker } from './numbers-given.ts'
import { call, openConsole, tokens } from './scene.ts'

const viewer = { token: tokens.viewer.token }

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

async function series(query: string): Promise<StatSeries> {
  const { status, body } = await call(openConsole(db.url), `GET /v1/stats?${query}`, viewer)
  expect(status).toBe(200)
  return StatSeries.parse(body)
}

function total(points: StatSeries['points'], name: 'succeeded' | 'failed' | 'enqueued'): number {
  return points.reduce((sum, point) => sum + point[name], 0)
}

describe('stats', () => {
  test('stats are one series over all processes, queues and kinds, with zeros where nothing happened', async () => {
    const wait = { [binOf(100)]: 10 }
    const at = { now: new Date(), ago: 3 }
    await givenMinute(db, { queue: 'a', kind: 'x', ...at, enqueued: 12, succeeded: 10, failed: 1, wait })
    await givenMinute(db, { queue: 'a', kind: 'y', ...at, succeeded: 5, wait: { [binOf(1_000)]: 10 } })
    await givenMinute(db, { queue: 'b', kind: 'x', ago: 8, succeeded: 2 })
    const all = await series('step=1m')
    // A quarter of an hour, and the minute in which it begins.
    expect([15, 16]).toContain(all.points.length)
    expect(all.stepMs).toBe(60_000)
    expect(all.sampled).toBe(1)
    expect(all.total).toMatchObject({ enqueued: 12, succeeded: 17, failed: 1 })
    expect(all.total.failureRate).toBeCloseTo(1 / 18)
    expect(total(all.points, 'succeeded')).toBe(17)
    const busy = all.points.find((point) => point.succeeded === 15)
    expect(busy?.waitP50).toBeCloseTo(100, -1)
    expect(busy?.waitP95).toBeGreaterThan(900)
    const silent = all.points.filter((point) => point.succeeded === 0 && point.waitP50 === null)
    expect(silent).toHaveLength(all.points.length - 2)
  })

  test('stats say when their figures begin', async () => {
    const [minute] = await db.query<{ at: Date }>('select min(minute) as at from stint.stat_minute')
    expect((await series('step=1m')).since).toBe(minute?.at.toISOString())
  })

  test('stats are of one queue, one kind or both', async () => {
    await givenMinute(db, { queue: 'q1', kind: 'k1', ago: 1, succeeded: 1 })
    await givenMinute(db, { queue: 'q1', kind: 'k2', ago: 1, succeeded: 2 })
    await givenMinute(db, { queue: 'q2', kind: 'k1', ago: 1, succeeded: 4 })
    expect((await series('queue=q1')).total.succeeded).toBe(3)
    expect((await series('kind=k1')).total.succeeded).toBe(5)
    expect((await series('queue=q2&kind=k1')).total.succeeded).toBe(4)
    expect((await series('queue=q3')).total.succeeded).toBe(0)
  })

  test('stats have at most 1,000 points, however long the range', async () => {
    const to = new Date().toISOString()
    const week = new Date(Date.now() - 7 * 86_400_000).toISOString()
    expect((await series(`from=${week}&to=${to}`)).points.length).toBeLessThanOrEqual(1_000)
    const day = new Date(Date.now() - 86_400_000).toISOString()
    const served = openConsole(db.url)
    const tooFine = await call(served, `GET /v1/stats?from=${day}&to=${to}&step=1m`, viewer)
    expect(tooFine.status).toBe(422)
    const statusOf = async (query: string): Promise<number> =>
      (await call(served, `GET /v1/stats?${query}`, viewer)).status
    for (const unreadable of ['from=yesterday', 'step=1x'])
      expect(await statusOf(unreadable), unreadable).toBe(400)
    for (const wrong of [`from=${to}&to=${day}`, 'step=30s']) expect(await statusOf(wrong), wrong).toBe(422)
  })

  test('stats in hours go back further, and hold the rolled-up minutes', async () => {
    await db.query(
      `insert into stint.stat_hour (hour, queue, kind, enqueued, started, succeeded, failed, dead, lease_expired, refused,
                                    cancelled, snoozed, released, crashed, attempts, wait, run)
       values (date_trunc('hour', now()) - interval '10 days', 'old', 'k', 0, 0, 42, 0, 0, 0, 0, 0, 0, 0, 0, 0, '{}', '{}')`,
    )
    const from = new Date(Date.now() - 11 * 86_400_000).toISOString()
    const seen = await series(`from=${from}&queue=old&step=2h`)
    expect(seen.total.succeeded).toBe(42)
    expect(total(seen.points, 'succeeded')).toBe(42)
  })

  test('stats mark when a version of the app was first started', async () => {
    await givenWorker(db, { version: 'v1', startedAgo: '2 hours' })
    await givenWorker(db, { version: 'v2', startedAgo: '5 minutes' })
    await givenWorker(db, { version: 'v2', startedAgo: '3 minutes' })
    const { deploys } = await series('')
    expect(deploys.map(({ version }) => version)).toEqual(['v2'])
    expect(Date.now() - Date.parse(deploys[0]?.at ?? '')).toBeGreaterThan(4.5 * 60_000)
  })

  test('stats over many rows have exact counts, and say which share their percentiles are sampled from', async () => {
    await db.query(
      `insert into stint.stat_minute (minute, queue, kind, process, flush, succeeded, wait)
       select date_trunc('minute', now()) - m * interval '1 minute', 'much', 'k' || k, gen_random_uuid(), 1, 1, '{"150": 1}'
         from generate_series(1, 100) as m, generate_series(1, 100) as k`,
    )
    const from = new Date(Date.now() - 2 * 3_600_000).toISOString()
    const seen = await series(`queue=much&from=${from}&step=5m`)
    expect(seen.total.succeeded).toBe(10_000)
    expect(seen.sampled).toBeLessThan(1)
    expect(seen.total.waitP50).toBeCloseTo(seen.total.waitP95 ?? 0)
    expect(seen.total.waitP50).not.toBeNull()
  })
})
