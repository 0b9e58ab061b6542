import type { ErrorCode, Issue, StintError } from '../../core/errors.ts'
import { isStintError } from '../../core/errors.ts'
import { isPastLimit } from '../../db/classify.ts'
import type { Problem } from '../api/common.ts'

/** One error in a request: its place as a JSON Pointer, and a message. */
export interface PointedError {
  pointer: string
  message: string
}

export interface ProblemOptions {
  status: number
  /** The last part of its type: `urn:stint:problem:<code>`. */
  code: string
  title: string
  detail: string
  /** The next step, where there is one. */
  hint?: string | undefined
  errors?: readonly PointedError[] | undefined
  /** The current state, if the request expected another one. The code that throws the problem redacts it. */
  current?: unknown
  headers?: Readonly<Record<string, string>> | undefined
}

/** A failure as problem details (RFC 9457). Routes and the code below them throw it; the app answers it. */
export class HttpProblem extends Error {
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
  readonly hint: string | undefined
  readonly errors: readonly PointedError[] | undefined
  readonly current: unknown
  readonly headers: Readonly<Record<string, string>>

  constructor({ status, code, title, detail, hint, errors, current, headers = {} }: ProblemOptions) {
    super(detail)
    this.name = 'HttpProblem'
    this.status = status
    this.code = code
    this.title = title
    this.detail = detail
    this.hint = hint
    this.errors = errors
    this.current = current
    this.headers = headers
  }
}

/** The response for a problem. It contains only the fields of the problem: no stack, no SQL, no input. */
export function problemResponse(
  problem: HttpProblem,
  { instance, requestId }: { instance: string; requestId: string },
): Response {
  const { status, code, title, detail, hint, errors, current } = problem
  const body: Problem = {
    type: `urn:stint:problem:${code}`,
    title,
    status,
    detail,
    instance,
    ...(hint === undefined ? {} : { hint }),
    ...(errors === undefined ? {} : { errors: [...errors] }),
    ...(current === undefined ? {} : { current }),
    requestId,
  }
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      ...problem.headers,
    },
  })
}

/** Turns any thrown value into a problem that reveals nothing internal. */
export function toProblem(thrown: unknown): HttpProblem {
  if (thrown instanceof HttpProblem) return thrown
  if (isStintError(thrown)) return ofStintError(thrown)
  return internal()
}

export function internal(): HttpProblem {
  return new HttpProblem({
    status: 500,
    code: 'internal',
    title: 'The console failed',
    detail:
      'The console could not answer this request because of an error of its own. The request was valid.',
    hint: 'Search the log of the console for the request id.',
  })
}

/** A limit of the console is reached. It refuses at once, so that requests do not pile up. */
export function busy(): HttpProblem {
  return new HttpProblem({
    status: 503,
    code: 'busy',
    title: 'The console is busy',
    detail:
      'The console limits its connections and query times, so that it never slows the queue. This request exceeded a limit.',
    hint: 'Try again in a moment, or use a narrower filter.',
    headers: { 'Retry-After': '2' },
  })
}

interface Known {
  status: number
  title: string
  /** Replaces the error's own message if that may quote the database or a value. */
  detail?: string
  hint?: string
  headers?: Readonly<Record<string, string>>
}

const soon = { 'Retry-After': '2' }

/** Every error code of Stint. A code that no request can cause has status 500: the console failed. */
const known: Readonly<Record<ErrorCode, Known>> = {
  'invalid-option': { status: 422, title: 'Invalid value' },
  'invalid-input': {
    status: 422,
    title: 'The input does not fit its contract',
    detail: 'Nothing was stored.',
  },
  'duplicate-job': { status: 409, title: 'A duplicate of this job exists' },
  'idempotency-conflict': { status: 409, title: 'The idempotency key was used with another input' },
  'queue-full': {
    status: 429,
    title: 'The queue is full',
    hint: 'Send the request again after the time in Retry-After.',
    headers: { 'Retry-After': '3' },
  },
  'queue-closed': { status: 409, title: 'The queue takes no jobs', hint: 'stint queue open' },
  'job-not-found': { status: 404, title: 'No such job' },
  'job-dead': { status: 409, title: 'The job is dead' },
  'job-cancelled': { status: 409, title: 'The job was cancelled' },
  'result-timeout': { status: 504, title: 'The job has not ended in time' },
  'error-group-not-found': { status: 404, title: 'No such error group' },
  'schedule-not-found': { status: 404, title: 'No such schedule' },
  'limit-not-found': { status: 404, title: 'No such limit' },
  'breaker-not-found': { status: 404, title: 'No such breaker' },
  'breaker-open': {
    status: 503,
    title: 'A breaker is open',
    hint: 'Try again when the breaker may be probed.',
    headers: soon,
  },
  'operation-not-found': { status: 404, title: 'No such operation' },
  'flow-not-found': { status: 404, title: 'No such flow' },
  'flow-ended': { status: 409, title: 'The flow has ended' },
  'workers-too-old': { status: 409, title: 'A live worker does not know flows' },
  'results-too-large': { status: 500, title: 'The results are too large' },
  'rate-limited': { status: 429, title: 'The rate has no tokens', headers: soon },
  'worker-not-found': { status: 404, title: 'No such worker' },
  'too-many-matches': { status: 422, title: 'More jobs match than allowed' },
  'state-changed': {
    status: 409,
    title: 'The state has changed',
    hint: 'Check the current state, then decide again.',
  },
  'enqueue-unknown': {
    status: 503,
    title: 'Unknown whether the job was stored',
    detail: 'The connection to the database broke while the job was being stored.',
    hint: 'Send the request again with the same Idempotency-Key: the job is stored only once.',
    headers: soon,
  },
  'database-unavailable': {
    status: 503,
    title: 'The database does not answer',
    detail: 'The console cannot reach its database, or got no answer in time.',
    hint: 'The console reconnects by itself. Try again in a moment.',
    headers: soon,
  },
  'database-rejected': {
    status: 500,
    title: 'The database rejected a statement',
    detail: 'The database rejected a statement of the console.',
    hint: 'stint doctor',
  },
  'no-database': { status: 500, title: 'No database', detail: 'The console has no database to connect to.' },
  'schema-missing': {
    status: 503,
    title: 'The tables are missing',
    detail: 'The tables of Stint are missing or older than this console needs.',
    hint: 'stint migrate',
    headers: { 'Retry-After': '10' },
  },
  'schema-too-new': {
    status: 503,
    title: 'The tables are newer than this console',
    detail: 'The tables were migrated by a newer version of Stint than this console.',
    hint: 'Upgrade the console.',
    headers: { 'Retry-After': '60' },
  },
  'schema-unknown': {
    status: 503,
    title: 'The tables are of an unreleased version',
    detail: 'An unreleased version of Stint made the tables, and this console cannot read them.',
    hint: 'stint doctor',
    headers: { 'Retry-After': '60' },
  },
  'migration-failed': { status: 500, title: 'A migration failed', detail: 'A migration failed.' },
  'blob-missing': {
    status: 404,
    title: 'The input is not in the blob store',
    detail:
      'The input of this job is in a blob store that this console does not use, or it was deleted there.',
    hint: 'Pass the console the same `blobs` option as your producers.',
  },
  'contract-mismatch': {
    status: 409,
    title: 'The contract has another version',
    detail: 'This job was stored with a version of its contract that the console does not know.',
    hint: 'Deploy the console with the contracts of your workers.',
  },
  'client-closed': {
    status: 503,
    title: 'The console is closing',
    detail: 'The console is being closed.',
    headers: soon,
  },
  'next-called-twice': {
    status: 500,
    title: 'A middleware called next twice',
    detail: 'A middleware called next twice.',
  },
  'lease-lost': { status: 409, title: 'The lease was lost' },
  'attempt-timeout': { status: 500, title: 'An attempt took too long', detail: 'An attempt took too long.' },
  'invalid-row': { status: 500, title: 'The row of a job is invalid' },
  'job-crashed': {
    status: 500,
    title: 'A worker process crashed',
    detail: 'A worker process crashed while it ran a job.',
  },
  'worker-stuck': { status: 500, title: 'A worker is stuck', detail: 'A worker is stuck.' },
  'isolation-failed': {
    status: 500,
    title: 'Isolation failed',
    detail: 'A child process could not be started.',
  },
  'job-completed': { status: 409, title: 'The job has ended' },
  'job-ended': { status: 409, title: 'The job has ended' },
  'too-many-signals': { status: 429, title: 'Too many signals wait for this job', headers: soon },
  'invalid-step-result': { status: 500, title: 'A step returned what JSON cannot hold' },
  'step-too-large': { status: 500, title: 'A step returned too much' },
  'too-many-steps': { status: 500, title: 'The job has too many steps' },
  'child-dead': { status: 500, title: 'A child of the job is dead' },
  'child-cancelled': { status: 500, title: 'A child of the job was cancelled' },
  'spawn-too-deep': { status: 500, title: 'There are too many levels of children' },
  'worker-stopped': { status: 503, title: 'The worker has stopped', headers: soon },
  'unknown-handler': { status: 500, title: 'No handler', detail: 'There is no handler for this kind.' },
  'webhook-refused': { status: 422, title: 'The target of the webhook is refused' },
  'webhook-failed': { status: 502, title: 'The webhook was not delivered' },
  'not-external': {
    status: 500,
    title: 'The console was bundled',
    detail: 'The console cannot find files of its package. Mark stint as external in your bundler.',
  },
  'embedded-unsupported': {
    status: 500,
    title: 'The embedded server cannot run here',
    detail: 'The embedded server cannot run here.',
  },
  'embedded-refused': {
    status: 500,
    title: 'The embedded server was refused',
    detail: 'The embedded server was refused.',
  },
  'embedded-failed': {
    status: 503,
    title: 'The embedded server failed',
    detail: 'The embedded server did not start.',
    headers: soon,
  },
  'drain-timeout': {
    status: 500,
    title: 'A drain took too long',
    detail: 'A test did not end its jobs in time.',
  },
}

function ofStintError(error: StintError): HttpProblem {
  const isOfDatabase = error.code === 'database-unavailable' || error.code === 'database-rejected'
  if (isOfDatabase && isPastLimit(error.cause)) return busy()
  // The code may come from another copy of this package, which may be newer.
  const entry = Object.hasOwn(known, error.code) ? known[error.code] : undefined
  if (entry === undefined) return internal()
  const { status, title, detail = error.message, hint } = entry
  const headers = { ...entry.headers, ...retryAfter(error) }
  const errors = status === 422 ? error.issues.map(toPointed) : []
  return new HttpProblem({
    status,
    code: error.code,
    title,
    detail,
    hint,
    ...(errors.length === 0 ? {} : { errors }),
    headers,
  })
}

/** The error may come from another copy of this package. */
function retryAfter({ retryAfterMs }: StintError): Record<string, string> {
  return Number.isFinite(retryAfterMs)
    ? { 'Retry-After': String(Math.ceil(Number(retryAfterMs) / 1_000)) }
    : {}
}

/** `input.items[3].width` → `/input/items/3/width`. A request has options beside the input: `options.runAt` → `/runAt`. */
export function pointerOf(path: string): string {
  const steps: string[] = []
  // A path consists of names, [3] and ["any name"].
  for (const [, name, index, quoted] of path.matchAll(/([^.[\]]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)) {
    steps.push(name ?? index ?? unquoted(quoted ?? '""'))
  }
  if (steps[0] === 'options') steps.shift()
  return toPointer(steps)
}

export function toPointer(steps: readonly PropertyKey[]): string {
  return steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

function toPointed({ path, message }: Issue): PointedError {
  return { pointer: pointerOf(path), message }
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch {
    return text
  }
}
