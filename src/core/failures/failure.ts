import { retryAfterMs } from './retry-after.ts'
import { peek, withCauses } from './thrown.ts'
import { verdictOf } from './verdict.ts'

/**
 * What kind of failure ended an attempt; retry-policy.ts says what follows from each.
 *
 * timeout       a deadline passed: ours, or one of a library or server
 * connection    a server could not be reached, or the connection to it ended
 * conflict      deadlock or serialization failure: the database asks to run the transaction again
 * rate-limited  a server asks us to come back later
 * invalid       the input does not pass the contract's schema
 * contract      the input is of a version that this code cannot read
 * permanent     the handler says that a retry cannot help
 * crash         the worker's process ended during the attempt: found by the sweep, never thrown
 * unknown       everything else
 */
export const failureClasses = [
  'timeout',
  'connection',
  'conflict',
  'rate-limited',
  'invalid',
  'contract',
  'permanent',
  'crash',
  'unknown',
] as const
export type FailureClass = (typeof failureClasses)[number]

const mostCauses = 5

/**
 * The class of a thrown value: the contract's `classify` decides first, then well-known codes, names and statuses.
 * Messages are not read: they are for people, and change. Never throws.
 */
export function classifyFailure(
  thrown: unknown,
  classify?: (error: unknown) => FailureClass | undefined,
): FailureClass {
  const own = ownClass(thrown, classify)
  if (own !== undefined) return own
  if (verdictOf(thrown, 0)?.type === 'permanent') return 'permanent'
  // Only the thrown error itself may blame the input, which ends the job. An invalid-input error among its causes may
  // come from another call that the handler made.
  const refused = refusedInput(thrown)
  if (refused !== undefined) return refused
  for (const value of withCauses(thrown, mostCauses)) {
    const found = classOf(value)
    if (found !== undefined) return found
  }
  return 'unknown'
}

function ownClass(
  thrown: unknown,
  classify: ((error: unknown) => unknown) | undefined,
): FailureClass | undefined {
  try {
    const said = classify?.(thrown)
    return failureClasses.find((known) => known === said)
  } catch {
    // A `classify` that throws is ignored: the handler's own failure is the one to report.
    return undefined
  }
}

function refusedInput(thrown: unknown): FailureClass | undefined {
  if (peek(thrown, 'name') !== 'StintError') return undefined
  const code = peek(thrown, 'code')
  return code === 'invalid-input' ? 'invalid' : code === 'contract-mismatch' ? 'contract' : undefined
}

function classOf(value: unknown): FailureClass | undefined {
  return classOfCode(peek(value, 'code')) ?? classOfName(peek(value, 'name')) ?? classOfStatus(value)
}

/**
 * Codes of Node, undici, postgres.js and Prisma, SQLSTATEs, and our own.
 *
 * Not here: `blob-missing`. It is retried as unknown, since a store may be mounted late or lag behind, but it is no
 * connection failure: it must not use up the budget that a contract has for those.
 */
const classByCode = new Map<string, FailureClass>([
  ...each('timeout', 'ETIMEDOUT', 'ESOCKETTIMEDOUT', 'CONNECT_TIMEOUT', 'P1002', 'P1008', 'P2024'),
  ...each('timeout', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'),
  // statement_timeout, transaction_timeout
  ...each('timeout', '57014', '25P04'),
  ...each('connection', 'ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'EPIPE', 'EAI_AGAIN', 'ENOTFOUND'),
  ...each('connection', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'P1001', 'P1017'),
  ...each('connection', 'UND_ERR_SOCKET', 'UND_ERR_CLOSED', 'UND_ERR_DESTROYED'),
  ...each('connection', 'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED'),
  ...each('connection', 'database-unavailable', 'enqueue-unknown'),
  ...each('conflict', '40001', '40P01', '55P03', 'P2034'),
  ...each('rate-limited', 'rate-limited'),
  // The step would return the same again.
  ...each('permanent', 'invalid-step-result', 'step-too-large', 'too-many-steps'),
  // The handler would see the same children again.
  ...each('permanent', 'child-dead', 'child-cancelled', 'results-too-large', 'spawn-too-deep'),
])

function each(failureClass: FailureClass, ...codes: string[]): [string, FailureClass][] {
  return codes.map((code) => [code, failureClass])
}

function classOfCode(code: unknown): FailureClass | undefined {
  if (typeof code !== 'string') return undefined
  // The classes of a connection's end, of a server out of resources, and of one shutting down or starting.
  if (/^(?:08[0-9A-Z]{3}|53[0-9A-Z]{3}|57P[0-9A-Z]{2})$/.test(code)) return 'connection'
  return classByCode.get(code)
}

/** An AbortError by itself says only that abort() was called; one about a deadline has a TimeoutError as its cause. */
function classOfName(name: unknown): FailureClass | undefined {
  return name === 'TimeoutError' ? 'timeout' : undefined
}

/**
 * A 4xx is not permanent: 401 and 403 heal with a new token, 404 and 409 when a replica has caught up, 400 with the
 * server's next deployment. A handler that knows better throws PermanentError; a contract has `classify`.
 */
function classOfStatus(value: unknown): FailureClass | undefined {
  switch (statusOf(value)) {
    case 429:
      return 'rate-limited'
    case 503:
    case 529:
      return retryAfterMs(value, 0) === undefined ? 'connection' : 'rate-limited'
    case 502:
      return 'connection'
    case 408:
    case 504:
      return 'timeout'
    default:
      return undefined
  }
}

function statusOf(value: unknown): unknown {
  return peek(value, 'status') ?? peek(value, 'statusCode') ?? responseStatus(peek(value, 'response'))
}

function responseStatus(response: unknown): unknown {
  return peek(response, 'status') ?? peek(response, 'statusCode')
}
