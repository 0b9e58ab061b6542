import type { Duration } from '../duration.ts'
import { durationOption, invalidOption, longestMs } from '../options.ts'
import { cleanText } from '../json/storable.ts'
import { peek } from './thrown.ts'

/** What a handler decided about its own job by what it threw. */
export type Verdict =
  | { type: 'permanent' }
  | { type: 'retry-after'; delayMs: number }
  | { type: 'snooze'; delayMs: number; reason: string | null }
  | { type: 'cancel'; reason: string }

/** A brand and not `instanceof`, which fails across two copies of the package. */
const brand = Symbol.for('stint.verdict')

/** A duration counts from when the verdict is read, a Date is a moment. */
type When = { type: 'delay'; ms: number } | { type: 'moment'; ms: number }

type Branded =
  | { type: 'permanent' }
  | { type: 'retry-after'; when: When }
  | { type: 'snooze'; when: When; reason: string | null }
  | { type: 'cancel'; reason: string }

/** A retry would not help: the job goes to the dead letters at once, even if it has attempts left. */
export class PermanentError extends Error {
  readonly [brand]: Branded

  constructor(message: string, { cause }: { cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'PermanentError'
    this[brand] = Object.freeze({ type: 'permanent' })
  }
}

/** The attempt failed, and this is when to try again. It counts as a failed attempt. */
export class RetryAfter extends Error {
  readonly [brand]: Branded

  constructor(when: Duration | Date, message = `Retry ${showWhen(when)}`) {
    super(message)
    this.name = 'RetryAfter'
    this[brand] = Object.freeze({ type: 'retry-after', when: checkWhen(when) })
  }
}

/**
 * Not now: the job comes back later, and no attempt is burned. A moment that has passed means in a second: a job
 * that snoozes until yesterday must not spin.
 */
export class Snooze extends Error {
  readonly [brand]: Branded

  constructor(when: Duration | Date, reason?: string) {
    super(reason ?? `Snooze ${showWhen(when)}`)
    this.name = 'Snooze'
    this[brand] = Object.freeze({ type: 'snooze', when: checkWhen(when, 1), reason: reason ?? null })
  }
}

/** The job is not wanted any more: it ends as cancelled. */
export class CancelJob extends Error {
  readonly [brand]: Branded

  constructor(reason: string) {
    super(reason)
    this.name = 'CancelJob'
    // `message` is always text, because Error converts it: a reason of another type must not change the verdict.
    this[brand] = Object.freeze({ type: 'cancel', reason: this.message })
  }
}

function checkWhen(when: unknown, minMs = 0): When {
  if (!(when instanceof Date)) return { type: 'delay', ms: durationOption('when', when, { minMs }) }
  if (Number.isNaN(when.getTime())) throw invalidOption('when', 'a valid Date or a duration', when)
  return { type: 'moment', ms: when.getTime() }
}

/** For a message, before `when` is checked. Never throws, for any value. */
function showWhen(when: unknown): string {
  if (when instanceof Date) return Number.isNaN(when.getTime()) ? 'later' : `at ${when.toISOString()}`
  return typeof when === 'number' ? `in ${when} ms` : typeof when === 'string' ? `in ${when}` : 'later'
}

/** The same limit as for the reason of `cancel()`. */
const maxReasonBytes = 1_024
const leastSnoozeMs = 1_000

/** The verdict of a thrown value, if it has one. Never throws; a malformed brand is ignored. */
export function verdictOf(thrown: unknown, nowMs: number): Verdict | undefined {
  const branded = peek(thrown, brand)
  const type = peek(branded, 'type')
  if (type === 'permanent') return { type }
  const reason = peek(branded, 'reason')
  if (type === 'cancel') {
    return typeof reason === 'string' ? { type, reason: cleanText(reason, maxReasonBytes) } : undefined
  }
  if (type !== 'retry-after' && type !== 'snooze') return undefined
  const when = peek(branded, 'when')
  const delayMs = delayUntil(when, nowMs)
  if (delayMs === undefined) return undefined
  if (type === 'retry-after') return { type, delayMs }
  return {
    type,
    delayMs: peek(when, 'type') === 'moment' ? Math.max(leastSnoozeMs, delayMs) : delayMs,
    reason: typeof reason === 'string' ? cleanText(reason, maxReasonBytes) : null,
  }
}

function delayUntil(when: unknown, nowMs: number): number | undefined {
  const ms = peek(when, 'ms')
  if (typeof ms !== 'number' || Number.isNaN(ms)) return undefined
  const delayMs = peek(when, 'type') === 'moment' ? ms - nowMs : ms
  return Math.min(Math.max(0, Math.round(delayMs)), longestMs)
}
