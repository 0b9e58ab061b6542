import { setTimeout as pause } from 'node:timers/promises'
import { ambient } from '../../node/ambient.ts'
import type { JobContract } from '../../contracts/contract.ts'
import { isStintError, StintError } from '../../core/errors.ts'
import { classifyFailure } from '../../core/failures/failure.ts'
import type { FailureClass } from '../../core/failures/failure.ts'
import { retryAfterMs } from '../../core/failures/retry-after.ts'
import { decide } from '../../core/failures/retry-policy.ts'
import { cleanText } from '../../core/json/storable.ts'
import { longestMs } from '../../core/options.ts'
import { describeFailure } from '../../core/failures/stored-error.ts'
import type { StoredError } from '../../core/failures/stored-error.ts'
import { verdictOf } from '../../core/failures/verdict.ts'
import { JobContext } from './context.ts'
import type { ContextServices } from './context.ts'
import type { HandlerContext } from './handler-context.ts'
import { isLeaseLost, isOwnTrouble } from './fenced-tx.ts'
import type { Journal } from './steps/journal.ts'
import type { Registered } from '../handlers.ts'
import type { Handlers, Nothing } from '../handlers.ts'
import type { HeldJob } from './held-job.ts'
import { around } from './middleware.ts'
import type { Ending, Outcome } from './outcome.ts'
import { inputOf } from './stored-input.ts'

/**
 * Runs one job to its outcome. Never throws: every failure of a handler is an outcome too. A job that waits ends without its
 * handler, whose promise never settles then.
 */
export function execute(held: HeldJob, handlers: Handlers, services: ContextServices): Promise<Outcome> {
  return new Promise((end, fail) => {
    // It calls back and returns nothing: each further promise is a good part of what an attempt costs.
    void handle(held, handlers, { services, end, fail })
  })
}

interface Attempt {
  services: ContextServices
  /** The first call counts: the journal of a job that waits calls it too, and its handler may never end. */
  end: (outcome: Outcome) => void
  fail: (error: unknown) => void
}

async function handle(held: HeldJob, handlers: Handlers, { services, end, fail }: Attempt): Promise<void> {
  try {
    const registered = handlers.get(held.job.kind)
    const { contract } = registered
    let outcome: Outcome | undefined = endedBefore(held)
    let journal: Journal | undefined
    for (let inPlaceTries = 0; outcome === undefined; inPlaceTries++) {
      // Each try has its own context: children that a failed try enqueued are not stored.
      const ctx = new JobContext(held, services, { end, journal, isBatch: registered.type === 'batch' })
      let hasInput = false
      try {
        const input = await inputOf(held, contract, services)
        hasInput = true
        const value = await ambient.run(ctx, () =>
          around(handlers.middleware, ctx, () => call(registered, input, ctx)),
        )
        outcome = succeeded(ctx, value)
      } catch (thrown) {
        const judged = judge(ctx, { thrown, contract, inPlaceTries, hasInput })
        if (judged.type === 'in-place') {
          journal = ctx.restartedJournal()
          await pause(judged.delayMs)
        } else outcome = judged
      }
    }
    end(outcome)
  } catch (error) {
    fail(error)
  }
}

/** Runs several jobs of one kind in one call, each to its own outcome, in their order. */
export async function executeBatch(
  batch: readonly HeldJob[],
  handlers: Handlers,
  services: ContextServices,
): Promise<Outcome[]> {
  const [first] = batch
  if (first === undefined) return []
  const registered = handlers.get(first.job.kind)
  if (registered.type === 'single') return Promise.all(batch.map((held) => execute(held, handlers, services)))
  const { contract } = registered
  const gathering = new Gathering(batch.length, (jobs) => registered.handler(jobs))
  return Promise.all(
    batch.map(async (held) => {
      const ended = endedBefore(held)
      if (ended !== undefined) {
        gathering.leave()
        return ended
      }
      const ctx = new JobContext(held, services, { isBatch: true })
      const passed = { join: false, input: false }
      try {
        const input = await inputOf(held, contract, services)
        passed.input = true
        const value = await ambient.run(ctx, () =>
          around(handlers.middleware, ctx, () => {
            passed.join = true
            return gathering.join({ input, ctx })
          }),
        )
        if (!passed.join) gathering.leave()
        return succeeded(ctx, value)
      } catch (thrown) {
        if (!passed.join) gathering.leave()
        // A batch is not repeated in place for one of its jobs.
        const judged = judge(ctx, { thrown, contract, inPlaceTries: Infinity, hasInput: passed.input })
        return judged.type === 'in-place' ? released('to be tried again') : judged
      }
    }),
  )
}

/** The ending of a job that must not start at all; undefined if it may start. */
export function endedBefore(held: HeldJob): Ending | undefined {
  const { more } = held.job
  if (more?.isCancelled === true) return cancelled(more.cancelReason)
  return more?.isExpired === true ? expired(held) : undefined
}

/**
 * The ending of a job without its handler: the handler was told to end and did not, or an error of the job was never
 * caught.
 */
export function endedByForce(held: HeldJob, contract: JobContract): Ending {
  return failedWith(held, contract, held.abortReason)
}

/** The ending of a job that failed with this error outside of its handler. */
export function failedWith(held: HeldJob, contract: JobContract, thrown: unknown): Ending {
  // Not tried again in place: its handler may still run, or has returned.
  const judged = decided(held, {
    ...{ thrown, contract, inPlaceTries: Infinity, hasInput: true },
    hasProgress: false,
  })
  return judged.type === 'in-place' ? released('to be tried again') : judged
}

/** Waits until each job of a batch has passed its middleware or dropped out, then calls the handler once. */
class Gathering {
  readonly #call: (jobs: { input: unknown; ctx: HandlerContext }[]) => Promise<readonly unknown[] | Nothing>
  readonly #joined: { input: unknown; ctx: HandlerContext }[] = []
  readonly #results: Promise<readonly unknown[] | Nothing>
  #open: () => void = () => undefined
  #expected: number

  constructor(
    expected: number,
    call: (jobs: { input: unknown; ctx: HandlerContext }[]) => Promise<readonly unknown[] | Nothing>,
  ) {
    this.#expected = expected
    this.#call = call
    const gate = new Promise<void>((resolve) => (this.#open = resolve))
    this.#results = gate.then(() => (this.#joined.length === 0 ? [] : this.#call(this.#joined)))
    this.#results.catch(() => undefined)
  }

  async join(job: { input: unknown; ctx: HandlerContext }): Promise<unknown> {
    const index = this.#joined.push(job) - 1
    this.#arrive()
    const results = await this.#results
    return entryOf(results, { index, jobs: this.#joined.length, kind: job.ctx.kind })
  }

  leave(): void {
    this.#arrive()
  }

  #arrive(): void {
    if (--this.#expected === 0) this.#open()
  }
}

/** The entry of one job in what a batch handler returned. */
function entryOf(
  results: unknown,
  { index, jobs, kind }: { index: number; jobs: number; kind: string },
): unknown {
  if (results === undefined) return undefined
  if (!Array.isArray(results) || results.length !== jobs) {
    throw new StintError(
      'invalid-option',
      `Expected the batch handler of '${kind}' to return nothing or one entry for each of its ${jobs} jobs, got ${Array.isArray(results) ? `${results.length} entries` : typeof results}.`,
    )
  }
  const result: unknown = results[index]
  if (result instanceof Error) throw result
  return result
}

/** Returns what the handler returns, usually a promise. */
function call(registered: Registered, input: unknown, ctx: JobContext): unknown {
  return registered.type === 'single' ? registered.handler(input, ctx) : callWithOne(registered, input, ctx)
}

async function callWithOne(
  { handler }: Extract<Registered, { type: 'batch' }>,
  input: unknown,
  ctx: JobContext,
): Promise<unknown> {
  return entryOf(await handler([{ input, ctx }]), { index: 0, jobs: 1, kind: ctx.kind })
}

function succeeded(ctx: JobContext, value: unknown): Outcome {
  const { completion, children, handedOver } = ctx
  const steps = ctx.endJournal()
  if (completion === 'committed') return { type: 'completed', children }
  if (handedOver === undefined) return { type: 'succeeded', result: ctx.storable(value), children, steps }
  return { type: 'handed-over', children, otherwise: { ...handedOver, type: 'succeeded', children, steps } }
}

interface Failure {
  thrown: unknown
  contract: JobContract
  inPlaceTries: number
  /** The input has passed validation, so a validation error is about something else. */
  hasInput: boolean
  /** The attempt has stored a step: its failure burns no attempt. */
  hasProgress: boolean
}

type Judged = Outcome | { type: 'in-place'; delayMs: number }

/** What happens to a job whose handler threw. */
function judge(ctx: JobContext, failed: Omit<Failure, 'hasProgress'>): Judged {
  const { completion, children, held, hasProgress } = ctx
  const failure = { ...failed, hasProgress }
  ctx.endJournal()
  // The success of the job is stored; what the handler did afterwards cannot undo that.
  if (completion === 'committed') return { type: 'completed', children }
  if (completion === 'none') return decided(held, failure)
  // Not tried again in place: the handler's own transaction may have completed the job.
  const otherwise = decided(held, { ...failure, inPlaceTries: Infinity })
  return otherwise.type === 'in-place' ? otherwise : { type: 'handed-over', children, otherwise }
}

function decided(
  held: HeldJob,
  { thrown, contract, inPlaceTries, hasInput, hasProgress }: Failure,
): Ending | { type: 'in-place'; delayMs: number } {
  const { job } = held
  if (isLeaseLost(thrown)) return released('its lease was lost')
  // A failure of our own statements is never a failure of the handler.
  if (isOwnTrouble(thrown))
    return released('the database did not answer ctx.tx, ctx.once, ctx.limit or a step')
  const now = Date.now()
  const verdict = verdictOf(thrown, now)
  if (verdict === undefined && held.abortedFor === 'shutdown') return released('the worker stopped')
  if (verdict === undefined && held.abortedFor === 'lease') return released('its lease was at risk')
  // No matter what the handler threw after the cancellation: there is no further attempt.
  if (held.abortedFor === 'cancel') return cancelled(cancelReasonOf(held))
  if (isStintError(thrown, 'breaker-open')) return heldByBreaker(thrown)
  const timedOut = held.abortedFor === 'timeout'
  const failureClass =
    verdict?.type === 'permanent' ? 'permanent' : classOf(thrown, { contract, timedOut, hasInput })
  const askedMs = retryAfterMs(thrown, now)
  const isRateLimited = verdict === undefined && failureClass === 'rate-limited'
  const penaltyMs = verdict?.type === 'retry-after' ? verdict.delayMs : isRateLimited ? askedMs : undefined
  const before = job.more?.attemptsBefore ?? 0
  // Progress burns nothing: the next attempt begins behind it. With one attempt in all there is no next one.
  const isForgiven = hasProgress && job.maxAttempts - before > 1
  const decision = decide({
    failureClass,
    verdict,
    retryAfterMs: askedMs,
    attempt: job.attempt - before - (isForgiven ? 1 : 0),
    maxAttempts: job.maxAttempts - before,
    classFailures: job.more?.failures ?? {},
    inPlaceTries,
    rules: contract.retry.rules,
    backoff: contract.retry.backoff,
    error: thrown,
    random: Math.random,
  })
  switch (decision.type) {
    case 'in-place':
      return decision
    case 'snooze':
      return { type: 'snoozed', delayMs: decision.delayMs, reason: decision.reason }
    case 'cancel':
      return { type: 'cancelled', reason: decision.reason }
    case 'retry': {
      const { delayMs } = decision
      const burnsAttempt = decision.burnsAttempt && !isForgiven
      return {
        type: 'retry',
        delayMs,
        burnsAttempt,
        error: described(thrown, {
          kind: job.kind,
          failureClass,
          timeout: timedOut ? held.abortReason : undefined,
        }),
        timedOut,
        penaltyMs,
      }
    }
    case 'dead':
      return {
        type: 'dead',
        reason: decision.reason,
        error: described(thrown, {
          kind: job.kind,
          failureClass,
          timeout: timedOut ? held.abortReason : undefined,
        }),
        timedOut,
        penaltyMs,
      }
  }
}

function classOf(
  thrown: unknown,
  { contract, timedOut, hasInput }: { contract: JobContract; timedOut: boolean; hasInput: boolean },
): FailureClass {
  if (timedOut) return 'timeout'
  const found = classifyFailure(thrown, contract.retry.classify)
  // A handler that enqueues invalid input has a bug; that is no reason to give up on its own job.
  const isOthersInput = hasInput && isStintError(thrown) && (found === 'invalid' || found === 'contract')
  return isOthersInput ? 'unknown' : found
}

/** If an attempt ran out of time, the timeout is the error, and what the handler threw after the abort is its cause. */
function described(
  thrown: unknown,
  { kind, failureClass, timeout }: { kind: string; failureClass: FailureClass; timeout: unknown },
): StoredError {
  const isTimeout = timeout instanceof Error && thrown !== timeout
  const error = isTimeout ? new StintError('attempt-timeout', timeout.message, { cause: thrown }) : thrown
  return describeFailure(error, { kind, failureClass })
}

function expired(held: HeldJob): Ending {
  const { job } = held
  const error = new StintError(
    'attempt-timeout',
    `Its deadline had passed before attempt ${job.attempt} could start.`,
  )
  return {
    type: 'dead',
    reason: 'expired',
    error: describeFailure(error, { kind: job.kind, failureClass: 'timeout' }),
    timedOut: false,
  }
}

function cancelled(reason: string | null): Ending {
  return { type: 'cancelled', reason: reason ?? 'it was asked to stop' }
}

function cancelReasonOf({ abortReason }: HeldJob): string | null {
  return abortReason instanceof CancelledError ? abortReason.reason : null
}

/** The reason of `ctx.signal` when a caller cancelled the job. */
export class CancelledError extends Error {
  readonly reason: string | null

  constructor(reason: string | null) {
    super(`The job was cancelled${reason === null ? '' : `: ${reason}`}`)
    this.name = 'AbortError'
    this.reason = reason
  }
}

/** Comes back when the breaker may be probed, up to a tenth later: not all its jobs at once. */
function heldByBreaker({ message, retryAfterMs }: StintError): Ending {
  const waitMs = typeof retryAfterMs === 'number' && retryAfterMs > 0 ? retryAfterMs : 1_000
  const delayMs = Math.min(waitMs, longestMs) * (1 + 0.1 * Math.random())
  return { type: 'snoozed', delayMs, reason: cleanText(message, 500) }
}

function released(reason: string): Ending {
  return { type: 'released', reason }
}
