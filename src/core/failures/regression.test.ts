import { describe, expect, test } from 'vitest'
import { compareVersions, isRegression } from './regression.ts'

const resolvedAt = 1_000
const since = { resolvedAt, lastAt: 2_000, versionFirstAt: 100 }

describe('an error that was resolved', () => {
  test.each([
    ['in the version that was to have the repair', 'v215', 'v215', true],
    ['in a newer one', 'v216', 'v215', true],
    ['in a newer one by number, not by letter', '1.10.0', '1.9.3', true],
    ['in an older one', 'v214', 'v215', false],
    ['where no repaired version was given', 'v214', null, true],
    ['where the app says none', null, 'v215', true],
    ['in a hash that failed before', 'a1b2c3d', 'ffee001', false],
  ] as const)('seen %s', (_, version, resolvedIn, is) => {
    expect(isRegression({ ...since, version, resolvedIn })).toBe(is)
  })

  test('is back when a version fails that cannot be compared and never failed so before', () => {
    expect(isRegression({ ...since, version: 'a1b2', resolvedIn: 'ffee', versionFirstAt: 1_500 })).toBe(true)
  })

  test('is not back by a failure from before', () => {
    expect(isRegression({ ...since, lastAt: 999, version: 'v215', resolvedIn: 'v215' })).toBe(false)
  })
})

test('versions are compared number by number, or not at all', () => {
  expect(compareVersions('2026.11.16', '2026.11.2')).toBeGreaterThan(0)
  expect(compareVersions('v2', '2.0.0')).toBe(0)
  expect(compareVersions('1.0.0-beta', '1.0.0')).toBeUndefined()
})
