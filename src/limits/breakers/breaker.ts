import { StintError } from '../../core/errors.ts'
import { cleanText } from '../../core/json/storable.ts'
import { peek } from '../../core/failures/thrown.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { changesSql } from './changes.sql.ts'
import { forceSql } from './force.sql.ts'
import { getSql } from './get.sql.ts'
import { listSql } from './list.sql.ts'
import { ofQueueSql } from './of-queue.sql.ts'
import { probeNowSql } from './probe-now.sql.ts'
import { resetSql } from './reset.sql.ts'

export type BreakerState = 'closed' | 'open' | 'half-open'

/** Why a breaker opened. Members that do not apply are left out. */
export interface BreakerCause {
  /** Failures that it counts, `of` so many outcomes. */
  failed?: number
  of?: number
  /** One of the errors, and its fingerprint among the error groups. */
  error?: string
  fingerprint?: string
  /** Probes that succeeded. */
  probed?: number
  /** When a forced state ends. */
  until?: string
}

/** A breaker as people see it. */
export interface BreakerInfo {
  name: string
  state: BreakerState
  /** Since when it has this state. */
  since: Date
  /** Why it is not closed. */
  cause: BreakerCause | null
  /** When it may be probed; null unless it is open. */
  probeAt: Date | null
  /** Probes that succeeded since it is half-open, of `probes`. */
  probed: number
  /** How often it opened in a row. */
  opens: number
  /** How often its state has changed. */
  changes: number
  /** A person set the state until this time. */
  forced: { until: Date; by: string | null; reason: string | null } | null
  /** The outcomes of its window: since it closed, at most `windowMs` ago. */
  seen: { ok: number; failed: number }
  windowMs: number
  share: number
  least: number
  openMs: number
  mostOpenMs: number
  probes: number
  /** The classes of failures that count. */
  counts: string[]
  /** The kinds of jobs that wait while it is open. */
  covers: { queue: string; kinds: string[] }[]
  source: 'code' | 'runtime'
  updatedAt: Date
}

/** A change of a breaker's state. */
export interface BreakerChange {
  at: Date
  was: BreakerState
  state: BreakerState
  cause: BreakerCause | null
  /** The person who changed it; null: its outcomes did. */
  by: string | null
  reason: string | null
}

export interface BreakerDetails extends BreakerInfo {
  /** The last 200 changes of the last 30 days, newest first. */
  recent: BreakerChange[]
}

const mostChanges = 200

/** A page of breakers by name: all, or those that cover kinds of a queue. */
export function listBreakers(
  db: Queryable,
  { queue, ...page }: { after: string; limit: number; queue: string | undefined },
): Promise<BreakerInfo[]> {
  return queue === undefined
    ? run(db, listSql, page, toInfo)
    : run(db, ofQueueSql, { ...page, queue }, toInfo)
}

export async function getBreaker(db: Queryable, name: string): Promise<BreakerDetails | undefined> {
  const [found] = await run(db, getSql, { name }, toInfo)
  if (found === undefined) return undefined
  return { ...found, recent: await run(db, changesSql, { name, limit: mostChanges }, toChange) }
}

export interface Forced {
  name: string
  state: 'open' | 'closed'
  /** One of both. */
  until: string | null
  forMs: number | null
  by: string
  reason: string | null
}

/** These return false where there is no such breaker. */
export async function forceBreaker(db: Queryable, forced: Forced): Promise<boolean> {
  return (await run(db, forceSql, forced, () => true)).length > 0
}

export async function resetBreaker(
  db: Queryable,
  request: { name: string; by: string; reason: string | null },
): Promise<boolean> {
  return (await run(db, resetSql, request, () => true)).length > 0
}

/** False too where it is not open, or a person has opened it. */
export async function probeBreakerNow(db: Queryable, name: string): Promise<boolean> {
  return (await run(db, probeNowSql, { name }, () => true)).length > 0
}

export function missingBreaker(name: string): never {
  throw new StintError(
    'breaker-not-found',
    `There is no breaker '${cleanText(name, 200)}': \`stint breaker list\` shows all. A worker stores the breakers of its code when it starts: new Worker({ flow: [defineBreaker({ name: … })] }).`,
  )
}

interface InfoRow {
  name: string
  state: BreakerState
  since: Date
  cause: unknown
  probe_at: Date | null
  probe_until: Date | null
  probed: number
  opens: number
  changes: string
  forced_until: Date | null
  forced_by: string | null
  forced_reason: string | null
  seen: { ok: number; failed: number }
  window_ms: number
  share: number
  least: number
  open_ms: number
  most_open_ms: number
  probes: number
  counts: string[]
  covers: { queue: string; kinds: unknown[] }[]
  source: 'code' | 'runtime'
  updated_at: Date
}

function toInfo(row: InfoRow): BreakerInfo {
  return {
    name: row.name,
    state: row.state,
    since: row.since,
    cause: toCause(row.cause),
    probeAt: row.state === 'open' ? row.probe_at : null,
    probed: row.state === 'half-open' ? row.probed : 0,
    opens: row.opens,
    changes: Number(row.changes),
    forced:
      row.forced_until === null
        ? null
        : { until: row.forced_until, by: row.forced_by, reason: row.forced_reason },
    seen: row.seen,
    windowMs: row.window_ms,
    share: row.share,
    least: row.least,
    openMs: row.open_ms,
    mostOpenMs: row.most_open_ms,
    probes: row.probes,
    counts: row.counts,
    covers: row.covers.map(({ queue, kinds }) => ({
      queue,
      kinds: kinds.filter((kind) => typeof kind === 'string'),
    })),
    source: row.source,
    updatedAt: row.updated_at,
  }
}

function toChange({ cause, ...row }: BreakerChange & { cause: unknown }): BreakerChange {
  return { ...row, cause: toCause(cause) }
}

const numbers = ['failed', 'of', 'probed'] as const
const texts = ['error', 'fingerprint', 'until'] as const

/** Another role may have written any JSON: members of another type are left out. */
export function toCause(stored: unknown): BreakerCause | null {
  if (typeof stored !== 'object' || stored === null) return null
  const cause: BreakerCause = {}
  for (const name of numbers) {
    const value = peek(stored, name)
    if (typeof value === 'number' && Number.isFinite(value)) cause[name] = value
  }
  for (const name of texts) {
    const value = peek(stored, name)
    if (typeof value === 'string') cause[name] = cleanText(value, 500)
  }
  return cause
}
