import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { cancelSql } from './cancel.sql.ts'
import { replayMembersSql } from './replay-members.sql.ts'

/** Cancels a flow; false if there is no open flow with this id. Its jobs end soon, those that run are asked to stop. */
export async function cancelFlow(
  db: Queryable,
  request: { id: string; reason: string | null },
): Promise<boolean> {
  const cancelled = await run(db, cancelSql, request, () => true)
  return cancelled.length > 0
}

/** A job that is ready again. */
export interface ReplayedMember {
  id: string
  queue: string
  priority: number
  key: string | null
}

/**
 * Replays the dead jobs of a flow and of the flows that they made, at most 10,000: those of the deepest flows first. Returns
 * the jobs that were replayed; one that another call replays at the same time is left out.
 */
export async function replayFlow(db: Queryable, id: string): Promise<ReplayedMember[]> {
  return run(db, replayMembersSql, { id }, (row: ReplayedMember) => row)
}
