import { setTimeout as pause } from 'node:timers/promises'
import { isStintError, StintError } from '../core/errors.ts'
import { classify, isSchemaMissing } from '../db/classify.ts'

export interface Delivery {
  jobIds: readonly string[]
  schema: string
  /** How long to go on trying, in all. */
  timeoutMs: number
}

/** Something of the caller's threw in between, a progress callback or an abort: not the database's doing. */
export class CallerError extends Error {
  constructor(cause: unknown) {
    super('The caller stopped it', { cause })
  }
}

/**
 * Sends until the answer is known: stored, refused, or the time is up.
 *
 * `send` is told whether an earlier try may have been stored although its reply was lost. It must then store with
 * the same ids, and look for them where finished jobs are: inserting alone would run an already finished job again.
 */
export async function deliver<Result>(
  { jobIds, schema, timeoutMs }: Delivery,
  send: (isRepeat: boolean) => Promise<Result>,
): Promise<Result> {
  const giveUpAt = performance.now() + timeoutMs
  let isRepeat = false
  for (let tries = 1; ; tries++) {
    try {
      return await send(isRepeat)
    } catch (error) {
      if (error instanceof CallerError) throw error.cause
      if (isStintError(error)) throw error
      const trouble = classify(error)
      // Our ids are new: one that is there already was stored by a try of ours.
      if (trouble === 'unknown' || trouble === 'duplicate') isRepeat = true
      else if (trouble !== 'wait' && !(trouble === 'again' && tries < 5))
        throw rejected(error, schema, jobIds)
      const waitMs = Math.random() * Math.min(2_000, 20 * 2 ** tries)
      if (performance.now() + waitMs > giveUpAt) throw timedOut(error, isRepeat, jobIds)
      await pause(waitMs)
    }
  }
}

function timedOut(cause: unknown, isUnknown: boolean, jobIds: readonly string[]): StintError {
  const message = cause instanceof Error ? cause.message : String(cause)
  if (!isUnknown) {
    return new StintError(
      'database-unavailable',
      `The database could not be reached in time: ${message}. Nothing was stored.`,
      {
        cause,
        jobIds,
      },
    )
  }
  return new StintError(
    'enqueue-unknown',
    `The connection broke while storing, and it is not known whether it was: ${message}. ` +
      'Look for the ids in `jobIds` with get() before enqueueing again, or use an `idempotencyKey`.',
    { cause, jobIds },
  )
}

/** The server said no, and will say it again. */
export function rejected(cause: unknown, schema: string, jobIds: readonly string[] = []): StintError {
  const message = cause instanceof Error ? cause.message : String(cause)
  if (isSchemaMissing(cause)) {
    return new StintError(
      'schema-missing',
      `The schema '${schema}' is missing or incomplete (${message}): run \`stint migrate\` or \`await stint.migrate()\`.`,
      { cause, jobIds },
    )
  }
  if (classify(cause) === 'value') {
    return new StintError(
      'invalid-input',
      `The database cannot store this value: ${message}. Nothing was stored.`,
      {
        cause,
        jobIds,
        issues: [{ path: 'input', message: 'cannot be stored by the database' }],
      },
    )
  }
  return new StintError('database-rejected', `The database refused the call: ${message}.`, { cause, jobIds })
}
