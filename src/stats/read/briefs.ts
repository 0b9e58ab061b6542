import type { JobState } from '../../core/job.ts'
import { toFates } from '../../core/operation.ts'
import type { Fates } from '../../core/operation.ts'
import { numbersIn } from '../../core/json/stored-json.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { jobBriefsSql } from './job-briefs.sql.ts'
import { operationBriefsSql } from './operation-briefs.sql.ts'

/** What changes about a job, without what it carries or said. */
export interface JobBrief {
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
export function readJobBriefs(db: Queryable, ids: readonly string[]): Promise<JobBrief[]> {
  return run(db, jobBriefsSql, { ids }, (row: JobBrief) => ({ ...row, progress: percentIn(row.progress) }))
}

/** Any number is stored in JSON: one that is too large for JavaScript is none. */
export function percentIn(stored: number | null): number | null {
  return stored !== null && Number.isFinite(stored) ? stored : null
}

/** What changes about an operation. */
export interface OperationBrief {
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

export function readOperationBriefs(db: Queryable, ids: readonly string[]): Promise<OperationBrief[]> {
  return run(db, operationBriefsSql, { ids }, (row: OperationBrief) => ({
    ...row,
    skippedBy: numbersIn(row.skippedBy),
    fates: row.fates === null ? null : toFates(row.fates),
  }))
}
