import { isError, peek } from './failures/thrown.ts'

/** Every error that Stint throws carries one of these; docs/reference/errors.md has a heading for each. */
export const errorCodes = [
  'invalid-option',
  'invalid-input',
  'duplicate-job',
  'idempotency-conflict',
  'queue-full',
  'queue-closed',
  'job-not-found',
  'job-dead',
  'job-cancelled',
  'result-timeout',
  'error-group-not-found',
  'schedule-not-found',
  'limit-not-found',
  'breaker-not-found',
  'breaker-open',
  'operation-not-found',
  'flow-not-found',
  'flow-ended',
  'workers-too-old',
  'rate-limited',
  'worker-not-found',
  'too-many-matches',
  'state-changed',
  'enqueue-unknown',
  'database-unavailable',
  'database-rejected',
  'no-database',
  'schema-missing',
  'schema-too-new',
  'schema-unknown',
  'migration-failed',
  'blob-missing',
  'contract-mismatch',
  'client-closed',
  'lease-lost',
  'attempt-timeout',
  'job-crashed',
  'invalid-row',
  'worker-stuck',
  'isolation-failed',
  'job-completed',
  'job-ended',
  'too-many-signals',
  'invalid-step-result',
  'step-too-large',
  'too-many-steps',
  'child-dead',
  'child-cancelled',
  'results-too-large',
  'spawn-too-deep',
  'next-called-twice',
  'worker-stopped',
  'unknown-handler',
  'webhook-refused',
  'webhook-failed',
  'not-external',
  'embedded-unsupported',
  'embedded-refused',
  'embedded-failed',
  'drain-timeout',
] as const

export type ErrorCode = (typeof errorCodes)[number]

/** One thing wrong with a value: where it is, and what is wrong with it. */
export interface Issue {
  /** Where: `input.items[3].width` or `options.runAt`. */
  path: string
  message: string
}

export interface ErrorDetails {
  cause?: unknown
  /** Each problem of the value, for `invalid-input` and `invalid-option`. */
  issues?: readonly Issue[] | undefined
  /** The job or jobs it is about, if any. */
  jobIds?: readonly string[] | undefined
  /** The current state, if another one was expected. */
  current?: unknown
  /** When another try may help. */
  retryAfterMs?: number | undefined
}

/** The one error class of Stint. `code` says what happened, the message what to do about it. */
export class StintError extends Error {
  readonly code: ErrorCode
  readonly issues: readonly Issue[]
  readonly jobIds: readonly string[]
  /** The current state, if another one was expected: a job, or the depth of a queue. */
  readonly current: unknown
  /** When another try may help; undefined where that is not known. */
  readonly retryAfterMs: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    { cause, issues = [], jobIds = [], current, retryAfterMs }: ErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'StintError'
    this.code = code
    this.issues = issues
    this.jobIds = jobIds
    this.current = current
    this.retryAfterMs = retryAfterMs
  }
}

/** Known by name and code, because `instanceof` fails across two copies of a package. Never throws. */
export function isStintError(error: unknown, code?: ErrorCode): error is StintError {
  if (!isError(error) || peek(error, 'name') !== 'StintError') return false
  const own = peek(error, 'code')
  return code === undefined ? typeof own === 'string' : own === code
}
