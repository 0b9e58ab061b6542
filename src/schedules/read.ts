import { messageOf } from '../core/failures/thrown.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { checkSchedule } from './rules/checked.ts'
import type { CheckedSchedule } from './rules/checked.ts'
import type { MissedPolicy, OverlapPolicy } from './rules/define-schedule.ts'
import { firesSql } from './fires.sql.ts'
import { firesWithinSql } from './fires-within.sql.ts'
import { getSql } from './get.sql.ts'
import { listSql } from './list.sql.ts'
import { recentFiresSql } from './recent-fires.sql.ts'
import { describeRule } from './rules/rule.ts'
import type { ScheduleRow } from './rules/stored.ts'

/** A schedule as people see it. */
export interface ScheduleInfo {
  name: string
  kind: string
  queue: string
  /** Its rule in words. */
  rule: string
  /** As it is stored; null if the stored value is far larger than a rule can be. */
  spec: unknown
  timeZone: string
  startsAt: Date | null
  endsAt: Date | null
  overlap: OverlapPolicy
  missed: { policy: MissedPolicy; limit: number; windowMs: number }
  jitterMs: number
  /** How long its fires are kept. */
  keepFiresMs: number
  /** `code`: workers keep it equal to their code; `runtime`: set by a call or a command. */
  source: 'code' | 'runtime'
  /** The version of the app whose worker synchronised it. */
  appVersion: string | null
  /** It comes from code, but no live worker has it in its code, so it does not fire. */
  isOrphan: boolean
  inputFromCode: boolean
  isPaused: boolean
  pausedUntil: Date | null
  pauseReason: string | null
  nextFireAt: Date | null
  lastFireAt: Date | null
  lastOutcome: FireOutcome | null
  /** How many times in a row it could not be fired. */
  failures: number
  /** Why the stored schedule is not valid and does not fire; a list does not check the options of its jobs. */
  invalid: string | null
  createdAt: Date
  updatedAt: Date
}

/** With all that is stored about it. */
export interface ScheduleDetails extends ScheduleInfo {
  input: unknown
  /** The error of the last try to fire it. */
  lastError: string | null
  /** Fires that were asked for and wait for a worker that has its code; counted up to 10,000. */
  askedFires: number
}

/** `asked`: a person asked for it, and a worker that has the schedule's code makes the job `jobId`. */
export type FireOutcome = 'fired' | 'skipped' | 'missed' | 'queued' | 'asked'

export interface Fire {
  fireAt: Date
  outcome: FireOutcome
  jobId: string | null
  reason: string | null
  /** When it was decided. */
  at: Date
}

/** Without `job`, which viewers may not see. */
interface InfoRow extends Omit<ScheduleRow, 'job'> {
  job?: unknown
  starts_at: Date | null
  ends_at: Date | null
  source: 'code' | 'runtime'
  app_version: string | null
  is_orphan: boolean
  is_paused: boolean
  paused_until: Date | null
  pause_reason: string | null
  next_fire_at: Date | null
  last_fire_at: Date | null
  last_outcome: FireOutcome | null
  failures: number
  created_at: Date
  updated_at: Date
}

interface FullRow extends InfoRow {
  /** Fires up to this time may have been pruned. */
  forgotten_to: Date | null
  job: unknown
  input: unknown
  last_error: string | null
  asked_fires: number
  turn_text: string
  now: number
}

/** A schedule as it is now: for people, and with its `turn` for a change that must not overwrite another one. */
export interface FoundSchedule {
  details: ScheduleDetails
  row: FullRow
  turn: string
  nowMs: number
}

export async function getSchedule(db: Queryable, name: string): Promise<FoundSchedule | undefined> {
  const [row] = await run(db, getSql, { name }, (found: FullRow) => found)
  if (row === undefined) return undefined
  const details = {
    ...toInfo(row),
    input: row.input,
    lastError: row.last_error,
    askedFires: row.asked_fires,
  }
  return { details, row, turn: row.turn_text, nowMs: row.now }
}

export function listSchedules(
  db: Queryable,
  request: { after: string; limit: number },
): Promise<ScheduleInfo[]> {
  return run(db, listSql, request, toInfo)
}

export function listFires(
  db: Queryable,
  request: { name: string; before: string; limit: number },
): Promise<Fire[]> {
  return run(db, firesSql, request, (row: Fire) => row)
}

/** The last fires of some schedules, by name, latest first. */
export async function recentFires(
  db: Queryable,
  request: { names: readonly string[]; limit: number },
): Promise<Map<string, Fire[]>> {
  const rows = await run(db, recentFiresSql, request, (row: Fire & { name: string }) => row)
  const byName = new Map(request.names.map((name): [string, Fire[]] => [name, []]))
  for (const { name, ...fire } of rows) byName.get(name)?.push(fire)
  return byName
}

export function firesWithin(
  db: Queryable,
  request: { name: string; from: string; to: string },
): Promise<Fire[]> {
  return run(db, firesWithinSql, request, (row: Fire) => row)
}

function toInfo(row: InfoRow): ScheduleInfo {
  const { name, spec, overlap, source, failures } = row
  const checked = read('job' in row ? row : { ...row, job: {} })
  return {
    name,
    kind: cut(row.kind),
    queue: cut(row.queue),
    rule: typeof checked === 'string' ? 'not valid' : describeRule(checked.schedule.rule),
    spec,
    timeZone: row.time_zone,
    startsAt: row.starts_at,
    endsAt: row.ends_at,
    // A constraint of the table checks these two.
    overlap: overlap as OverlapPolicy,
    missed: { policy: row.missed as MissedPolicy, limit: row.missed_limit, windowMs: row.missed_window_ms },
    jitterMs: row.jitter_ms,
    keepFiresMs: row.keep_fires_ms,
    source,
    appVersion: row.app_version,
    isOrphan: row.is_orphan,
    inputFromCode: row.input_from_code,
    isPaused: row.is_paused,
    pausedUntil: row.is_paused ? row.paused_until : null,
    pauseReason: row.is_paused ? row.pause_reason : null,
    nextFireAt: row.next_fire_at,
    lastFireAt: row.last_fire_at,
    lastOutcome: row.last_outcome,
    failures,
    invalid: typeof checked === 'string' ? checked : null,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** The checked schedule, or why it is not valid. */
function read(row: Omit<ScheduleRow, 'job'> & { job?: unknown }): CheckedSchedule | string {
  try {
    return checkSchedule({ ...row, job: row.job })
  } catch (error) {
    return messageOf(error)
  }
}

/** Shortens a stored name that is longer than any valid one. */
function cut(name: string): string {
  return name.length <= 200 ? name : `${name.slice(0, 200)}…`
}
