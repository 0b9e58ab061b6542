import { peek } from '../core/failures/thrown.ts'

/**
 * What a failed call of ours to the database means for its caller. The only reader of SQLSTATEs besides
 * core/failures/failure.ts, which reads those that a handler throws.
 *
 * again      nothing was done: send the same again, soon
 * unknown    it may have been done: ask with the same id before anything else
 * wait       never sent, or sent to the wrong node: try later
 * value      the server cannot hold this value: the caller must change it
 * partition  the day's partition is missing: make it, then send again
 * duplicate  another call has done it
 * broken     schema, rights or statement: waiting does not help
 * corrupt    the server says its own files are damaged
 */
export type DatabaseTrouble =
  'again' | 'unknown' | 'wait' | 'value' | 'partition' | 'duplicate' | 'broken' | 'corrupt'

const unsent = new WeakSet<object>()

/** Notes that an error came before anything was sent: nothing was done, even if its code suggests otherwise. */
export function markUnsent<Thrown>(error: Thrown): Thrown {
  if (typeof error === 'object' && error !== null) unsent.add(error)
  return error
}

/** Our own deadline passed with the call under way. */
export class DeadlineError extends Error {
  constructor(afterMs: number) {
    super(`No answer from the database within ${afterMs} ms`)
    this.name = 'DeadlineError'
  }
}

const again = new Set(['40001', '40P01', '55P03', '57014', '26000'])
const wait = new Set([
  ...['57P03', '53000', '53100', '53200', '53300', '53400', '58030', '28000', '28P01', '25006'],
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT'],
  ...['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'],
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ERR_TLS_CERT_ALTNAME_INVALID'],
])
const unknown = new Set(['57P01', '57P02', '57P05', '25P03', '25P04', '40003'])
const value = new Set([
  ...['22P05', '22P02', '22021', '22001', '22003', '22007', '22008', '22032', '23514', '54000', '54001'],
])
const corrupt = new Set(['XX000', 'XX001', 'XX002', '58P01'])

/** EPIPE has five letters too; no class of SQLSTATEs begins like a system error. */
const sqlState = /^(?!E)[0-9A-Z]{5}$/

export function classify(error: unknown): DatabaseTrouble {
  const trouble = byCode(error)
  const isUnsent = typeof error === 'object' && error !== null && unsent.has(error)
  return trouble === 'unknown' && isUnsent ? 'wait' : trouble
}

function byCode(error: unknown): DatabaseTrouble {
  const code = codeOf(error)
  const said = peek(error, 'message')
  const message = typeof said === 'string' ? said : ''
  if (code === undefined) return 'unknown'
  if (code === '0A000' && message.includes('cached plan')) return 'again'
  if (code === '23514' && message.includes('no partition')) return 'partition'
  if (again.has(code)) return 'again'
  if (wait.has(code)) return 'wait'
  if (unknown.has(code) || code.startsWith('08') || !sqlState.test(code)) return 'unknown'
  if (value.has(code)) return 'value'
  if (code === '23505') return 'duplicate'
  if (corrupt.has(code)) return 'corrupt'
  return 'broken'
}

/**
 * Whether a named statement is in the way: the connection is pooled by something that hands each transaction to
 * another server session (PgBouncer before 1.21). Parse or bind failed, so nothing was done.
 */
export function isNamedStatementTrouble(error: unknown): boolean {
  const code = codeOf(error)
  return code === '26000' || code === '42P05'
}

/** The server ended a session because nothing was said in its transaction for too long. */
export function isIdleTimeout(error: unknown): boolean {
  const code = codeOf(error)
  return code === '25P03' || code === '25P04'
}

/** The server is read-only: a standby, or one with default_transaction_read_only. */
export function isWrongNode(error: unknown): boolean {
  return codeOf(error) === '25006'
}

/** The session cannot be used any more: it has a plan for tables that have changed, or its server is read-only. */
export function isStaleSession(error: unknown): boolean {
  return isWrongNode(error) || (codeOf(error) === '0A000' && classify(error) === 'again')
}

/**
 * A limit of ours was reached and the server is healthy: no free connection, a statement or a lock that took too long.
 */
export function isPastLimit(error: unknown): boolean {
  if (isCancelled(error) || isLockTimeout(error) || error instanceof DeadlineError) return true
  return peek(error, 'message') === noneFree
}

/** The pool's error for this has no code. */
const noneFree = 'timeout exceeded when trying to connect'
const noneMade = 'Connection terminated due to connection timeout'

/** The time to wait for a connection passed: none was released, or a new one was not made in time. */
export function isPoolTimeout(error: unknown): boolean {
  const message = peek(error, 'message')
  return message === noneFree || message === noneMade
}

/** SQLSTATEs about schemas, rights, sessions and servers: such an error concerns every row. */
const ofEveryRow = /^(42|3D|3F|2B|28|25|0A|0B|57|58|F0)/

/**
 * Whether a statement over many rows may have failed because of one of them: its value, a trigger or constraint that
 * refuses it, a damaged page. Then the other rows must not wait for it.
 */
export function isPerhapsOneRow(error: unknown): boolean {
  const trouble = classify(error)
  if (trouble === 'value' || trouble === 'corrupt') return true
  return (trouble === 'broken' || trouble === 'duplicate') && !ofEveryRow.test(codeOf(error) ?? '42')
}

/** The server ended a statement that took too long, or that was cancelled. */
export function isCancelled(error: unknown): boolean {
  return codeOf(error) === '57014'
}

/** The server waited for a lock until its lock timeout. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03'
}

/** The login may not do this. */
export function isRefused(error: unknown): boolean {
  return codeOf(error) === '42501'
}

/** Our tables or functions do not exist. */
export function isSchemaMissing(error: unknown): boolean {
  const code = codeOf(error)
  return code === '3F000' || code === '42P01' || code === '42883'
}

/** The name of the check that a value violates: `job_in_bounds`, `job_name_check`. */
export function constraintOf(error: unknown): string | undefined {
  const constraint = peek(error, 'constraint')
  return typeof constraint === 'string' ? constraint : undefined
}

function codeOf(error: unknown): string | undefined {
  const code = peek(error, 'code')
  return typeof code === 'string' ? code : undefined
}
