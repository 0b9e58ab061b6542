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

/** Holds a job that lives or is dead; undefined where it is neither, or is in use at this moment. */
export async function lockJob(tx: Queryable, id: string): Promise<LockedJob | undefined> {
  const [found] = await run(tx, lockSql, { id }, (row: LockedJob) => row)
  return found
}
