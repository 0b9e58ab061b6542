import { afterEach, expect, test, vi } from 'vitest'
import { Loop } from '../../src/worker/loop.ts'
import { Watchdog } from '../../src/worker/watch/watchdog.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** A watchdog over one loop, on a clock that the test moves. */
function watched(): {
  stuck: string[]
  problems: () => string[]
  begin: () => void
  end: () => void
  pass: (ms: number) => void
} {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] })
  const stuck: string[] = []
  let since: number | undefined
  const watchdog = new Watchdog([{ name: 'sweep', since: () => since }], {
    limitMs: 60_000,
    giveUp: ({ message }) => void stuck.push(message),
  })
  watchdog.start()
  return {
    stuck,
    problems: () => watchdog.health(),
    begin: () => (since = performance.now()),
    end: () => (since = undefined),
    pass: (ms) => void vi.advanceTimersByTime(ms),
  }
}

test('a loop that gets no answer for many deadlines is reported once', () => {
  const { stuck, begin, pass } = watched()
  begin()
  pass(59_000)
  expect(stuck).toEqual([])
  pass(600_000)
  expect(stuck).toEqual([expect.stringContaining("'sweep' has come to no answer")])
})

test('a loop without an answer for half the limit is a problem in the health report', () => {
  const { problems, begin, end, pass } = watched()
  begin()
  pass(30_000)
  expect(problems()).toEqual([])
  pass(1_000)
  expect(problems()).toEqual(["'sweep' has come to no answer for 31 s"])
  end()
  expect(problems()).toEqual([])
})

test('a loop that rests or ends its turns in time is not reported', () => {
  const { stuck, begin, end, pass } = watched()
  pass(600_000)
  for (let turn = 0; turn < 20; turn++) {
    begin()
    pass(50_000)
    end()
  }
  expect(stuck).toEqual([])
})

test('a pass of many turns has the whole limit for each turn', () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] })
  const stuck: string[] = []
  const never = new Promise<void>(() => undefined)
  const loop = new Loop({ name: 'schedules', everyMs: 1_000, pass: () => never, onTrouble: () => undefined })
  const giveUp = ({ message }: Error): void => void stuck.push(message)
  const watchdog = new Watchdog([{ name: loop.name, since: () => loop.since }], { limitMs: 60_000, giveUp })
  watchdog.start()
  void loop.runOnce()
  for (let turn = 0; turn < 10; turn++) {
    vi.advanceTimersByTime(50_000)
    loop.noteProgress()
  }
  expect(stuck).toEqual([])
  vi.advanceTimersByTime(70_000)
  expect(stuck).toEqual([expect.stringContaining("'schedules' has come to no answer")])
})

test('after the process was stopped, its loops get the whole limit again', () => {
  const { stuck, begin, end, pass } = watched()
  begin()
  // Stopped: the clock went on while nothing in this process ran.
  const later = performance.now() + 600_000
  vi.spyOn(performance, 'now').mockReturnValueOnce(later)
  pass(6_000)
  expect(stuck).toEqual([])
  end()
})
