import { expect, onTestFinished, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { Gauges } from '../src/stats/write/gauges.ts'
import { createTestDatabase } from './support/database.ts'
import { openDatabase } from './support/open-database.ts'
import { newName, workerScene } from './support/workers.ts'

const scene = workerScene()

test('stats() estimates when a queue is empty from its rates, and gives null for a queue that grows', async () => {
  const own = await createTestDatabase()
  onTestFinished(() => own.drop())
  const stint = new Stint({ connection: own.url })
  onTestFinished(() => stint.close())
  for (const queue of ['shorter', 'longer'])
    await stint.enqueueMany(
      defineJob({ kind: 'k', queue }),
      Array.from({ length: 300 }, () => ({})),
    )
  await new Gauges().refresh(openDatabase(own))
  const minute = async (queue: string, enqueued: number, succeeded: number): Promise<void> => {
    await own.query(
      `insert into stint.stat_minute (minute, queue, kind, process, flush, enqueued, succeeded)
       values (stint.now() - interval '4 minutes', $1, 'k', gen_random_uuid(), 1, $2, $3)`,
      [queue, enqueued, succeeded],
    )
  }
  // Within four minutes, of two processes: 500 jobs fewer in one queue, and 100 more in the other.
  await minute('shorter', 100, 250)
  await minute('shorter', 0, 350)
  await minute('longer', 500, 400)
  const emptyIn = async (queue: string): Promise<number | null | undefined> =>
    (await stint.stats({ queue })).queues[0]?.emptyInMs
  const [shorter, longer] = [await emptyIn('shorter'), await emptyIn('longer')]
  // 300 jobs at 500 in 240 s, and the time that has passed since.
  expect(shorter).toBeGreaterThanOrEqual(144_000)
  expect(shorter).toBeLessThan(180_000)
  expect(longer).toBeNull()
})

test('stats() refuses options that it cannot answer', async () => {
  await expect(scene.stint.stats({ step: '30s' })).rejects.toMatchObject({ code: 'invalid-option' })
  await expect(scene.stint.stats({ from: new Date(Date.now() + 60_000) })).rejects.toMatchObject({
    code: 'invalid-option',
  })
  await expect(scene.stint.stats({ by: 'quue' as never })).rejects.toMatchObject({ code: 'invalid-option' })
  const from = new Date(Date.now() - 2 * 86_400_000)
  await expect(scene.stint.stats({ from, step: '1m' })).rejects.toMatchObject({ code: 'invalid-option' })
  await expect(scene.stint.stats({ steps: '1m' } as never)).rejects.toMatchObject({
    code: 'invalid-option',
  })
})

test('stats() has at most 1,000 points, and steps of whole hours for more than 2 days', async () => {
  // The last is the longest span allowed, and one second for a caller that read the clock a second ago.
  const longest = 92 * 86_400_000 + 1_000
  const spans = [60_000, 999 * 60_000, 1_001 * 60_000, 86_400_000, 3 * 86_400_000, longest]
  for (const span of spans) {
    const { stepMs, from, to } = await scene.stint.stats({ from: new Date(Date.now() - span) })
    expect((to.getTime() - from.getTime()) / stepMs).toBeLessThanOrEqual(1_000)
    expect(stepMs % (span > 2 * 86_400_000 ? 3_600_000 : 60_000)).toBe(0)
  }
})

test('stats() merges several series into one where it is asked to', async () => {
  const queue = newName('merged')
  await scene.db.query(
    `insert into stint.stat_minute (minute, queue, kind, process, flush, succeeded, started, run)
     select date_trunc('minute', now()) - n * interval '1 minute', $1, 'kind' || p, gen_random_uuid(), 1, 2, 2,
            jsonb_build_object(100 + 8 * p, 2)
       from generate_series(1, 5) as n, generate_series(0, 2) as p`,
    [queue],
  )
  const { series: each } = await scene.stint.stats({ queue })
  expect(each.map(({ kind, succeeded }) => [kind, succeeded])).toEqual([
    ...[0, 1, 2].map((n) => [`kind${n}`, 10]),
  ])
  const { series } = await scene.stint.stats({ queue, by: 'queue' })
  expect(series).toMatchObject([
    { queue, kind: null, succeeded: 30, run: each[1]?.run.p50 === null ? {} : { p50: each[1]?.run.p50 } },
  ])
  expect(series[0]?.points.map(({ succeeded }) => succeeded)).toEqual([6, 6, 6, 6, 6])
  // As JSON it is what the console sends.
  expect(JSON.parse(JSON.stringify(series))).toMatchObject([
    { points: [{ at: expect.any(String) as string }, {}, {}, {}, {}] },
  ])
})

test('stats() makes points of the given step', async () => {
  const queue = newName('points')
  await scene.db.query(
    `insert into stint.stat_minute (minute, queue, kind, process, flush, succeeded, started, run)
     select date_trunc('minute', now()) - n * interval '1 minute', $1, 'k', gen_random_uuid(), 1, 6, 6, '{"100": 6}'
       from generate_series(1, 10) as n`,
    [queue],
  )
  const { series } = await scene.stint.stats({ queue, step: '5m' })
  expect(series).toHaveLength(1)
  expect(series[0]?.succeeded).toBe(60)
  expect(series[0]?.points.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(60)
  expect(series[0]?.points.length).toBeLessThanOrEqual(4)
  expect(series[0]?.run.p50).toBeGreaterThan(0)
})
