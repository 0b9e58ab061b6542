import { expect, test } from 'vitest'
import type { HeldJob } from '../../src/worker/attempt/held-job.ts'
import type { QueuePool } from '../../src/worker/claim/queue-pool.ts'
import { Suspects } from '../../src/worker/claim/suspects.ts'

/** These tests do not depend on which job is the suspect. */
const suspect = () => ({ pool: {} as QueuePool, held: {} as HeldJob })
const minute = 60_000

test('other jobs wait for a suspect, for a limited time', () => {
  const suspects = new Suspects()
  const one = suspect()
  suspects.add(one)
  expect(suspects.holdsOthers(0)).toBe(true)
  expect(suspects.next({ hasOthers: true, now: 0 })).toBe(undefined)
  expect(suspects.next({ hasOthers: true, now: minute })).toBe(one)
})

test('the limit counts anew for a suspect that comes after the earlier ones were taken back', () => {
  const suspects = new Suspects()
  suspects.add(suspect())
  suspects.holdsOthers(0)
  suspects.takeWhere(() => true)
  expect(suspects.holdsOthers(minute)).toBe(false)
  suspects.add(suspect())
  expect(suspects.holdsOthers(minute)).toBe(true)
  expect(suspects.next({ hasOthers: true, now: minute })).toBe(undefined)
})
