import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { replaySql } from './replay.sql.ts'

export interface ReplayRequest {
  id: string
  /**
   * The epoch of the dead letter that the caller has read: one that was replayed and died again meanwhile has another.
   */
  epoch: number
  delayMs: number
}

/** Makes a dead letter a live job again; false if there is no such dead letter. */
export async function replay(db: Queryable, request: ReplayRequest): Promise<boolean> {
  const replayed = await run(db, replaySql, request, () => true)
  return replayed.length > 0
}
