import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { addLogSql } from './add-log.sql.ts'
import { askCancelSql } from './ask-cancel.sql.ts'
import { begunSql } from './begun.sql.ts'
import { cancellationsSql } from './cancellations.sql.ts'
import { holdRunningSql } from './hold-running.sql.ts'
import { progressSql } from './progress.sql.ts'
import type { Batch, ItemBatch } from '../settle.ts'

/** Writes progress. Returns for each job that is still ours whether it was written: its row may be locked just now. */
export async function progress(db: Queryable, batch: ItemBatch): Promise<ReadonlyMap<string, boolean>> {
  const rows = await run(db, progressSql, batch, (row: { id: string; isWritten: boolean }) => row)
  return new Map(rows.map(({ id, isWritten }) => [id, isWritten]))
}

/** `lines` is JSON text, a list. Lines of a lost lease are dropped: the attempt's row says that it was lost. */
export async function addLog(db: Queryable, lines: string): Promise<void> {
  await run(db, addLogSql, { lines }, () => undefined)
}

/** Locks the row of a running job to the end of the transaction; false if its lease is gone. */
export async function holdRunning(
  tx: Queryable,
  request: { id: string; lease: string; idleMs: number },
): Promise<boolean> {
  const held = await run(tx, holdRunningSql, { ...request, idleMs: String(request.idleMs) }, () => true)
  return held.length > 0
}

/** Notes that handlers have begun; returns the jobs for which it could be noted. */
export function noteBegun(db: Queryable, batch: Batch): Promise<string[]> {
  return run(db, begunSql, batch, (row: { id: string }) => row.id)
}

/** Asks a running job to stop. Returns its worker; undefined if it does not run, or its row is locked just now. */
export async function askCancel(
  db: Queryable,
  request: { id: string; reason: string | null },
): Promise<string | undefined> {
  const [asked] = await run(db, askCancelSql, request, (row: { worker: string }) => row.worker)
  return asked
}

export interface Cancellation {
  id: string
  leaseId: string
  reason: string | null
}

/** Which jobs of a worker were asked to stop. */
export function cancellations(db: Queryable, worker: string): Promise<Cancellation[]> {
  return run(db, cancellationsSql, { worker }, (row: Cancellation) => row)
}
