import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { addLogSql } from './add-log.sql.ts'
import { holdRunningSql } from './hold-running.sql.ts'
import { progressSql } from './progress.sql.ts'
import type { ItemBatch } from './settle.ts'

/** Writes progress. Answers for each job that is still ours whether it could: its row may be in use just now. */
export async function progress(db: Queryable, batch: ItemBatch): Promise<ReadonlyMap<string, boolean>> {
  const rows = await run(db, progressSql, batch, (row: { id: string; isWritten: boolean }) => row)
  return new Map(rows.map(({ id, isWritten }) => [id, isWritten]))
}

/** `lines` is JSON text, a list. Lines of a lost lease are dropped in silence: its attempt row tells the story. */
export async function addLog(db: Queryable, lines: string): Promise<void> {
  await run(db, addLogSql, { lines }, () => undefined)
}

/** Holds the row of a running job to the end of the transaction; false where its lease is gone. */
export async function holdRunning(
  tx: Queryable,
  request: { id: string; lease: string; idleMs: number },
): Promise<boolean> {
  const held = await run(tx, holdRunningSql, { ...request, idleMs: String(request.idleMs) }, () => true)
  return held.length > 0
}
