import { StintError } from '../core/errors.ts'
import { toFates } from '../core/operation.ts'
import type {
  CanaryResult,
  Operation,
  OperationAction,
  OperationSettings,
  OperationState,
} from '../core/operation.ts'
import { numberIn, numbersIn } from '../core/json/stored-json.ts'
import { peek } from '../core/failures/thrown.ts'
import { pageStart } from '../core/uuid.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { commandLine } from './command-line.ts'
import { getSql } from './get.sql.ts'
import { listSql } from './list.sql.ts'

/** An operation with what only its executor needs. */
export interface StoredOperation extends Operation {
  /** How many matching jobs were found so far. */
  noted: number
  /** The search for matching jobs goes on below this id. */
  cursor: string | null
  /** Since when it waits for the canary. */
  canaryAt: Date | null
  /** When it last acted on a job. */
  actedAt: Date | null
  /** The time at which it was read. */
  now: Date
}

interface OperationRow {
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

export function toStored(row: OperationRow): StoredOperation {
  const { noted, cursor, canary_at: canaryAt, acted_at: actedAt, now } = row
  return { ...toOperation(row), noted, cursor, canaryAt, actedAt, now }
}

function toOperation(row: OperationRow): Operation {
  const { id, action, state, filter: where, matched, acted, skipped, failed } = row
  const { note, reason, actor, role, origin } = row
  const settings = settingsIn(row.settings)
  return {
    ...settings,
    ...{ id, action, state, where, matched, acted, skipped, failed, note, reason, actor, role, origin },
    frozenAt: row.as_of,
    jobId: row.job_id,
    untouched: matched === null ? null : matched - acted - skipped - failed,
    skippedBy: numbersIn(row.skipped_by),
    canaryResult: canaryIn(row.canary_result),
    fates: row.fates === null ? null : toFates(row.fates),
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    cli: commandLine({ action, where, ids: ['ID…'] }, settings, reason),
  }
}

/** Reads them from a JSON column. An operation without a stored `max` may act on no job. */
function settingsIn(stored: unknown): OperationSettings {
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
