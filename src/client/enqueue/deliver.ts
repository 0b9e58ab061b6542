import { setTimeout as pause } from 'node:timers/promises'
import { isStintError, StintError } from '../../core/errors.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import { classify, constraintOf, DeadlineError, isSchemaMissing } from '../../db/classify.ts'
import { isNeverReached } from '../../db/unreachable.ts'

export interface Delivery {
  schema: string
  /** How long to go on trying, in all. */
  timeoutMs: number
  /** The jobs that are being stored, as far as they are known when it is asked; none for other calls. */
  jobIds?: (() => readonly string[]) | undefined
}

/** The caller's own code threw in between, a progress callback or an abort: the database is not at fault. */
export class CallerError extends Error {
  constructor(cause: unknown) {
    super('The caller stopped it', { cause })
  }
}

/** For a client that never had a connection: a mistake in its settings should be reported soon. */
const firstPatienceMs = 1_500

/**
 * Sends until the answer is known: done, refused, or the time is up.
 *
 * `send` is told whether an earlier try may have been done although its reply was lost. An enqueue must then store
 * with the same ids, and look for them where finished jobs are: inserting alone would run an already finished job
 * again.
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
      // Our ids are new: one that is there already was stored by a try of ours.
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

/** The server said no, and will say it again. */
export function rejected(cause: unknown, schema: string, jobIds: readonly string[] = []): StintError {
  const message = messageOf(cause)
  if (isSchemaMissing(cause)) {
    return new StintError(
      'schema-missing',
      `The schema '${schema}' is missing or incomplete (${message}): run \`stint migrate\` or \`await stint.migrate()\`.`,
      { cause, jobIds },
    )
  }
  switch (classify(cause)) {
    case 'value':
      return new StintError(
        'invalid-input',
        `The database cannot store this value: ${message}. It was not stored.`,
        {
          cause,
          jobIds,
          issues: [{ path: constraintOf(cause) ?? 'input', message: 'cannot be stored by the database' }],
        },
      )
    case 'duplicate':
      return new StintError('duplicate-job', 'Another job already holds the unique key of this job.', {
        cause,
        jobIds,
      })
    case 'again':
    case 'unknown':
    case 'wait':
    case 'partition':
    case 'broken':
    case 'corrupt':
      return new StintError('database-rejected', `The database rejected the call: ${message}.`, {
        cause,
        jobIds,
      })
  }
}
