import type { JobFate, JobOutcome } from '../core/operation.ts'
import { pageStart } from '../core/uuid.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { jobsByOutcomeSql } from './jobs-by-outcome.sql.ts'
import { jobsSql } from './jobs.sql.ts'

/** What an operation did to one job. */
export interface OperationJob {
  id: string
  /** Null until it is its turn. */
  outcome: JobOutcome | null
  /** Why it was skipped or failed. */
  reason: string | null
  /** What became of it after a replay; null where that is not followed. */
  fate: JobFate | null
}

export interface OperationJobPage {
  /** Newest first. */
  jobs: OperationJob[]
  /** Where the next page begins; undefined when there is no more. */
  next: string | undefined
}

export async function listOperationJobs(
  db: Queryable,
  {
    id,
    outcome,
    before,
    limit,
  }: { id: string; outcome: JobOutcome | null; before: string | null; limit: number },
): Promise<OperationJobPage> {
  const upTo = pageStart(before)
  if (upTo === undefined) return { jobs: [], next: undefined }
  const request = { id, upTo, limit: limit + 1 }
  const read = (row: OperationJob): OperationJob => row
  const found = await (outcome === null
    ? run(db, jobsSql, request, read)
    : run(db, jobsByOutcomeSql, { ...request, outcome }, read))
  return { jobs: found.slice(0, limit), next: found.length > limit ? found[limit - 1]?.id : undefined }
}
