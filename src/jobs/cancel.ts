import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { cancelSql } from './cancel.sql.ts'

/** Cancels a job that is not running; false if there was no such job. */
export async function cancel(
  db: Queryable,
  request: { id: string; reason: string | null },
): Promise<boolean> {
  const cancelled = await run(db, cancelSql, request, () => true)
  return cancelled.length > 0
}
