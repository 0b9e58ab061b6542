import type { JobState } from '../../core/job.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { lockSql } from './lock.sql.ts'

export interface LockedJob {
  id: string
  state: JobState
  epoch: number
  priority: number
  runAt: Date
  attempt: number
}

/** Locks a live job or a dead letter; undefined if it is neither, or its row is locked at this moment. */
export async function lockJob(tx: Queryable, id: string): Promise<LockedJob | undefined> {
  const [found] = await run(tx, lockSql, { id }, (row: LockedJob) => row)
  return found
}
