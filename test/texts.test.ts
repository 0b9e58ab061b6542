import { expect, test } from 'vitest'
import * as terminal from '../src/cli/format.ts'
import * as page from '../dashboard/src/text/format.ts'

const estimates: [count: number, text: string][] = [
  [7, '≈7'],
  [853, '≈850'],
  [999, '≈1k'],
  [2_705, '≈2.7k'],
  [19_965, '≈20k'],
  [150_007, '≈150k'],
  [4_968_000, '≈5M'],
]

test('estimates are rounded to two digits, in the dashboard and on the command line', () => {
  expect(estimates.map(([count]) => page.estimateText(count))).toEqual(estimates.map(([, text]) => text))
  expect(estimates.map(([count]) => terminal.estimateText(count))).toEqual(estimates.map(([, text]) => text))
})

const caps: [count: number, text: string][] = [
  [40, '40+'],
  [1_000, '1k+'],
  [1_671, '1.6k+'],
  [1_699, '1.6k+'],
  [10_000, '10k+'],
]

test('a count that stopped at a limit is rounded down, in the dashboard and on the command line', () => {
  for (const [count, text] of caps) {
    expect(page.countText({ count, exact: false })).toBe(text)
    expect(terminal.countText({ count, isExact: false })).toBe(text)
  }
  expect(page.countText({ count: 1_671, exact: true })).toBe('1,671')
  expect(terminal.countText({ count: 1_671, isExact: true })).toBe('1671')
  // Above its limit the count is what a worker last estimated.
  expect(terminal.countText({ count: 150_007, isExact: false })).toBe('≈150k')
})
