import type { JobState } from '../../core/job.ts'
import { toFates } from '../../core/operation.ts'
import type { Operation } from '../../core/operation.ts'
import { numbersIn } from '../../core/json/stored-json.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { jobBriefsSql } from './job-briefs.sql.ts'
import { operationBriefsSql } from './operation-briefs.sql.ts'

/** The fields of a job that change while it lives, without input, result and error. */
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
  /** Percent, as its handler last reported. */
  progress: number | null
  discardedAt: Date | null
  replacedBy: string | null
  /** Differs after every write to its row, even if all other fields are unchanged. */
  revision: string
}

/** The state of these jobs; jobs that do not exist (any more) are left out. */
export function readJobBriefs(db: Queryable, ids: readonly string[]): Promise<JobBrief[]> {
  return run(db, jobBriefsSql, { ids }, (row: JobBrief) => ({ ...row, progress: percentIn(row.progress) }))
}

/** JSON holds numbers of any size: one that is too large for JavaScript becomes null. */
export function percentIn(stored: number | null): number | null {
  return stored !== null && Number.isFinite(stored) ? stored : null
}

/** The fields of an operation that change while it lives. */
export interface OperationBrief extends Pick<
  Operation,
  | 'id'
  | 'action'
  | 'state'
  | 'matched'
  | 'acted'
  | 'skipped'
  | 'failed'
  | 'skippedBy'
  | 'fates'
  | 'note'
  | 'startedAt'
  | 'finishedAt'
> {
  /** How many matching jobs were found so far. */
  noted: number
  /** Differs after every write to the row, even if all other fields are the same. */
  revision: string
}

export function readOperationBriefs(db: Queryable, ids: readonly string[]): Promise<OperationBrief[]> {
  return run(db, operationBriefsSql, { ids }, (row: OperationBrief) => ({
    ...row,
    skippedBy: numbersIn(row.skippedBy),
    fates: row.fates === null ? null : toFates(row.fates),
  }))
}
