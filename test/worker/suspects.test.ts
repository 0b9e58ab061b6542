import { expect, test } from 'vitest'
import type { HeldJob } from '../../src/worker/attempt/held-job.ts'
import type { QueuePool } from '../../src/worker/claim/queue-pool.ts'
import { Suspects } from '../../src/worker/claim/suspects.ts'

/** Who is suspected matters to nobody here. */
const suspect = () => ({ pool: {} as QueuePool, held: {} as HeldJob })
const minute = 60_000

test('a suspect has others wait for it, for a while', () => {
  const suspects = new Suspects()
  const one = suspect()
  suspects.add(one)
  expect(suspects.holdsOthers(0)).toBe(true)
  expect(suspects.next({ hasOthers: true, now: 0 })).toBe(undefined)
  expect(suspects.next({ hasOthers: true, now: minute })).toBe(one)
})

test('a suspect is waited for anew where those before it were taken back', () => {
  const suspects = new Suspects()
  suspects.add(suspect())
  suspects.holdsOthers(0)
  suspects.takeWhere(() => true)
  expect(suspects.holdsOthers(minute)).toBe(false)
  suspects.add(suspect())
  expect(suspects.holdsOthers(minute)).toBe(true)
  expect(suspects.next({ hasOthers: true, now: minute })).toBe(undefined)
})
