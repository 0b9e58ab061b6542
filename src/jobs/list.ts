import { toJobSummary } from '../core/job.ts'
import type { JobState, JobSummary } from '../core/job.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { listEndSql } from './list-end.sql.ts'
import { listSql } from './list.sql.ts'

export interface ListRequest {
  states: readonly JobState[] | null
  queue: string | null
  kind: string | null
  key: string | null
  correlationId: string | null
  /** The id to go on below. */
  before: string | null
  limit: number
}

export interface JobPage {
  /** Newest first, without what they carry. */
  jobs: JobSummary[]
  /**
   * Where the next page begins; undefined when there is no more. A page with few or no jobs and a `next` looked
   * through 50,000 jobs and found no more that match.
   */
  next: string | undefined
}

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const windowSize = 50_000

/** One page of jobs that match, newest first. */
export async function list(db: Queryable, { limit, before, ...filter }: ListRequest): Promise<JobPage> {
  const start = before ?? lastId
  const isFiltered = Object.values(filter).some((value) => value !== null)
  const window = isFiltered ? windowSize : limit + 1
  const found = await run(db, listSql, { ...filter, before: start, window, limit: limit + 1 }, toJobSummary)
  if (found.length > limit) return { jobs: found.slice(0, limit), next: found[limit - 1]?.id }
  const [end] = isFiltered
    ? await run(db, listEndSql, { before: start, window }, (row: { id: string }) => row.id)
    : []
  return { jobs: found, next: end }
}
