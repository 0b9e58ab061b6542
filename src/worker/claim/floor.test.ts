import { expect, test } from 'vitest'
import { Floors } from './floor.ts'
import type { Level } from './floor.ts'

const ids = { first: '00000000-0000-7000-8000-000000000001', second: '00000000-0000-7000-8000-000000000002' }
const now = { runAt: '2026-01-01 00:00:00', id: ids.first }

/** Takes the next level as a claim does, and answers it with a job or with nothing. */
function ask(floors: Floors, found: (level: Level) => boolean): number | undefined {
  const level = floors.next(0, Infinity)
  if (level === undefined) return undefined
  const { hints, priority } = level
  const isFound = found(level)
  floors.claimed(level, isFound ? now : undefined, { isFull: isFound, hints })
  return priority
}

test('hints alone make a bounded number of levels known, and further hints ask for a survey', () => {
  const floors = new Floors()
  const believed = Array.from({ length: 201 }, (_, n) => floors.hint(n - 100))
  expect(believed.filter((one) => one)).toHaveLength(16)
  let claims = 0
  while (ask(floors, () => false) !== undefined) claims++
  expect(claims).toBe(16)
  // All of them had no jobs, so they are forgotten, and new hints are believed again.
  expect(floors.snapshot().size).toBe(0)
  expect(floors.hint(50)).toBe(true)
})

test('levels that keep getting hints take turns with the level that has jobs', () => {
  const floors = new Floors()
  floors.lower(0, now)
  const asked: (number | undefined)[] = []
  for (let claim = 0; claim < 340; claim++) {
    for (let priority = 1; priority <= 100; priority++) floors.hint(priority)
    asked.push(ask(floors, ({ priority }) => priority === 0))
  }
  expect(asked.filter((priority) => priority === 0)).toHaveLength(20)
})

test('a higher priority goes first whenever its hint is true', () => {
  const floors = new Floors()
  floors.lower(0, now)
  expect(ask(floors, () => true)).toBe(0)
  floors.hint(10)
  expect(ask(floors, () => true)).toBe(10)
  expect(ask(floors, () => false)).toBe(10)
  expect(ask(floors, () => true)).toBe(0)
  floors.hint(10)
  expect(ask(floors, () => true)).toBe(10)
})

test('rows of many priorities make a bounded number of levels known', () => {
  const floors = new Floors()
  for (let priority = -32_768; priority < 32_768; priority += 8) floors.lower(priority, now)
  expect(floors.snapshot().size).toBe(512)
})

test.each(['infinity', '294276-12-31 00:00:00', '10000-01-01 00:00:00', '2999-01-01 00:00:00'])(
  'a job due at %s does not raise the floor past all other jobs',
  (runAt) => {
    const floors = new Floors()
    floors.lower(0, { runAt, id: ids.second })
    const level = floors.next(0, Infinity)
    if (level !== undefined)
      floors.claimed(level, { runAt, id: ids.second }, { isFull: false, hints: level.hints })
    const before = floors.snapshot().get(0)
    floors.found(0, now, { since: 0, before })
    expect(floors.snapshot().get(0)?.floor.runAt).not.toBe(runAt)
  },
)
