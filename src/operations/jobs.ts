import type { JobFate, JobOutcome } from '../core/operation.ts'
import { pageStart } from '../core/uuid.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { jobsByOutcomeSql } from './jobs-by-outcome.sql.ts'
import { jobsSql } from './jobs.sql.ts'

/** What an operation did to one job. */
export interface OperationJob {
  id: string
  /** Null until the operation comes to this job. */
  outcome: JobOutcome | null
  /** Why it was skipped or failed. */
  reason: string | null
  /** How the job ended after its replay; null for other actions. */
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
