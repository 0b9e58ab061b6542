import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addPrinted, binCount, binOf, countOf, mergeBins, middleOf, percentile, toBins } from './histogram.ts'
import type { Bins } from './histogram.ts'

/** Evenly spread over many magnitudes, from a microsecond to a month. */
const durations = fc.array(
  fc.double({ min: -9.9, max: 31, noNaN: true }).map((exponent) => 2 ** exponent),
  { minLength: 1, maxLength: 300 },
)
const shares = fc.constantFrom(0, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1)

function counted(values: readonly number[]): Bins {
  const counts = new Uint32Array(binCount)
  for (const ms of values) counts[binOf(ms)] = (counts[binOf(ms)] ?? 0) + 1
  return toBins(counts)
}

function exact(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1] ?? Number.NaN
}

describe('a histogram', () => {
  test('a histogram gives any percentile within 5 % of the exact one', () => {
    fc.assert(
      fc.property(durations, shares, (values, share) => {
        const told = percentile(counted(values), share) ?? Number.NaN
        expect(Math.abs(told / exact(values, share) - 1)).toBeLessThan(0.05)
      }),
    )
  })

  test('merging the histograms of two parts gives that of the whole', () => {
    fc.assert(
      fc.property(durations, durations, (some, others) => {
        const whole = counted([...some, ...others])
        expect(mergeBins(counted(some), counted(others))).toEqual(whole)
        expect(countOf(whole)).toBe(some.length + others.length)
      }),
    )
  })

  test('the bins of a histogram are adjacent, each with its middle inside', () => {
    for (let bin = 0; bin < binCount; bin++) expect(binOf(middleOf(bin))).toBe(bin)
  })

  test('a histogram puts zero, negative, infinite and NaN durations into its first or last bin', () => {
    for (const ms of [0, -1, Number.NaN, 1e-9]) expect(binOf(ms)).toBe(0)
    for (const ms of [Infinity, 1e300]) expect(binOf(ms)).toBe(binCount - 1)
    expect(percentile({}, 0.5)).toBeNull()
    expect(percentile({ 0: 3 }, 0.99)).toBe(0)
  })

  test('a histogram is added from its printed form, multiplied by a weight', () => {
    fc.assert(
      fc.property(durations, durations, fc.integer({ min: 1, max: 9 }), (one, other, times) => {
        const counts = new Float64Array(binCount)
        addPrinted(counts, printed(counted(one)), 1)
        addPrinted(counts, printed(counted(other)), times)
        const all = mergeBins(counted(one), ...Array.from({ length: times }, () => counted(other)))
        expect(toBins(counts)).toEqual(all)
      }),
    )
    const counts = new Float64Array(binCount)
    for (const text of ['{}', '{"7": 2.75, "8": 1}', `{"${binCount}": 5}`, '{"7": 1}'])
      addPrinted(counts, text, 1)
    expect(toBins(counts)).toEqual({ 7: 3, 8: 1 })
  })
})

/** As Postgres prints jsonb. */
function printed(bins: Bins): string {
  return JSON.stringify(bins).replaceAll(':', ': ').replaceAll(',', ', ')
}
