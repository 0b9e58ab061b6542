import { jobStates, toJobSummary } from '../../core/job.ts'
import type { JobState, JobSummary } from '../../core/job.ts'
import { pageStart } from '../../core/uuid.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
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

/** Rows one statement looks through. With many more the planner, unless its statistics are fresh, sorts the table. */
const windowSize = 5_000
const maxWindows = 10

/** One page of jobs that match, newest first. */
export async function list(db: Queryable, { limit, before, ...filter }: ListRequest): Promise<JobPage> {
  const found: JobSummary[] = []
  const places = placesOf(filter.states ?? jobStates)
  let next = before ?? undefined
  for (let windows = 0; windows < maxWindows; windows++) {
    const upTo = pageStart(next)
    if (upTo === undefined) return { jobs: found, next: undefined }
    const wanted = limit + 1 - found.length
    found.push(
      ...(await run(
        db,
        listSql,
        { ...filter, places, upTo, window: windowSize, limit: wanted },
        toJobSummary,
      )),
    )
    if (found.length > limit) return { jobs: found.slice(0, limit), next: found[limit - 1]?.id }
    const [end] = await run(
      db,
      listEndSql,
      { places, upTo, window: windowSize },
      (row: { id: string }) => row.id,
    )
    if (end === undefined) return { jobs: found, next: undefined }
    next = end
  }
  return { jobs: found, next }
}

/** Which of the three tables jobs in these states are in. */
function placesOf(states: readonly JobState[]): string[] {
  const places = states.map((state) => {
    if (state === 'dead') return 'dead'
    return state === 'succeeded' || state === 'cancelled' ? 'finished' : 'live'
  })
  return [...new Set(places)]
}
