import { StintError } from '../core/errors.ts'
import { toFates } from '../core/operation.ts'
import type { Fates, OperationAction, OperationState } from '../core/operation.ts'
import { numberIn, numbersIn } from '../core/json/stored-json.ts'
import { peek } from '../core/failures/thrown.ts'
import { pageStart } from '../core/uuid.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { getSql } from './get.sql.ts'
import { listSql } from './list.sql.ts'

/** Percent of the canary, and then of all that have ended, above which it stops; null where that does not stop it. */
export interface StopRule {
  /** That failed with the error they had died of. */
  sameError: number | null
  /** That failed with any error. */
  anyFailure: number | null
}

export interface OperationSettings {
  /** How many ids it was given; 0 for a filter. */
  ids: number
  /** Of reprioritize. */
  priority: number | null
  /** Jobs that are tried first. */
  canary: number
  /** Jobs a second after the canary; null: as fast as it goes. */
  pace: number | null
  stopIf: StopRule
  max: number
  /** Of the jobs to be replayed, those that crashed their worker. */
  crashed: number
}

export interface CanaryResult {
  /** Jobs of the canary that have come to an end. */
  decided: number
  succeeded: number
  failed: number
  /** Of the failed ones, those with the error that they had died of. */
  sameError: number
}

/** One action over many jobs. `acted + skipped + failed + untouched = matched`. */
export interface Operation extends OperationSettings {
  id: string
  action: OperationAction
  state: OperationState
  /** Null where ids were given. */
  where: string | null
  /** Jobs that match only later are not taken. */
  asOf: Date
  /** The Stint job that executes it. */
  jobId: string
  /** Null until all that match are noted. */
  matched: number | null
  acted: number
  skipped: number
  failed: number
  skippedBy: Readonly<Record<string, number>>
  canaryResult: CanaryResult | null
  /** What became of the jobs that a replay brought back; null for other actions. */
  fates: Fates | null
  /** Why it stopped or paused. */
  note: string | null
  reason: string
  actor: string
  role: string | null
  origin: string
  createdAt: Date
  startedAt: Date | null
  finishedAt: Date | null
}

export interface OperationRow {
  id: string
  action: OperationAction
  state: OperationState
  filter: string | null
  as_of: Date
  settings: unknown
  job_id: string
  noted: number
  cursor: string | null
  matched: number | null
  acted: number
  skipped: number
  failed: number
  skipped_by: unknown
  canary_at: Date | null
  canary_result: unknown
  fates: unknown
  acted_at: Date | null
  note: string | null
  reason: string
  actor: string
  role: string | null
  origin: string
  created_at: Date
  started_at: Date | null
  finished_at: Date | null
  paused_in: OperationState | null
  now: Date
}

export async function getOperation(db: Queryable, id: string): Promise<Operation | undefined> {
  const [found] = await run(db, getSql, { id }, toOperation)
  return found
}

export interface OperationPage {
  /** Newest first. */
  operations: Operation[]
  /** Where the next page begins; undefined when there is no more. */
  next: string | undefined
}

export async function listOperations(
  db: Queryable,
  {
    states,
    before,
    limit,
  }: { states: readonly OperationState[] | null; before: string | null; limit: number },
): Promise<OperationPage> {
  const upTo = pageStart(before)
  if (upTo === undefined) return { operations: [], next: undefined }
  const request = { states, upTo, limit: limit + 1 }
  const found = await run(db, listSql, request, toOperation)
  return {
    operations: found.slice(0, limit),
    next: found.length > limit ? found[limit - 1]?.id : undefined,
  }
}

export function missingOperation(id: string): never {
  throw new StintError('operation-not-found', `There is no operation ${id}.`)
}

function toOperation(row: OperationRow): Operation {
  return {
    ...settingsIn(row.settings),
    id: row.id,
    action: row.action,
    state: row.state,
    where: row.filter,
    asOf: row.as_of,
    jobId: row.job_id,
    matched: row.matched,
    acted: row.acted,
    skipped: row.skipped,
    failed: row.failed,
    skippedBy: numbersIn(row.skipped_by),
    canaryResult: canaryIn(row.canary_result),
    fates: row.fates === null ? null : toFates(row.fates),
    note: row.note,
    reason: row.reason,
    actor: row.actor,
    role: row.role,
    origin: row.origin,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
  }
}

/** What is stored of them. Without a number of jobs that it may act on at most, it may act on none. */
export function settingsIn(stored: unknown): OperationSettings {
  const stopIf = peek(stored, 'stopIf')
  const pace = numberIn(stored, 'pace')
  return {
    ids: numberIn(stored, 'ids') ?? 0,
    priority: numberIn(stored, 'priority'),
    canary: numberIn(stored, 'canary') ?? 0,
    pace: pace !== null && pace > 0 ? pace : null,
    stopIf: { sameError: numberIn(stopIf, 'sameError'), anyFailure: numberIn(stopIf, 'anyFailure') },
    max: numberIn(stored, 'max') ?? 0,
    // An earlier version did not store it.
    crashed: numberIn(stored, 'crashed') ?? 0,
  }
}

function canaryIn(stored: unknown): CanaryResult | null {
  const [decided, succeeded] = [numberIn(stored, 'decided'), numberIn(stored, 'succeeded')]
  const [failed, sameError] = [numberIn(stored, 'failed'), numberIn(stored, 'sameError')]
  if (decided === null || succeeded === null || failed === null || sameError === null) return null
  return { decided, succeeded, failed, sameError }
}
