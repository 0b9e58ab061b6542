import { expect, test } from 'vitest'
import { durationMs } from './duration.ts'

test.each([
  ['500ms', 500],
  ['30s', 30_000],
  ['1.5m', 90_000],
  ['2h', 7_200_000],
  ['7d', 604_800_000],
  ['1w', 604_800_000],
  [1_500, 1_500],
  [0, 0],
])('%s is %d ms', (text, ms) => {
  expect(durationMs(text)).toBe(ms)
})

test.each(['', '30', 's', '-5s', '5 s', '5S', '1e3s', '٣s', Number.NaN, -1, Infinity, null, {}, [5]])(
  '%j is refused as a duration',
  (value) => {
    expect(durationMs(value)).toBeUndefined()
  },
)
