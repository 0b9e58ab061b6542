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

/** Makes due jobs of these queues ready, at most `limit` of each. */
export function promote(
  db: Queryable,
  request: { queues: readonly string[]; limit: number },
): Promise<Returned[]> {
  return run(db, promoteSql, request, (row: Returned) => row)
}
