import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { replaySql } from './replay.sql.ts'

export interface ReplayRequest {
  id: string
  /** Of the dead letter that was looked at: one that was replayed and died again meanwhile has another. */
  epoch: number
  delayMs: number
}

/** Brings a dead letter back to life; false where no such one was there to bring back. */
export async function replay(db: Queryable, request: ReplayRequest): Promise<boolean> {
  const replayed = await run(db, replaySql, request, () => true)
  return replayed.length > 0
}
