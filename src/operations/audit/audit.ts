import { pageStart } from '../../core/uuid.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { listSql } from './list.sql.ts'
import { writeSql } from './write.sql.ts'
import { writtenSql } from './written.sql.ts'

export const origins = ['api', 'dashboard', 'cli', 'code'] as const
export type Origin = (typeof origins)[number]

/** What a person did, or was refused. */
export interface AuditEntry {
  /** A UUIDv7: in the order of acting. */
  id: string
  at: Date
  /** The database login, which does not depend on what the actor claims; null for entries older than this column. */
  login: string | null
  actor: string
  /** Null where there are no roles: a command line, code. */
  role: string | null
  origin: Origin
  /** `job.replay`, `operation.start`, `schedule.pause` … */
  action: string
  /** A job, schedule, queue, error group or operation. */
  target: string
  outcome: 'done' | 'refused'
  reason: string | null
  /** What it was, and what it became, or why it was refused; never an input. */
  before: unknown
  after: unknown
  operationId: string | null
  requestId: string | null
}

export type NewAuditEntry = Omit<AuditEntry, 'at' | 'login'>

/** Writes a note; one that is there already stays as it is. */
export async function writeAudit(db: Queryable, { before, after, ...entry }: NewAuditEntry): Promise<void> {
  const json = (value: unknown): string | null =>
    value === undefined || value === null ? null : JSON.stringify(value)
  await run(db, writeSql, { ...entry, before: json(before), after: json(after) }, () => undefined)
}

export async function isWritten(db: Queryable, id: string): Promise<boolean> {
  return (await run(db, writtenSql, { id }, () => true)).length > 0
}

export interface ListAuditRequest {
  actor: string | null
  target: string | null
  /** One action, or all of a noun: `job`. */
  action: string | null
  /** The id to go on below. */
  before: string | null
  limit: number
}

export interface AuditPage {
  /** Newest first. */
  entries: AuditEntry[]
  /** Where the next page begins; undefined when there is no more. */
  next: string | undefined
}

/** An action has no index: it is looked for among so many. */
const mostSeen = 20_000

export async function listAudit(
  db: Queryable,
  { limit, before, ...filter }: ListAuditRequest,
): Promise<AuditPage> {
  const by = filter.target !== null ? 'target' : filter.actor !== null ? 'actor' : 'id'
  // Without a filter on the action, the rows that the index gives are the page.
  const isWhole = filter.action === null && (filter.target === null || filter.actor === null)
  const window = isWhole ? limit + 1 : mostSeen
  const upTo = pageStart(before)
  if (upTo === undefined) return { entries: [], next: undefined }
  const request = { ...filter, by, upTo, window, limit: limit + 1 }
  const found = await run(db, listSql, request, (row: AuditEntry) => row)
  return {
    entries: found.slice(0, limit),
    next: found.length > limit ? found[limit - 1]?.id : undefined,
  }
}
