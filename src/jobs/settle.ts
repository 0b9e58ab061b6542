import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { cancelRunningSql } from './cancel-running.sql.ts'
import { cutRowSql } from './cut-row.sql.ts'
import { deadLetterSql } from './dead-letter.sql.ts'
import { putBackSql } from './put-back.sql.ts'
import { refusedSql } from './refused.sql.ts'
import { retrySql } from './retry.sql.ts'
import { settledSql } from './settled.sql.ts'
import { succeedSql } from './succeed.sql.ts'
import { thrownLateSql } from './thrown-late.sql.ts'

/**
 * The endings of an attempt, each a statement over many jobs. All return the ids that they moved: a job that is missing
 * had lost its lease. `items` is JSON text, an object by job id; the .sql files say what is in it.
 */
export interface Batch {
  ids: readonly string[]
  leaseIds: readonly string[]
}

interface Settlement extends Batch {
  /**
   * How long the server may wait for a locked row; null keeps the limit of the transaction. Without a limit
   * the server would go on waiting after we gave up, and keep the rows that it has locked: behind a pooler our cancel
   * request does not reach it.
   */
  lockMs: number | null
}

export type ItemBatch = Batch & { items: string }
type Itemized = Settlement & { items: string }
type Noted = Itemized & { worker: string }

/** `results` is an object by id, or null if no job has one. */
export function succeed(db: Queryable, batch: Settlement & { results: string | null }): Promise<string[]> {
  return run(db, succeedSql, batch, toId)
}

export function retry(db: Queryable, batch: Noted): Promise<string[]> {
  return run(db, retrySql, batch, toId)
}

export function putBack(db: Queryable, batch: Noted): Promise<string[]> {
  return run(db, putBackSql, batch, toId)
}

export function deadLetter(db: Queryable, batch: Itemized): Promise<string[]> {
  return run(db, deadLetterSql, batch, toId)
}

export function cancelRunning(db: Queryable, batch: Itemized): Promise<string[]> {
  return run(db, cancelRunningSql, batch, toId)
}

/** Cuts values that are too long to be stored with their endings; returns the cut columns by job id. */
export async function cutRows(db: Queryable, batch: Batch): Promise<Map<string, string[]>> {
  const rows = await run(db, cutRowSql, batch, (row: { id: string; columns: string[] }) => row)
  return new Map(rows.map(({ id, columns }) => [id, columns]))
}

/** Which of them were settled under these leases, asked when a reply was lost. */
export function settled(db: Queryable, request: Batch & { sinceMs: number }): Promise<string[]> {
  return run(db, settledSql, request, toId)
}

/** Notes results that came too late; `items` is JSON text, a list. */
export async function noteRefused(db: Queryable, items: string): Promise<void> {
  await run(db, refusedSql, { items }, () => undefined)
}

/** Notes an error that a job's code threw after its attempt was over; `error` is JSON text. */
export async function noteThrownLate(
  db: Queryable,
  request: { id: string; epoch: number; attempt: number; worker: string; error: string; fingerprint: string },
): Promise<void> {
  await run(db, thrownLateSql, request, () => undefined)
}

function toId(row: { id: string }): string {
  return row.id
}
