import type { JobState } from '../core/job.ts'
import { toFates } from '../core/operation.ts'
import type { Fates } from '../core/operation.ts'
import { numbersIn } from '../core/stored-json.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { jobGlancesSql } from './job-glances.sql.ts'
import { operationGlancesSql } from './operation-glances.sql.ts'

/** What changes about a job, without what it carries or said. */
export interface JobGlance {
  id: string
  state: JobState
  queue: string
  kind: string
  key: string | null
  epoch: number
  attempt: number
  priority: number
  runAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  workerId: string | null
  cancelRequestedAt: Date | null
  /** Percent, as its handler last said. */
  progress: number | null
  discardedAt: Date | null
  replacedBy: string | null
  /** Another one after every write to its row, also where everything else is as it was. */
  revision: string
}

/** How these jobs are; those that are not there (any more) are left out. */
export function glanceAtJobs(db: Queryable, ids: readonly string[]): Promise<JobGlance[]> {
  return run(db, jobGlancesSql, { ids }, (row: JobGlance) => ({ ...row, progress: percentIn(row.progress) }))
}

/** Any number is stored in JSON: one that is too large for JavaScript is none. */
export function percentIn(stored: number | null): number | null {
  return stored !== null && Number.isFinite(stored) ? stored : null
}

/** What changes about an operation. */
export interface OperationGlance {
  id: string
  action: string
  state: string
  /** Jobs that were found for it so far. */
  noted: number
  /** Null until all are found. */
  matched: number | null
  acted: number
  skipped: number
  failed: number
  skippedBy: Readonly<Record<string, number>>
  /** What became of its jobs, in jobs; null where that is not followed. */
  fates: Fates | null
  note: string | null
  startedAt: Date | null
  finishedAt: Date | null
  /** Another one after every write to its row, also where everything else is as it was. */
  revision: string
}

export function glanceAtOperations(db: Queryable, ids: readonly string[]): Promise<OperationGlance[]> {
  return run(db, operationGlancesSql, { ids }, (row: OperationGlance) => ({
    ...row,
    skippedBy: numbersIn(row.skippedBy),
    fates: row.fates === null ? null : toFates(row.fates),
  }))
}
