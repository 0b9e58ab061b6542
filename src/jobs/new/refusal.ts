import { isStintError, StintError } from '../../core/errors.ts'
import type { Placed } from '../enqueue.ts'

/** The error for a job that was not stored because of another job; undefined if that is no error. */
export function refusalOf({ kind }: { kind: string }, { id, placement }: Placed): StintError | undefined {
  switch (placement) {
    case 'conflict':
      return new StintError(
        'duplicate-job',
        `Job ${id} of '${kind}' already holds this unique key, and onConflict is 'error'.`,
        { jobIds: [id] },
      )
    case 'mismatch':
      return new StintError(
        'idempotency-conflict',
        `The idempotency key was already used with another input, by job ${id} of '${kind}'. Use a new key for a new input.`,
        { jobIds: [id] },
      )
    case 'stored':
    case 'kept':
    case 'replaced':
      return undefined
  }
}

export function isRefusal(error: unknown): error is StintError {
  return isStintError(error, 'duplicate-job') || isStintError(error, 'idempotency-conflict')
}
