import { createHmac, timingSafeEqual } from 'node:crypto'
import { isUuid } from '../../core/uuid.ts'

/**
 * What an approval link says: which job gets which answer, and until when. The payload of the answer is not in it: the record
 * of the job has it, so a link shows nothing to those who only carry it.
 */
export interface ApprovalLink {
  readonly jobId: string
  readonly signal: string
  /** The same for all links of one call of ctx.approval(): the first that is used decides. */
  readonly id: string
  readonly answer: string
  /** In milliseconds since 1970, by the clock of the database. */
  readonly expiresAt: number
}

const longest = 2_000

/** The token of a link: its parts as base64url, a dot, and their HMAC-SHA256. */
export function signLink({ jobId, signal, id, answer, expiresAt }: ApprovalLink, secret: string): string {
  const parts = JSON.stringify([jobId, signal, id, answer, expiresAt])
  const body = Buffer.from(parts).toString('base64url')
  return `${body}.${macOf(body, secret)}`
}

/**
 * The parts of a token; undefined unless it was signed with one of the secrets. The texts are compared, and not the bytes that
 * they stand for: base64url has several texts for the same bytes, and a changed link must not work.
 */
export function readLink(token: string, secrets: readonly string[]): ApprovalLink | undefined {
  const [body = '', mac = '', ...more] = token.length > longest ? [] : token.split('.')
  if (more.length > 0) return undefined
  const given = Buffer.from(mac)
  const isSigned = secrets.some((secret) => {
    const own = Buffer.from(macOf(body, secret))
    return own.length === given.length && timingSafeEqual(own, given)
  })
  return isSigned ? partsOf(body) : undefined
}

/** The prefix keeps a signature from being one of another program that was given the same secret. */
function macOf(body: string, secret: string): string {
  return createHmac('sha256', secret).update(`stint approval 1\n${body}`).digest('base64url')
}

/** A holder of the secret may be an older or a newer version of this package. */
function partsOf(body: string): ApprovalLink | undefined {
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(body, 'base64url').toString())
  } catch {
    return undefined
  }
  if (!Array.isArray(parts)) return undefined
  const [jobId, signal, id, answer, expiresAt] = parts as unknown[]
  const isWhole =
    isUuid(jobId) &&
    typeof signal === 'string' &&
    typeof id === 'string' &&
    typeof answer === 'string' &&
    typeof expiresAt === 'number'
  return isWhole ? { jobId, signal, id, answer, expiresAt } : undefined
}
