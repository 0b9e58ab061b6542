import type { ErrorStatus } from '../../core/failures/error-status.ts'
import { storedTime } from '../../core/far-time.ts'
import { objectIn } from '../../core/json/stored-json.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { findErrorsSql } from './find-errors.sql.ts'
import { getErrorSql } from './get-error.sql.ts'
import { ignoreErrorSql } from './ignore-error.sql.ts'
import { listErrorsSql } from './list-errors.sql.ts'
import { reopenErrorSql } from './reopen-error.sql.ts'
import { resolveErrorSql } from './resolve-error.sql.ts'

/** How often an error happened in an hour. */
export interface ErrorHour {
  at: Date
  /** Attempts that failed and were followed by another. */
  failures: number
  /** Jobs that died of it. */
  deaths: number
}

/** What people would call one error. */
export interface ErrorGroupSummary {
  fingerprint: string
  kind: string
  class: string
  name: string
  /** Its message, without what differs from one failure to the next. */
  title: string
  firstSeen: Date
  lastSeen: Date
  /** The versions of the app that it was seen in, in the order in which it was; the newest 50. */
  versions: string[]
  /** The job that failed so last. */
  sampleJob: string
  status: ErrorStatus
  resolvedAt: Date | null
  resolvedIn: string | null
  ignoredUntil: Date | null
  /** It was resolved, and came back. */
  regressedAt: Date | null
  /** The last 24 hours, each of them, the current one last. */
  trend: ErrorHour[]
  /** In those hours, together. */
  failures: number
  deaths: number
}

export interface ErrorGroup extends ErrorGroupSummary {
  /** As it was said last. */
  message: string
  /** Every hour of the last 30 days in which it happened. */
  hours: ErrorHour[]
}

interface GroupRow extends Omit<ErrorGroupSummary, 'versions' | 'trend' | 'failures' | 'deaths'> {
  versions: unknown
  hours: { at: string; failures: number; deaths: number }[]
  now: Date
}

export interface ListErrorsRequest {
  status: ErrorStatus | null
  kind: string | null
  isDeadly: boolean
  limit: number
}

export function listErrors(db: Queryable, request: ListErrorsRequest): Promise<ErrorGroupSummary[]> {
  return run(db, listErrorsSql, request, (row: GroupRow) => toSummary(row))
}

export async function getError(db: Queryable, fingerprint: string): Promise<ErrorGroup | undefined> {
  const [found] = await run(db, getErrorSql, { fingerprint }, (row: GroupRow & { message: string }) => ({
    ...toSummary(row),
    message: row.message,
    hours: row.hours.map(toHour),
  }))
  return found
}

/** The fingerprints that begin so, at most 4. */
export function findErrors(db: Queryable, beginning: string): Promise<string[]> {
  return run(db, findErrorsSql, { beginning }, (row: { fingerprint: string }) => row.fingerprint)
}

/** Each says whether there is such a group. */
export async function resolveError(
  db: Queryable,
  request: { fingerprint: string; version: string | null },
): Promise<boolean> {
  return (await run(db, resolveErrorSql, request, () => true)).length > 0
}

export async function ignoreError(
  db: Queryable,
  request: { fingerprint: string; until: Date | null },
): Promise<boolean> {
  return (await run(db, ignoreErrorSql, request, () => true)).length > 0
}

export async function reopenError(db: Queryable, fingerprint: string): Promise<boolean> {
  return (await run(db, reopenErrorSql, { fingerprint }, () => true)).length > 0
}

const hourMs = 3_600_000
const trendHours = 24

function toSummary({ hours, now, versions, ...group }: GroupRow): ErrorGroupSummary {
  const byHour = new Map(hours.map((hour) => [Date.parse(hour.at), hour]))
  const last = Math.floor(now.getTime() / hourMs) * hourMs
  const trend = Array.from({ length: trendHours }, (_, index) => {
    const at = last - (trendHours - 1 - index) * hourMs
    const { failures = 0, deaths = 0 } = byHour.get(at) ?? {}
    return { at: new Date(at), failures, deaths }
  })
  return {
    ...group,
    versions: Object.entries(objectIn(versions))
      .sort(([, a], [, b]) => (String(a) < String(b) ? -1 : 1))
      .map(([version]) => version),
    trend,
    failures: trend.reduce((sum, hour) => sum + hour.failures, 0),
    deaths: trend.reduce((sum, hour) => sum + hour.deaths, 0),
  }
}

function toHour({ at, failures, deaths }: GroupRow['hours'][number]): ErrorHour {
  return { at: storedTime(at, undefined), failures, deaths }
}
