import { setTimeout as pause } from 'node:timers/promises'
import { isStintError, StintError } from '../../core/errors.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import { classify, DeadlineError } from '../../db/classify.ts'
import { rejected } from '../../db/rejected.ts'
import { isNeverReached } from '../../db/unreachable.ts'

export interface Delivery {
  schema: string
  /** How long to go on trying, in total. */
  timeoutMs: number
  /** The ids of the jobs that the call stores, as far as they are known by then; none for other calls. */
  jobIds?: (() => readonly string[]) | undefined
}

/** The caller's own code threw (a progress callback or an abort), so this is not a failure of the database. */
export class CallerError extends Error {
  constructor(cause: unknown) {
    super("The caller's code threw", { cause })
  }
}

/** Runs the caller's code inside a database call, and marks its errors, so that the call is not tried again. */
export async function callersOwn<Result>(work: () => Result): Promise<Awaited<Result>> {
  try {
    return await work()
  } catch (error) {
    throw new CallerError(error)
  }
}

/** Throws what the caller's code threw. */
export function unwrap(error: unknown): never {
  throw error instanceof CallerError ? error.cause : error
}

/** How long a client without any connection so far keeps trying: a mistake in its settings should be reported soon. */
const firstPatienceMs = 1_500

/**
 * Sends until the answer is known: done, refused, or the time is up.
 *
 * `send` gets `isRepeat`: an earlier try lost its reply, so its work may be committed. An enqueue must then use the same
 * ids and also look for them among finished jobs: a plain insert would run a finished job again.
 */
export async function deliver<Result>(
  { schema, timeoutMs, jobIds = () => [] }: Delivery,
  send: (isRepeat: boolean) => Promise<Result>,
): Promise<Result> {
  const startedAt = performance.now()
  let isRepeat = false
  for (let tries = 1; ; tries++) {
    try {
      return await send(isRepeat)
    } catch (error) {
      if (error instanceof CallerError) throw error.cause
      if (isStintError(error)) throw error
      const trouble = classify(error)
      // Our ids are new, so an id that exists was stored by an earlier try of this call.
      const isOurOwn = trouble === 'duplicate' && jobIds().length > 0
      // A call that lost the answer with its connection asks once more, even after its time is up: an unknown outcome
      // is worse than a late answer.
      const mayAsk = trouble === 'unknown' && !isRepeat && !(error instanceof DeadlineError)
      if (trouble === 'unknown' || isOurOwn) isRepeat = true
      else if (trouble !== 'wait' && !(trouble === 'again' && tries < 5))
        throw rejected(error, schema, jobIds())
      const waitMs = Math.random() * Math.min(2_000, 20 * 2 ** tries)
      const patienceMs = isNeverReached(error) ? Math.min(firstPatienceMs, timeoutMs) : timeoutMs
      if (!mayAsk && performance.now() + waitMs > startedAt + patienceMs)
        throw timedOut(error, isRepeat, jobIds())
      await pause(waitMs)
    }
  }
}

function timedOut(cause: unknown, isUnknown: boolean, jobIds: readonly string[]): StintError {
  if (isUnknown && jobIds.length > 0) {
    return new StintError(
      'enqueue-unknown',
      `The connection broke while the jobs were being stored, so they may or may not be stored: ${messageOf(cause)}. ` +
        'Look for the ids in `jobIds` with get() before enqueueing again, or use an `idempotencyKey`.',
      { cause, jobIds },
    )
  }
  const outcome = isUnknown
    ? 'The change may or may not have been made; check the job.'
    : 'Nothing was changed.'
  const what = isNeverReached(cause) ? 'could not be reached' : 'did not answer in time'
  return new StintError('database-unavailable', `The database ${what}: ${messageOf(cause)}. ${outcome}`, {
    cause,
    jobIds,
  })
}
