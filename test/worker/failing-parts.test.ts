import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FailingParts } from '../../src/worker/watch/failing-parts.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const refused = { isRefused: true }
const away = { isRefused: false }

test('a refused part counts from its first refusal, even if other parts succeed', () => {
  const parts = new FailingParts()
  expect(parts.failed('claim', refused)).toBe(0)
  vi.advanceTimersByTime(30_000)
  parts.wentWell('survey')
  expect(parts.failed('claim', refused)).toBe(30_000)
  vi.advanceTimersByTime(31_000)
  expect(parts.failed('claim', refused)).toBe(61_000)
  expect(parts.problems(120_000)).toEqual(['the database refuses its statements: claim'])
})

test('a part that succeeded counts anew, also when only its own loop knows of the success', () => {
  const parts = new FailingParts()
  parts.failed('claim', refused)
  parts.failed('sweep', refused)
  vi.advanceTimersByTime(59_000)
  parts.wentWell('claim')
  expect(parts.problems(120_000)).toEqual(['the database refuses its statements: sweep'])
  expect(parts.failed('claim', refused)).toBe(0)
  expect(parts.failed('sweep', { isRefused: true, sinceOkMs: 5_000 })).toBe(0)
  expect(parts.failed('sweep', { isRefused: true, sinceOkMs: 64_000 })).toBe(0)
})

test('an unreachable database is a problem only after a while, and is not a refusal', () => {
  const parts = new FailingParts()
  for (let second = 0; second <= 120; second += 20) {
    expect(parts.problems(120_000)).toEqual([])
    expect(parts.failed('settle', away)).toBe(0)
    vi.advanceTimersByTime(20_000)
  }
  expect(parts.problems(120_000)).toEqual(["'settle' has not succeeded for 140 s"])
})

test('a part that has not failed for long is forgotten', () => {
  const parts = new FailingParts()
  parts.failed('register', refused)
  vi.advanceTimersByTime(90_000)
  expect(parts.problems(0)).toEqual([])
  expect(parts.failed('register', refused)).toBe(0)
})
