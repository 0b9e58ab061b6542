import { expect, test } from 'vitest'
import * as terminal from '../src/cli/output/format.ts'
import * as page from '../dashboard/src/text/format.ts'
import { segmentsOf } from '../dashboard/src/text/timeline.ts'

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
  const none = { scheduled: 0, waiting: 0, ready: 0, running: 0, retrying: 0, dead: 0 }
  const exact = { estimated: [], atLeast: [] }
  const stopped = { estimated: [], atLeast: ['dead' as const] }
  for (const [dead, text] of caps) {
    expect(page.countText({ count: dead, exact: false })).toBe(text)
    expect(page.figureText(dead, 'dead', stopped)).toBe(text)
    expect(terminal.figureText({ ...none, ...stopped, dead }, 'dead')).toBe(text)
  }
  expect(page.figureText(1_671, 'dead', exact)).toBe('1,671')
  expect(terminal.figureText({ ...none, ...exact, dead: 1_671 }, 'dead')).toBe('1671')
})

test('a figure of a queue that is an estimate is shown as one, in the dashboard and on the command line', () => {
  const figures = { scheduled: 12, waiting: 0, ready: 150_007, running: 0, retrying: 0, dead: 0 }
  const inexact = { estimated: ['ready' as const], atLeast: [] }
  expect(page.figureText(figures.ready, 'ready', inexact)).toBe('≈150k')
  expect(page.figureText(figures.scheduled, 'scheduled', inexact)).toBe('12')
  expect(terminal.figureText({ ...figures, ...inexact }, 'ready')).toBe('≈150k')
  expect(terminal.figureText({ ...figures, ...inexact }, 'scheduled')).toBe('12')
})

test('a time two days and 23 hours away is not shown as two days', () => {
  const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]
  expect(
    [
      ...[500, 12.9 * second, 3 * minute + 12 * second, 3 * minute + 50 * second, 59.7 * minute],
      ...[2 * hour + 5 * minute, 23.995 * hour, 2 * day + 23 * hour, 3 * day],
    ].map(page.shortSpan),
  ).toEqual(['now', '12s', '3m', '4m', '1h', '2h5m', '1d', '2d23h', '3d'])
})

test('the count of failed attempts includes those of dead jobs, like its share', () => {
  expect(page.failedText({ failed: 0, dead: 12, failureRate: 0.019 })).toBe('12 attempts failed (1.9%)')
  expect(page.failedText({ failed: 1, dead: 0, failureRate: 0.5 })).toBe('1 attempt failed (50%)')
  expect(page.failedText({ failed: 0, dead: 0, failureRate: null })).toBe('0 attempts failed')
})

test('jobs claimed ahead of the slots are not shown as running', () => {
  expect(page.slotsText(5, 8)).toBe('of 8 slots')
  expect(page.slotsText(29, 8)).toBe('8 slots, 21 claimed ahead')
  expect(page.slotsText(1, 1)).toBe('of 1 slot')
})

test('a job that was never scheduled has no scheduled time in its timeline, also after a retry', () => {
  const at = (ms: number): string => new Date(1_700_000_000_000 + ms).toISOString()
  const failed = { startedAt: at(20), endedAt: at(50), outcome: 'failed', attempt: 1 }
  const typesOf = (job: { createdAt: string; runAt: string; finishedAt: string | null }): string[] =>
    segmentsOf(job, [failed], Date.parse(at(100))).map(({ type }) => type)
  // A retry has moved the time at which the job is due.
  expect(typesOf({ createdAt: at(0), runAt: at(60_000), finishedAt: null })).toEqual([
    'before',
    'running',
    'between',
  ])
  expect(typesOf({ createdAt: at(0), runAt: at(0), finishedAt: at(50) })).toEqual(['ready', 'running'])
  expect(typesOf({ createdAt: at(0), runAt: at(15), finishedAt: at(50) })).toEqual([
    'scheduled',
    'ready',
    'running',
  ])
})
