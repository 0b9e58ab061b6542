import { expect, test } from 'vitest'
import { spread } from './canary.ts'
import type { Candidate } from './canary.ts'

function candidates(count: number, of: (n: number) => Partial<Candidate>): Candidate[] {
  return Array.from({ length: count }, (_, n) => ({ id: String(n), kind: 'mail.send', key: null, ...of(n) }))
}

function keysOf(chosen: readonly string[], of: readonly Candidate[]): (string | null)[] {
  return chosen.map((id) => of[Number(id)]?.key ?? null)
}

test('a canary has a job of every stretch of time', () => {
  const chosen = spread(
    candidates(200, () => ({})),
    10,
  ).map(Number)
  expect(chosen).toHaveLength(10)
  expect(chosen.map((place) => Math.floor(place / 20))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('a canary has many keys, even if most jobs have the same key', () => {
  const many = candidates(200, (n) => ({ key: n % 10 === 9 ? `small-${n}` : 'large' }))
  const keys = keysOf(spread(many, 10), many)
  expect(new Set(keys).size).toBe(10)
  expect(keys.filter((key) => key === 'large')).toHaveLength(1)
})

test('a canary has all keys in turn where there are fewer keys than jobs in it', () => {
  const many = candidates(200, (n) => ({ key: `key-${n % 3}` }))
  const keys = keysOf(spread(many, 9), many)
  for (const key of ['key-0', 'key-1', 'key-2']) expect(keys.filter((one) => one === key)).toHaveLength(3)
})

test('a canary has the few jobs of a rare kind among many of another', () => {
  const many = candidates(200, (n) => ({ kind: n > 150 && n % 2 === 0 ? 'mail.rare' : 'mail.send' }))
  const kinds = spread(many, 10).map((id) => many[Number(id)]?.kind)
  expect(kinds).toContain('mail.rare')
  expect(kinds).toContain('mail.send')
})

test('a canary has no more jobs than there are, and none twice', () => {
  expect(
    spread(
      candidates(3, () => ({})),
      10,
    ),
  ).toEqual(['0', '1', '2'])
  expect(spread([], 10)).toEqual([])
  const chosen = spread(
    candidates(1_234, (n) => ({ key: `key-${n % 7}` })),
    1_000,
  )
  expect(new Set(chosen).size).toBe(1_000)
})
