import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { replay } from '../../jobs/dead/replay.ts'
import { cancelSql } from './cancel.sql.ts'
import { deadMembersSql } from './dead-members.sql.ts'

/** Cancels a flow; false if there is no open flow with this id. Its jobs end soon, those that run are asked to stop. */
export async function cancelFlow(
  db: Queryable,
  request: { id: string; reason: string | null },
): Promise<boolean> {
  const cancelled = await run(db, cancelSql, request, () => true)
  return cancelled.length > 0
}

/**
 * Replays the dead jobs of a flow, at most 10,000: first those of flows that they made. Returns the ids that were replayed;
 * a job that another call replays at the same time is left out.
 */
export async function replayFlow(db: Queryable, id: string): Promise<string[]> {
  const dead = await run(db, deadMembersSql, { id }, (row: { id: string; epoch: number }) => row)
  const replayed: string[] = []
  for (const one of dead) if (await replay(db, { ...one, delayMs: 0 })) replayed.push(one.id)
  return replayed
}
