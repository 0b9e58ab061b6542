import { objectIn, textIn } from '../../core/json/stored-json.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { claimSql } from './claim.sql.ts'
import { findSql } from './find.sql.ts'
import { forgetSql } from './forget.sql.ts'
import { keepSql } from './keep.sql.ts'
import { lockSql } from './lock.sql.ts'

/** A request whose work is done once, even if it is sent several times. */
export interface OnceRequest {
  /** Caller and route: the same key from another caller or for another route is a different request. */
  scope: string
  key: string
  /** SHA-256 of its body. */
  digest: Buffer
}

/** A right that the answer required: for jobs of a queue, kind or key, for all jobs, or in general. */
export interface AskedRight {
  action: string
  of?: { queue?: string; kind?: string; key?: string | null } | undefined
  isAll?: true | undefined
}

export interface KeptReply {
  status: number
  headers: Readonly<Record<string, string>>
  body: string
  /** Rights that a caller must have to get this answer again. */
  asked: readonly AskedRight[]
}

/** What is stored for a key: an answer, a request that is being answered, or a different request. */
export type EarlierReply = { type: 'kept'; reply: KeptReply } | { type: 'busy' } | { type: 'mismatch' }

export async function lockReply(
  db: Queryable,
  { scope, key }: OnceRequest,
  isRepeat: boolean,
): Promise<boolean> {
  const [isOurs] = await run(
    db,
    lockSql,
    { scope, key, isRepeat },
    (row: { is_ours: boolean }) => row.is_ours,
  )
  return isOurs === true
}

export async function findReply(
  db: Queryable,
  { scope, key, digest }: OnceRequest,
): Promise<EarlierReply | undefined> {
  const [found] = await run(db, findSql, { scope, key, digest }, toEarlier)
  return found
}

export async function keepReply(
  db: Queryable,
  { scope, key, digest }: OnceRequest,
  { status, headers, body, asked }: KeptReply,
  keepMs: number,
): Promise<void> {
  const json = { headers: JSON.stringify(headers), asked: JSON.stringify(asked) }
  await run(db, keepSql, { scope, key, digest, status, body, keepMs, ...json }, () => undefined)
}

export async function claimReply(
  db: Queryable,
  { scope, key, digest }: OnceRequest,
  holdMs: number,
): Promise<boolean> {
  const rows = await run(db, claimSql, { scope, key, digest, holdMs }, () => true)
  return rows.length > 0
}

export async function forgetReply(db: Queryable, { scope, key }: OnceRequest): Promise<void> {
  await run(db, forgetSql, { scope, key }, () => undefined)
}

interface ReplyRow {
  status: number | null
  headers: unknown
  body: string | null
  asked: unknown
  is_same: boolean
}

function toEarlier({ status, headers, body, asked, is_same: isSame }: ReplyRow): EarlierReply {
  if (!isSame) return { type: 'mismatch' }
  // An invalid answer, or one with unreadable rights, was not written by a console.
  if (status === null || status < 200 || status > 599 || !isAsked(asked)) return { type: 'busy' }
  const texts = Object.entries(objectIn(headers)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return {
    type: 'kept',
    reply: { status, headers: Object.fromEntries(texts), body: body ?? '', asked: asked ?? [] },
  }
}

function isAsked(asked: unknown): asked is readonly AskedRight[] | null {
  if (asked === null) return true
  return Array.isArray(asked) && asked.every((right) => textIn(right, 'action') !== null)
}
