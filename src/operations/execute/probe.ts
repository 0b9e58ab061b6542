import type { JobSummary } from '../../core/job.ts'
import type { Where } from '../../core/filter/where.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { findJobs } from '../../jobs/search/search.ts'
import { asOfSql } from './as-of.sql.ts'
import { quarantinedSql } from './quarantined.sql.ts'

export interface Probe {
  ids: string[]
  /** Whether these are all; otherwise the search goes on below `cursor`. */
  isAll: boolean
  cursor: string | undefined
}

export interface ProbeRequest {
  where: Where
  asOf?: Date | undefined
  /** The id to go on below. */
  before?: string | undefined
  most: number
  mostMs: number
  /** Takes only matching jobs for which this returns true. @default all */
  takes?: Takes | undefined
}

export type Takes = (job: Pick<JobSummary, 'queue' | 'kind' | 'key'>) => boolean

/** As many rows as one statement of a search reads. */
const pageSize = 5_000

/**
 * The ids of jobs that match, newest first: at most `most` of them, and no longer than `mostMs`. With `takes` it may be a
 * few more, because whole pages are asked about.
 */
export async function probe(
  db: Queryable,
  { where, asOf, before: start, most, mostMs, takes }: ProbeRequest,
): Promise<Probe> {
  const giveUpAt = performance.now() + mostMs
  const ids: string[] = []
  let before = start
  do {
    const limit = takes === undefined ? Math.min(pageSize, most - ids.length) : pageSize
    const page = await findJobs(db, { where, asOf, before, limit })
    for (const job of page.jobs) if (takes?.(job) ?? true) ids.push(job.id)
    before = page.next
    if (before === undefined) return { ids, isAll: true, cursor: undefined }
  } while (ids.length < most && performance.now() < giveUpAt)
  return { ids, isAll: false, cursor: before }
}

/** The `frozenAt` of an operation that starts now. */
export async function momentOf(db: Queryable): Promise<Date> {
  const [asOf = new Date(0)] = await run(db, asOfSql, {}, (row: { asOf: Date }) => row.asOf)
  return asOf
}

/** How many of these dead letters crashed their worker. */
export async function countQuarantined(db: Queryable, ids: readonly string[]): Promise<number> {
  const [jobs = 0] = await run(db, quarantinedSql, { ids }, (row: { jobs: number }) => row.jobs)
  return jobs
}
