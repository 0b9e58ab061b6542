import { expect, test } from 'vitest'
import { isUuid } from '../../core/uuid.ts'
import { nextId } from './ids.ts'

test('ids are UUIDv7 that grow strictly, however many are made at once', () => {
  const before = Date.now()
  const ids = Array.from({ length: 50_000 }, nextId)
  expect(ids.every(isUuid)).toBe(true)
  expect(ids.every((id) => id[14] === '7' && '89ab'.includes(id[19] ?? ''))).toBe(true)
  expect(new Set(ids).size).toBe(ids.length)
  expect([...ids].sort()).toEqual(ids)
  const [first = ''] = ids
  expect(Number.parseInt(first.slice(0, 8) + first.slice(9, 13), 16)).toBeGreaterThanOrEqual(before)
})
