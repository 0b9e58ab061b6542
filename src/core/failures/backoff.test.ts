import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defaultBackoff, retryDelayMs } from './backoff.ts'
import type { Backoff } from './backoff.ts'

const error = new Error('x')
const delay = (backoff: Backoff, failures: number, random = 0.5): number =>
  retryDelayMs(backoff, failures, error, () => random)

describe('a list', () => {
  test('a list of durations is followed within a quarter more or less, and its last one is repeated', () => {
    expect([1, 2, 3, 4, 5, 900].map((failures) => delay(defaultBackoff, failures))).toEqual([
      ...[30_000, 300_000, 1_800_000, 7_200_000, 7_200_000, 7_200_000],
    ])
    expect(delay(defaultBackoff, 1, 0)).toBe(22_500)
    expect(delay(defaultBackoff, 1, 1)).toBe(37_500)
  })
})

describe('an exponential backoff', () => {
  test('an exponential backoff has full jitter below a bound that doubles', () => {
    expect([1, 2, 3, 4].map((failures) => delay({ base: '1s' }, failures, 1))).toEqual([
      ...[1_000, 2_000, 4_000, 8_000],
    ])
    expect(delay({ base: '1s' }, 4, 0)).toBe(0)
    expect(delay({ base: '1s', factor: 3 }, 3)).toBe(4_500)
  })

  test('an exponential backoff stops growing at max, or at a day', () => {
    expect(delay({ base: '1s', max: '1m' }, 1_000, 1)).toBe(60_000)
    expect(delay({ base: '1s', factor: 100 }, 1_000, 1)).toBe(86_400_000)
    expect(delay({ base: '3d' }, 5, 1)).toBe(3 * 86_400_000)
  })

  test('an exponential backoff with base 0 stays 0, even after thousands of failures', () => {
    expect(delay({ base: 0 }, 5_000, 1)).toBe(0)
  })
})

describe('a backoff function', () => {
  test('a backoff function gets the failures and the error, and its result is used', () => {
    const seen: unknown[] = []
    const own = (...given: [number, unknown]): string => {
      seen.push(given)
      return '7s'
    }
    expect(delay(own, 3)).toBe(7_000)
    expect(seen).toEqual([[3, error]])
  })

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('bug')
      },
    ],
    ['gives NaN', () => Number.NaN],
    ['gives Infinity', () => Infinity],
    ['gives a negative number', () => -5],
    ['gives a promise', () => Promise.resolve('5s')],
    ['gives nothing', () => undefined],
  ])('a backoff function that %s is replaced by the default list', (_what, own) => {
    expect(delay(own as () => string, 2)).toBe(300_000)
  })

  test('a backoff function waits for at most ten years', () => {
    expect(delay(() => 1e300, 1)).toBe(10 * 365.25 * 86_400_000)
  })
})

test('a delay is a whole number of milliseconds from 0 to ten years', () => {
  const duration = fc.oneof(fc.nat(), fc.constantFrom('1ms', '30s', '900000000000w'))
  const backoff = fc.oneof(
    fc.array(duration),
    fc.record({
      base: duration,
      factor: fc.double({ min: 1, max: 100, noNaN: true }),
      max: fc.option(duration, { nil: undefined }),
    }),
    fc.func(duration),
  )
  fc.assert(
    fc.property(
      backoff,
      fc.integer({ min: -1, max: 2_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (...[rule, failures, random]) => {
        const ms = delay(rule, failures, random)
        expect(Number.isInteger(ms) && ms >= 0 && ms <= 10 * 365.25 * 86_400_000).toBe(true)
      },
    ),
  )
})
