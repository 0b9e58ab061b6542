import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { addJobsSql } from './add-jobs.sql.ts'
import { byIntentSql } from './by-intent.sql.ts'
import { endByHandSql } from './end-by-hand.sql.ts'
import { executorsSql } from './executors.sql.ts'
import { insertSql } from './insert.sql.ts'
import { noteCursorSql } from './note-cursor.sql.ts'
import type { OperationSettings } from '../operation.ts'
import type { OperationAction, OperationState } from '../../core/operation.ts'
import { resumeSql } from './resume.sql.ts'
import { setPaceSql } from './set-pace.sql.ts'

export interface NewOperation {
  id: string
  intentId: string | null
  action: OperationAction
  filter: string | null
  asOf: Date
  settings: OperationSettings
  jobId: string
  reason: string
  actor: string
  role: string | null
  origin: string
  /** What is known to match, and whether that is all; otherwise the executor looks on below `cursor`. */
  ids: readonly string[]
  isAll: boolean
  cursor: string | undefined
}

/** Jobs that one statement notes: well within the time that a statement of the console may take. */
const mostAtOnce = 10_000

/** Stores an operation with the jobs that are known to match; false where this intent has been stored before. */
export async function insertOperation(
  tx: Queryable,
  { settings, ids, isAll, cursor, ...operation }: NewOperation,
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

/** Notes jobs that an operation is about; gives how many it has by now. */
export async function addJobs(
  tx: Queryable,
  request: { id: string; ids: readonly string[] },
): Promise<number | undefined> {
  const [noted] = await run(tx, addJobsSql, request, (row: { noted: number }) => row.noted)
  return noted
}

/** Notes how far matches have been looked for. */
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

/** Pauses or aborts an operation that is in one of these states; false where it is in another. */
export async function endByHand(
  tx: Queryable,
  request: { id: string; state: 'paused' | 'aborted'; from: readonly OperationState[]; note: string | null },
): Promise<boolean> {
  return (await run(tx, endByHandSql, request, () => true)).length > 0
}

/** Lets an operation go on by another job; false where it is neither paused nor left alone. */
export async function resumeOperation(
  tx: Queryable,
  request: { id: string; jobId: string },
): Promise<boolean> {
  return (await run(tx, resumeSql, request, () => true)).length > 0
}

export async function setPace(tx: Queryable, request: { id: string; pace: number | null }): Promise<boolean> {
  return (await run(tx, setPaceSql, request, () => true)).length > 0
}

/** Whether somebody is there who executes operations. */
export async function hasExecutor(db: Queryable, kind: string): Promise<boolean> {
  return (await run(db, executorsSql, { kind }, () => true)).length > 0
}
