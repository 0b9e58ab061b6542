import { expect, test } from 'vitest'
import { toClosed } from '../../jobs/claim.ts'
import { Closing } from './closing.ts'

const newClosing = (): Closing => new Closing({ reopen: () => undefined }, 1_000)
const full = toClosed({ isFull: true })

test('a full limit holds claims back until the next poll, or the end of a job', () => {
  const closing = newClosing()
  closing.answered(full, { sentAt: 10, now: 20 })
  expect(closing.until).toBe(1_020)
  closing.reopen(30)
  expect(closing.until).toBe(0)
})

test('a job that ended while a claim was under way is not missed', () => {
  const closing = newClosing()
  closing.reopen(15)
  closing.answered(full, { sentAt: 10, now: 20 })
  expect(closing.until).toBe(0)
  closing.answered(full, { sentAt: 21, now: 25 })
  expect(closing.until).toBe(1_025)
})

test('the end of a job brings no tokens, a changed rule may', () => {
  const closing = newClosing()
  const dry = toClosed({ isFull: true, isOnlyRate: true, waitMs: 50 })
  closing.reopen(15)
  closing.answered(dry, { sentAt: 10, now: 20 })
  closing.reopen(30)
  expect(closing.until).toBe(70)
  closing.ruleChanged(40)
  expect(closing.until).toBe(0)
})
