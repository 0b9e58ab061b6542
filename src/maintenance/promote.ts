import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { promoteSql } from './promote.sql.ts'

/** A job that is ready again, and where. */
export interface Returned {
  id: string
  queue: string
  priority: number
  runAt: string
  key: string | null
}

export interface Promoted {
  ready: Returned[]
  /** When the next one falls due; undefined where none waits for its time. */
  nextInMs: number | undefined
}

type PromotedRow = Returned & { inMs: number | null }

/** Makes due jobs of these queues ready, at most `limit` of each. */
export async function promote(
  db: Queryable,
  request: { queues: readonly string[]; limit: number },
): Promise<Promoted> {
  const rows = await run(db, promoteSql, request, (row: PromotedRow) => row)
  const end = rows.pop()
  return { ready: rows, nextInMs: end?.inMs ?? undefined }
}
