import { isDeepStrictEqual } from 'node:util'
import { boundedText } from '../../core/names.ts'
import { peek } from '../../core/failures/thrown.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { approvalSql } from './approval.sql.ts'
import { expirySql } from './expiry.sql.ts'

/** What a job has asked people, as the record of its call keeps it. */
export interface AskedApproval {
  /** All links of the call carry it, and it is the key of the signal: the first answer counts. */
  id: string
  expiresAt: number
  /** What is to be decided, for people; null: they see the kind of the job. */
  about: string | null
  /** The payload of each answer, by its name. */
  answers: Readonly<Record<string, unknown>>
}

/** The name of the record of ctx.approval(). */
export function approvalName(signal: string): string {
  return `approval:${signal}`
}

/** When a link that is made now expires, by the clock of the database. */
export async function approvalExpiry(db: Queryable, ms: number): Promise<number> {
  const [at] = await run(db, expirySql, { ms }, (row: { at: number }) => row.at)
  if (at === undefined) throw new Error('The database gave no time')
  return at
}

/** The record of an approval; undefined if it is none: another role may have written it. */
export function readAsked(stored: unknown): AskedApproval | undefined {
  const [id, expiresAt, about, answers] = ['id', 'expiresAt', 'about', 'answers'].map((name) =>
    peek(stored, name),
  )
  if (typeof id !== 'string' || typeof expiresAt !== 'number') return undefined
  if (typeof answers !== 'object' || answers === null || Array.isArray(answers)) return undefined
  return {
    ...{ id, expiresAt },
    about: boundedText(about, 4_000) ? about : null,
    answers: answers as Readonly<Record<string, unknown>>,
  }
}

/** What an approval link asks for. */
export interface Approval {
  /** The kind of the job; undefined if the job has ended. */
  kind: string | undefined
  /** Undefined if the job does not ask any more: it has ended, or was replayed from its start. */
  asked: AskedApproval | undefined
  /** The answer that counts; its name is null if it is none of those that were asked for. */
  given: { answer: string | null; at: Date } | undefined
  isExpired: boolean
}

export async function readApproval(
  db: Queryable,
  { jobId, signal, id, expiresAt }: { jobId: string; signal: string; id: string; expiresAt: number },
): Promise<Approval> {
  const request = { job: jobId, name: approvalName(signal), signal, id, expiresAt }
  const [row] = await run(db, approvalSql, request, (found: Row) => found)
  if (row === undefined) throw new Error('The database gave no answer for an approval link')
  const asked = readAsked(row.asked)
  const names = Object.keys(asked?.answers ?? {})
  const answer = names.find((name) => isDeepStrictEqual(asked?.answers[name], row.given)) ?? null
  return {
    kind: row.kind ?? undefined,
    asked,
    given: row.answered === null ? undefined : { answer, at: row.answered },
    isExpired: row.expired,
  }
}

interface Row {
  kind: string | null
  asked: unknown
  given: unknown
  answered: Date | null
  expired: boolean
}
