import { attemptsOption, checkBackoff } from '../../../contracts/retry.ts'
import type { Duration } from '../../../core/duration.ts'
import type { Backoff } from '../../../core/failures/backoff.ts'
import { durationOption, invalidOption, rejectUnknown } from '../../../core/options.ts'

/** What a step knows about itself. */
export interface StepContext {
  readonly name: string
  /** 1 the first time. */
  readonly attempt: number
  /** Aborts with the job's signal, and at the step's own timeout. Pass it on. */
  readonly signal: AbortSignal
  /** The same for every try of this step of this job; pass it to services that accept an idempotency key. */
  readonly idempotencyKey: string
}

export interface StepOptions {
  /** How often this step is tried within the job, and the pauses between. A pause above 10 s leaves the slot. @default once */
  retry?: { attempts?: number | undefined; backoff?: Backoff | undefined } | undefined
  /** How long one try may take; the job's own timeout counts from the last record in any case. */
  timeout?: Duration | undefined
}

export interface EachOptions {
  /** Items of one call; 1 to 10,000. @default 100 */
  batch?: number | undefined
}

/** Items in pages: called with null first, then with the `next` of the page before, until that is null. */
export type Pages<Item> = (cursor: string | null) => Promise<{ items: readonly Item[]; next: string | null }>

export interface WaitOptions {
  /** Wait no longer than this; without it, for ten years. */
  timeout?: Duration | undefined
  /** The payload must contain these members. */
  match?: object | undefined
}

/** A signal that came. */
export interface ReceivedSignal<Payload> {
  readonly timedOut: false
  readonly payload: Payload
  readonly id: string
  readonly by: string | null
  /** ISO 8601. */
  readonly sentAt: string
}

/** A wait whose time was over. */
export interface TimedOut {
  readonly timedOut: true
}

const namePattern = /^[A-Za-z0-9_][A-Za-z0-9_.:/% -]{0,127}$/

export function resolveStep({ retry = {}, timeout, ...rest }: StepOptions) {
  rejectUnknown('ctx.step()', rest, ['retry', 'timeout'])
  const { attempts = 1, backoff = ['1s', '5s', '10s'], ...more } = retry
  rejectUnknown('retry', more, ['attempts', 'backoff'], 'retry.')
  checkBackoff('retry.backoff', backoff)
  return {
    attempts: attemptsOption('retry.attempts', attempts),
    backoff,
    timeoutMs: timeout === undefined ? undefined : durationOption('timeout', timeout, { minMs: 1 }),
  }
}

export function untilOf(span: Duration | Date): { untilMs?: number; untilAt?: string } {
  if (!(span instanceof Date)) return { untilMs: durationOption('span', span) }
  if (Number.isNaN(span.getTime())) throw invalidOption('span', 'a valid Date or a duration', span)
  return { untilAt: span.toISOString() }
}

export function stepName(name: unknown): string {
  if (typeof name === 'string' && namePattern.test(name)) return name
  throw invalidOption(
    'name',
    'a name of 1 to 128 letters, digits, spaces and _ . : / % - (first a letter, digit or _)',
    name,
  )
}
