import { describe, expect, test } from 'vitest'
import { compareVersions, isRegression } from './regression.ts'

const resolvedAt = 1_000
const since = { resolvedAt, lastAt: 2_000, versionFirstAt: 100 }

describe('an error that was resolved', () => {
  test.each([
    ['in the version that has the fix', 'v215', 'v215', true],
    ['in a newer version', 'v216', 'v215', true],
    ['in a version newer by number, not by letter', '1.10.0', '1.9.3', true],
    ['in an older version', 'v214', 'v215', false],
    ['without a version of the fix', 'v214', null, true],
    ['in an app without a version', null, 'v215', true],
    ['in a commit hash that failed before', 'a1b2c3d', 'ffee001', false],
  ] as const)(
    'a resolved error seen %s (%s, resolved in %s) has regressed: %s',
    (_, version, resolvedIn, is) => {
      expect(isRegression({ ...since, version, resolvedIn })).toBe(is)
    },
  )

  test('a resolved error has regressed when it is seen in an incomparable version that never failed so before', () => {
    expect(isRegression({ ...since, version: 'a1b2', resolvedIn: 'ffee', versionFirstAt: 1_500 })).toBe(true)
  })

  test('a failure from before the decision does not reopen a resolved error', () => {
    expect(isRegression({ ...since, lastAt: 999, version: 'v215', resolvedIn: 'v215' })).toBe(false)
  })
})

test('versions are compared number by number, or not at all', () => {
  expect(compareVersions('2026.11.16', '2026.11.2')).toBeGreaterThan(0)
  expect(compareVersions('v2', '2.0.0')).toBe(0)
  expect(compareVersions('1.0.0-beta', '1.0.0')).toBeUndefined()
})
