import { describe, expect, test } from 'vitest'
import { Timeline, WindowCount } from './retry-budgets.ts'

describe('the timeline of retries', () => {
  const pace = { stepMs: 10, aheadMs: 0, now: 0 }

  test('retries that want the same time come one step apart', () => {
    const timeline = new Timeline()
    expect([100, 100, 100].map((wanted) => timeline.place(wanted, pace))).toEqual([100, 110, 120])
  })

  test('a retry far ahead does not hold up one that comes sooner', () => {
    const timeline = new Timeline()
    timeline.place(7_200_000, pace)
    expect(timeline.place(100, pace)).toBe(100)
    expect(timeline.place(7_200_000, pace)).toBe(7_200_010)
  })

  test('retries that reach a later series go on behind it', () => {
    const timeline = new Timeline()
    for (const wanted of [120, 120]) timeline.place(wanted, pace)
    expect([100, 100, 100].map((wanted) => timeline.place(wanted, pace))).toEqual([100, 110, 140])
  })

  test('some may come at once, and no window has more than the pace and those', () => {
    const timeline = new Timeline()
    const [stepMs, atOnce, windowMs] = [10, 5, 1_000]
    const rule = { stepMs, aheadMs: (atOnce - 1) * stepMs, now: 0 }
    const places = Array.from({ length: 3_000 }, () => timeline.place(Math.random() * 20_000, rule))
    places.sort((a, b) => a - b)
    expect(new Timeline().place(5, rule)).toBe(5)
    for (const [index, from] of places.entries()) {
      const until = places.findIndex((place) => place >= from + windowMs)
      // Series that were joined may lie one step closer together.
      expect((until === -1 ? places.length : until) - index).toBeLessThanOrEqual(
        windowMs / stepMs + 2 * atOnce,
      )
    }
  })

  test('what is over is forgotten', () => {
    const timeline = new Timeline()
    for (let count = 0; count < 100; count++) timeline.place(0, pace)
    expect(timeline.place(0, { ...pace, now: 2_000 })).toBe(0)
  })
})

test('a count of the last window forgets what is older', () => {
  const count = new WindowCount(1_000)
  for (const at of [5_000, 5_010, 5_400]) count.add(at)
  expect(count.total(5_500)).toBe(3)
  expect(count.total(6_100)).toBe(1)
  expect(count.total(9_000)).toBe(0)
  count.add(9_000)
  expect(count.total(9_001)).toBe(1)
})
