import { toJobSummary } from '../../core/job.ts'
import type { JobSummary, JobSummaryRow } from '../../core/job.ts'
import { pageStart } from '../../core/uuid.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { listDeadSql } from './list-dead.sql.ts'

export const deadReasons = [
  ...(['exhausted', 'permanent', 'quarantined', 'expired', 'discarded-contract', 'invalid-row'] as const),
] as const
export type DeadReason = (typeof deadReasons)[number]

/** What is known of a dead letter beyond what is known of every job. */
export interface DeadLetterFacts {
  state: 'dead'
  reason: DeadReason
  /** The same for the same error: what error groups are made by. */
  fingerprint: string | null
}

/** A dead letter without what it carries. */
export interface DeadLetterSummary extends JobSummary, DeadLetterFacts {
  state: 'dead'
  reason: DeadReason
  /** The last one, without its stack: at most 1,000 characters. */
  error: { name: string | null; message: string | null } | null
}

export interface DeadLetterPage {
  /** Newest first: by when the jobs were made. */
  dead: DeadLetterSummary[]
  /**
   * Where the next page begins; undefined when there is no more. A page with few or no dead letters and a `next`
   * looked through 50,000 and found no more that match.
   */
  next: string | undefined
}

export interface ListDeadRequest {
  queue: string | null
  kind: string | null
  key: string | null
  reason: DeadReason | null
  fingerprint: string | null
  discarded: boolean
  replaced: boolean
  /** The id to go on below. */
  before: string | null
  limit: number
}

/** Rows one statement looks through. */
const windowSize = 5_000
const maxWindows = 10
/** Filters that have an index, the narrowest first. */
const indexed = ['fingerprint', 'key', 'kind', 'queue'] as const

/** One page of dead letters that match, newest first. */
export async function listDead(
  db: Queryable,
  { limit, before, ...filter }: ListDeadRequest,
): Promise<DeadLetterPage> {
  const by = indexed.find((name) => filter[name] !== null) ?? 'id'
  const found: DeadLetterSummary[] = []
  let next = before ?? undefined
  for (let windows = 0; windows < maxWindows; windows++) {
    const upTo = pageStart(next)
    if (upTo === undefined) return { dead: found, next: undefined }
    const wanted = limit + 1 - found.length
    const request = { ...filter, by, upTo, window: windowSize, limit: wanted }
    const rows = await run(db, listDeadSql, request, (row: WindowRow) => row)
    found.push(...rows.filter(hasDeadLetter).map(toSummary))
    if (found.length > limit) return { dead: found.slice(0, limit), next: found[limit - 1]?.id }
    const end = rows[0]?.window_end ?? null
    if (end === null) return { dead: found, next: undefined }
    next = end
  }
  return { dead: found, next }
}

interface DeadSummaryRow extends JobSummaryRow {
  window_end: string | null
  reason: DeadReason
  fingerprint: string | null
  error_name: string | null
  error_message: string | null
}
type WindowRow = DeadSummaryRow | { window_end: string | null; id: null }

function hasDeadLetter(row: WindowRow): row is DeadSummaryRow {
  return row.id !== null
}

function toSummary(row: DeadSummaryRow): DeadLetterSummary {
  const { reason, fingerprint, error_name: name, error_message: message } = row
  const error = name === null && message === null ? null : { name, message }
  return { ...toJobSummary(row), state: 'dead', reason, fingerprint, error }
}
