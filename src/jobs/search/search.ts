import { toJobSummary } from '../../core/job.ts'
import type { JobSummary, JobSummaryRow } from '../../core/job.ts'
import { pageStart } from '../../core/uuid.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { withWholeIds } from './id-ends.ts'
import { deadFactsSql } from './dead-facts.sql.ts'
import { planOf, tablesOf } from './plan.ts'
import type { SearchFilter } from './search-filter.ts'
import { searchNowSql } from './search-now.sql.ts'
import type { Found } from './sources.ts'

/** A job that was found, without what it carries; of a dead letter, what it died of. */
export interface FoundJob extends JobSummary {
  error: { name: string | null; message: string | null; group: string | null } | null
}

export interface SearchPage {
  /** Newest first. */
  jobs: FoundJob[]
  /** Where the next page begins; undefined when there is no more. */
  next: string | undefined
  /** How far it looked for what has no index: complete, or `rows` jobs and then up to `next`. */
  looked: { rows: number; isComplete: boolean }
  asOf: Date
}

export interface SearchRequest {
  where: SearchFilter
  /** The id to go on below. */
  before?: string | undefined
  limit: number
  /** Only jobs that were there, and dead letters that were dead, at this time. */
  asOf?: Date | undefined
  /**
   * Reads only the view stint.jobs, a window at a time, and no index of a table: a viewer has no right to the tables, and
   * a page of a common filter costs one statement. @default false
   */
  isByWindow?: boolean | undefined
  /** After this it answers with what it has, and `next` goes on from there. @default 120 */
  mostMs?: number | undefined
}

/*
 * A search goes newest first, by keyset, through up to three tables. Each table is a source that searches a bounded range
 * below an id and says how far it got. The answer covers the range that all sources have searched; the rest is searched
 * again for the next page.
 *
 * list(), dead.list() and search() of the client are this one search: the first two write their typed options as a filter.
 */
const mostRows = 50_000
/** A page should take 300 ms at most, including the last statement. */
const usualMs = 120

/** A page of jobs that match, newest first, and what the dead letters among them died of. */
export async function search(db: Queryable, request: SearchRequest): Promise<SearchPage> {
  const asOf = await databaseTime(db)
  const { jobs, ...page } = await findAt(db, request, asOf)
  const dead = jobs.filter(({ state }) => state === 'dead').map(({ id }) => id)
  // Also without a dead letter where only those were asked for: a role that may not read them gets an error, not an empty page.
  const isAsked = dead.length > 0 || tablesOf(request.where).every((table) => table === 'dead')
  const facts = isAsked ? await deadFacts(db, dead) : new Map<string, FoundJob['error']>()
  return { ...page, jobs: jobs.map((job) => ({ ...job, error: facts.get(job.id) ?? null })), asOf }
}

/** The same page without what dead letters died of. */
export async function findJobs(db: Queryable, request: SearchRequest): Promise<FoundPage> {
  const { olderMs, youngerMs } = request.where
  const hasAge = olderMs !== undefined || youngerMs !== undefined
  return findAt(db, request, hasAge ? await databaseTime(db) : undefined)
}

type FoundPage = Omit<SearchPage, 'jobs' | 'asOf'> & { jobs: JobSummary[] }

async function findAt(db: Queryable, request: SearchRequest, now: Date | undefined): Promise<FoundPage> {
  const { limit, before, asOf, isByWindow = false, mostMs = usualMs } = request
  const startedAt = performance.now()
  const where = await withWholeIds(db, request.where)
  const plan = await planOf(db, { where, asOf, now, isByWindow })
  const found: JobSummaryRow[] = []
  let rows = 0
  let upTo = lower(plan.upTo, pageStart(before))
  for (;;) {
    const wanted = limit + 1 - found.length
    const answers: Found[] = []
    if (upTo !== undefined)
      for (const source of plan.sources) answers.push(await source({ upTo, limit: wanted }))
    const end = highest(answers.map((answer) => endOf(answer, wanted)))
    rows += answers.reduce((sum, { looked }) => sum + looked, 0)
    found.push(...merged(answers, end))
    if (found.length > limit) {
      const page = found.slice(0, limit)
      return pageOf(page, { next: page.at(-1)?.id, rows, isComplete: true })
    }
    if (end === undefined) return pageOf(found, { next: undefined, rows, isComplete: true })
    upTo = pageStart(end)
    if (rows >= mostRows || performance.now() - startedAt > mostMs)
      return pageOf(found, { next: end, rows, isComplete: false })
  }
}

/** The time that ages are counted from. */
async function databaseTime(db: Queryable): Promise<Date> {
  const [now = new Date(0)] = await run(db, searchNowSql, {}, (row: { now: Date }) => row.now)
  return now
}

function lower(a: string, b: string | undefined): string | undefined {
  return b === undefined || b < a ? b : a
}

/** A source that gave as many as it was asked for may have more right below the last. */
function endOf({ rows, end }: Found, wanted: number): string | undefined {
  return rows.length >= wanted ? rows.at(-1)?.id : end
}

function highest(ends: readonly (string | undefined)[]): string | undefined {
  return ends.reduce((a, b) => (a === undefined || (b !== undefined && b > a) ? b : a), undefined)
}

/** The rows of all sources down to an id, newest first. */
function merged(answers: readonly Found[], end: string | undefined): JobSummaryRow[] {
  const rows = answers
    .flatMap((answer) => answer.rows)
    .filter(({ id }) => end === undefined || id >= end)
    .sort((a, b) => (a.id < b.id ? 1 : -1))
  // A job that moved from one table to another while we looked is there twice.
  return rows.filter(({ id }, index) => id !== rows[index - 1]?.id)
}

function pageOf(
  found: readonly JobSummaryRow[],
  { next, rows, isComplete }: { next: string | undefined; rows: number; isComplete: boolean },
): FoundPage {
  const looked = { rows: Math.max(rows, found.length), isComplete }
  return { jobs: found.map((row) => toJobSummary(row)), next, looked }
}

/** What dead letters died of, by id. */
async function deadFacts(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, NonNullable<FoundJob['error']>>> {
  type Row = { id: string; fingerprint: string | null; name: string | null; message: string | null }
  const rows = await run(db, deadFactsSql, { ids }, (row: Row) => row)
  return new Map(
    rows.map(({ id, name, message, fingerprint }) => [id, { name, message, group: fingerprint }]),
  )
}
