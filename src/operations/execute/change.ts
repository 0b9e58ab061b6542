import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { addJobsSql } from './add-jobs.sql.ts'
import { byIntentSql } from './by-intent.sql.ts'
import { endByHandSql } from './end-by-hand.sql.ts'
import { executorsSql } from './executors.sql.ts'
import { insertSql } from './insert.sql.ts'
import { noteCursorSql } from './note-cursor.sql.ts'
import type { Operation, OperationSettings, OperationState } from '../../core/operation.ts'
import { resumeSql } from './resume.sql.ts'
import { setPaceSql } from './set-pace.sql.ts'

export interface InsertRequest extends Pick<
  Operation,
  'id' | 'action' | 'frozenAt' | 'jobId' | 'reason' | 'actor' | 'role' | 'origin'
> {
  intentId: string | null
  filter: string | null
  settings: OperationSettings
  /** The jobs that are known to match, and whether these are all; otherwise the executor searches on below `cursor`. */
  ids: readonly string[]
  isAll: boolean
  cursor: string | undefined
}

/** Jobs that one statement stores: it ends well within the statement timeout of the console. */
const mostAtOnce = 10_000

/** Stores an operation with the jobs that are known to match; false if this intent was stored before. */
export async function insertOperation(
  tx: Queryable,
  { settings, ids, isAll, cursor, ...operation }: InsertRequest,
): Promise<boolean> {
  const request = { ...operation, cursor: cursor ?? null, settings: JSON.stringify(settings) }
  const stored = await run(tx, insertSql, request, () => true)
  if (stored.length === 0) return false
  const { id } = operation
  for (let at = 0; at < ids.length; at += mostAtOnce)
    await addJobs(tx, { id, ids: ids.slice(at, at + mostAtOnce) })
  await noteCursor(tx, { id, cursor, isAll })
  return true
}

/** Stores jobs of an operation; returns how many it has now. */
export async function addJobs(
  tx: Queryable,
  request: { id: string; ids: readonly string[] },
): Promise<number | undefined> {
  const [noted] = await run(tx, addJobsSql, request, (row: { noted: number }) => row.noted)
  return noted
}

/** Stores how far the search for matching jobs has come. */
export async function noteCursor(
  tx: Queryable,
  { id, cursor, isAll }: { id: string; cursor: string | undefined; isAll: boolean },
): Promise<void> {
  await run(tx, noteCursorSql, { id, cursor: cursor ?? null, isAll }, () => undefined)
}

export async function operationOfIntent(db: Queryable, intentId: string): Promise<string | undefined> {
  const [id] = await run(db, byIntentSql, { intentId }, (row: { id: string }) => row.id)
  return id
}

/** Pauses or aborts an operation that is in one of these states; false if it is in another. */
export async function endByHand(
  tx: Queryable,
  request: { id: string; state: 'paused' | 'aborted'; from: readonly OperationState[]; note: string | null },
): Promise<boolean> {
  return (await run(tx, endByHandSql, request, () => true)).length > 0
}

/** Resumes an operation under another job; false if it is neither paused nor without a job. */
export async function resumeOperation(
  tx: Queryable,
  request: { id: string; jobId: string },
): Promise<boolean> {
  return (await run(tx, resumeSql, request, () => true)).length > 0
}

export async function setPace(tx: Queryable, request: { id: string; pace: number | null }): Promise<boolean> {
  return (await run(tx, setPaceSql, request, () => true)).length > 0
}

/** Whether a live process executes operations. */
export async function hasExecutor(db: Queryable, kind: string): Promise<boolean> {
  return (await run(db, executorsSql, { kind }, () => true)).length > 0
}
