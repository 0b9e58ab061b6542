import { StintError } from '../../core/errors.ts'
import { toJobSummary } from '../../core/job.ts'
import type { JobState, JobSummary, JobSummaryRow } from '../../core/job.ts'
import { firstUuid, lastUuid, pageStart, uuidTime } from '../../core/uuid.ts'
import type { Where } from '../../core/filter/where.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { withWholeIds } from './id-ends.ts'
import { deadFactsSql } from './dead-facts.sql.ts'
import { deadFingerprintsSql } from './dead-fingerprints.sql.ts'
import { deadKindsSql } from './dead-kinds.sql.ts'
import { searchCorrelationSql } from './search-correlation.sql.ts'
import { searchDeadSql } from './search-dead.sql.ts'
import { filterOf } from './search-filter.ts'
import type { Filter } from './search-filter.ts'
import { searchIdsSql } from './search-ids.sql.ts'
import { searchLiveQueuesSql } from './search-live-queues.sql.ts'
import { searchLiveSql } from './search-live.sql.ts'
import { searchNowSql } from './search-now.sql.ts'
import { searchWindowEndSql } from './search-window-end.sql.ts'
import { searchWindowSql } from './search-window.sql.ts'

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
  where: Where
  /** The id to go on below. */
  before?: string | undefined
  limit: number
  /** Only jobs that were there, and dead letters that were dead, at this time. */
  asOf?: Date | undefined
  /** Only the jobs, not what they died of. */
  isBare?: boolean | undefined
}

/*
 * A search goes newest first, by keyset, through up to three tables. Each table is a source that searches a bounded range
 * below an id and says how far it got. The answer covers the range that all sources have searched; the rest is searched
 * again for the next page.
 *
 * Tokens with an index lead to their rows; the others are searched in a window. `stint.job` has only the indexes of the
 * hot path: if few jobs are in a state or queue, those indexes collect them; if many are, the window finds them.
 */
/** Rows one statement looks through; with many more the planner, unless its statistics are fresh, sorts the table. */
const windowSize = 5_000
const smallWindow = 500
const mostRows = 50_000
/** After this it answers with what it has: a page should take 300 ms at most, including the last statement. */
const mostMs = 120
/** So many jobs of a state are collected and sorted. */
const mostCollected = 5_000
/** Kinds that a beginning (`charge.*`) may stand for and still be looked up one by one. */
const mostValues = 50
/** Error groups that a beginning may stand for. */
const mostGroups = 1_000
/** An id says when it was made by its producer's clock, which may be wrong by so much. */
const clockSlackMs = 86_400_000

interface Found {
  rows: SearchRow[]
  /** It looked down to here; undefined where there is nothing left below. */
  end: string | undefined
  looked: number
}

/** Searches from one id downwards, that one included. */
type Source = (request: { upTo: string; limit: number }) => Promise<Found>

interface SearchRow extends JobSummaryRow {
  fingerprint?: string | null
}

export async function search(db: Queryable, asked: SearchRequest): Promise<SearchPage> {
  const request = { ...asked, where: await withWholeIds(db, asked.where) }
  const { limit, before } = request
  const startedAt = performance.now()
  const now = await databaseTime(db)
  const plan = await planOf(db, request, now)
  const found: SearchRow[] = []
  let looked = 0
  let upTo = lower(plan.upTo, pageStart(before))
  for (;;) {
    const wanted = limit + 1 - found.length
    const answers = []
    if (upTo !== undefined)
      for (const source of plan.sources) answers.push(await source({ upTo, limit: wanted }))
    const end = highest(answers.map((answer) => endOf(answer, wanted)))
    looked += answers.reduce((sum, answer) => sum + answer.looked, 0)
    const rows = answers
      .flatMap((answer) => answer.rows)
      .filter(({ id }) => end === undefined || id >= end)
      .sort((a, b) => (a.id < b.id ? 1 : -1))
    // A job that moved from one table to another while we looked is there twice.
    found.push(...rows.filter(({ id }, index) => id !== rows[index - 1]?.id))
    const page = { asOf: now, rows: looked, isBare: request.isBare ?? false }
    if (found.length > limit)
      return answer(db, {
        ...page,
        found: found.slice(0, limit),
        next: found[limit - 1]?.id,
        isComplete: true,
      })
    if (end === undefined) return answer(db, { ...page, found, next: undefined, isComplete: true })
    upTo = pageStart(end)
    if (looked >= mostRows || performance.now() - startedAt > mostMs)
      return answer(db, { ...page, found, next: end, isComplete: false })
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

async function answer(
  db: Queryable,
  {
    found,
    next,
    rows,
    isComplete,
    asOf,
    isBare,
  }: {
    found: SearchRow[]
    next: string | undefined
    rows: number
    isComplete: boolean
    asOf: Date
    isBare: boolean
  },
): Promise<SearchPage> {
  const dead = isBare ? [] : found.filter(({ state }) => state === 'dead').map(({ id }) => id)
  const facts = await deadFacts(db, dead)
  const jobs = found.map((row) => ({ ...toJobSummary(row), error: facts.get(row.id) ?? null }))
  return { jobs, next, looked: { rows: Math.max(rows, found.length), isComplete }, asOf }
}

/** What dead letters died of, by id. */
export async function deadFacts(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, NonNullable<FoundJob['error']>>> {
  if (ids.length === 0) return new Map()
  type Row = { id: string; fingerprint: string | null; name: string | null; message: string | null }
  const rows = await run(db, deadFactsSql, { ids }, (row: Row) => row)
  return new Map(
    rows.map(({ id, name, message, fingerprint }) => [id, { name, message, group: fingerprint }]),
  )
}

type Place = 'live' | 'finished' | 'dead'
const liveStates = ['scheduled', 'waiting', 'ready', 'running', 'retrying'] as const
const placeStates: Readonly<Record<Place, readonly JobState[]>> = {
  live: liveStates,
  finished: ['succeeded', 'cancelled'],
  dead: ['dead'],
}

async function planOf(
  db: Queryable,
  { where, asOf }: SearchRequest,
  now: Date,
): Promise<{ sources: Source[]; upTo: string }> {
  const filter = filterOf(where, { now, asOf })
  const upTo = where.olderMs === undefined ? lastUuid : idAt(now.getTime() - where.olderMs + clockSlackMs)
  const from =
    where.youngerMs === undefined ? firstUuid : idAt(now.getTime() - where.youngerMs - clockSlackMs)
  const bounds = { ...filter, from }
  if (where.ids !== undefined) return { sources: [byIds(db, where.ids, bounds)], upTo }
  const places = placesOf(where)
  const sources: Source[] = []
  const windowed: Place[] = []
  for (const place of places) {
    const source =
      place === 'dead'
        ? await byDeadIndex(db, where, bounds)
        : place === 'finished'
          ? byCorrelation(db, where, bounds)
          : await byLiveIndex(db, where, bounds)
    if (source === undefined) windowed.push(place)
    else sources.push(source)
  }
  if (windowed.length > 0) sources.push(byWindow(db, windowed, bounds))
  return { sources, upTo }
}

/** The tables that can hold a match. */
function placesOf(where: Where): Place[] {
  const isDeadOnly =
    where.errors !== undefined || where.isDiscarded !== undefined || where.isReplaced !== undefined
  return (['live', 'finished', 'dead'] as const).filter((place) => {
    if (isDeadOnly && place !== 'dead') return false
    // Live jobs have no reason.
    if (where.reasons !== undefined && place === 'live') return false
    return where.states === undefined || where.states.some((state) => placeStates[place].includes(state))
  })
}

function byWindow(db: Queryable, places: readonly Place[], filter: Filter & { from: string }): Source {
  return async ({ upTo, limit }) => {
    const request = { ...filter, places, upTo, window: windowSize }
    const rows = await run(db, searchWindowSql, { ...request, limit }, (row: SearchRow) => row)
    if (rows.length >= limit) return { rows, end: undefined, looked: rows.length }
    type End = { looked: number; last: string | null }
    const [end] = await run(db, searchWindowEndSql, request, (row: End) => row)
    const looked = end?.looked ?? 0
    const last = end?.last ?? filter.from
    const isAll = looked < windowSize || last <= filter.from
    return { rows, end: isAll ? undefined : last, looked }
  }
}

type MaybeRow = (SearchRow | { id: null }) & { looked: number; window_end?: string | null }

/** Live jobs by the indexes of their states, where those hold few; undefined where there are too many. */
async function byLiveIndex(
  db: Queryable,
  where: Where,
  filter: Filter & { from: string },
): Promise<Source | undefined> {
  // Only running jobs have a worker.
  const wanted =
    where.workers === undefined
      ? where.states
      : (where.states ?? liveStates).filter((one) => one === 'running')
  const states = (wanted ?? (where.queues === undefined ? undefined : liveStates))?.filter((state) =>
    placeStates.live.includes(state),
  )
  if (states === undefined) return undefined
  const collect = (upTo: string, limit: number): Promise<MaybeRow[]> => {
    const request = { ...filter, states, upTo, limit, most: mostCollected }
    const { queues } = where
    return queues === undefined
      ? run(db, searchLiveSql, request, (row: MaybeRow) => row)
      : run(db, searchLiveQueuesSql, { ...request, queues }, (row: MaybeRow) => row)
  }
  const [probe] = await collect(firstUuid, 1)
  if (probe === undefined || probe.looked >= mostCollected) return undefined
  return async ({ upTo, limit }) => {
    const rows = await collect(upTo, limit)
    const isStillFew = (rows[0]?.looked ?? 0) < mostCollected
    // Many jobs arrived since the probe: the window finds them.
    if (!isStillFew) return byWindow(db, ['live'], filter)({ upTo, limit })
    return { rows: rows.filter(hasJob), end: undefined, looked: rows[0]?.looked ?? 0 }
  }
}

function hasJob<Row extends { id: string | null }>(row: Row): row is Row & SearchRow {
  return row.id !== null
}

/** Finished jobs of a correlation, by its index. */
function byCorrelation(
  db: Queryable,
  { correlations }: Where,
  filter: Filter & { from: string },
): Source | undefined {
  if (correlations === undefined) return undefined
  const ownIds = correlations.filter((one) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(one))
  return async ({ upTo, limit }) => {
    const request = { ...filter, correlations, ownIds, upTo, limit, most: mostCollected }
    const rows = await run(db, searchCorrelationSql, request, (row: SearchRow) => row)
    return { rows, end: undefined, looked: rows.length }
  }
}

function byIds(db: Queryable, ids: readonly string[], filter: Filter & { from: string }): Source {
  return async ({ upTo, limit }) => {
    const rows = await run(db, searchIdsSql, { ...filter, ids, upTo, limit }, (row: SearchRow) => row)
    return { rows, end: undefined, looked: rows.length }
  }
}

/** Dead letters by the narrowest token that has an index. */
async function byDeadIndex(
  db: Queryable,
  where: Where,
  filter: Filter & { from: string },
): Promise<Source | undefined> {
  const errors = where.errors?.map((prefix) => `${prefix}%`) ?? null
  const driver = await deadDriver(db, where)
  if (driver === undefined) return undefined
  const { by, values } = driver
  if (values.length === 0) return () => Promise.resolve({ rows: [], end: undefined, looked: 0 })
  // Mostly a page is full soon; a wide window that is read and sorted for it would be most of its time.
  let window = smallWindow
  return async ({ upTo, limit }) => {
    if (limit > smallWindow) window = windowSize
    const request = { ...filter, errors, by, values, upTo, limit, window }
    const rows = await run(db, searchDeadSql, request, (row: MaybeRow) => row)
    window = windowSize
    const { looked = 0, window_end: end } = rows[0] ?? {}
    return { rows: rows.filter(hasJob), end: end ?? undefined, looked }
  }
}

interface Driver {
  by: 'fingerprint' | 'key' | 'search' | 'kind' | 'queue'
  values: readonly string[]
}

async function deadDriver(db: Queryable, where: Where): Promise<Driver | undefined> {
  const { errors, keys, kinds, queues, search: words } = where
  if (errors !== undefined) {
    const most = mostGroups + 1
    const groups = await expand(errors, (prefix) => run(db, deadFingerprintsSql, { prefix, most }, valueOf))
    if (groups.length <= mostGroups) return { by: 'fingerprint', values: groups }
    const message = `More than ${mostGroups} error groups begin with '${errors.join(', ')}': say more of it.`
    throw new StintError('invalid-option', message, {
      issues: [{ path: 'where', message: 'names too many error groups' }],
    })
  }
  if (keys !== undefined) return { by: 'key', values: keys }
  const [word] = Object.entries(words ?? {})
  if (word !== undefined) return { by: 'search', values: word[1].map((value) => `${word[0]}:${value}`) }
  if (kinds !== undefined) {
    const names = await expand(kinds, async (kind) =>
      kind.endsWith('*')
        ? run(db, deadKindsSql, { prefix: kind.slice(0, -1), most: mostValues + 1 }, valueOf)
        : [kind],
    )
    if (names.length <= mostValues) return { by: 'kind', values: names }
  }
  return queues === undefined ? undefined : { by: 'queue', values: queues }
}

/** Each beginning as the values that begin so. */
async function expand(
  texts: readonly string[],
  look: (text: string) => Promise<readonly string[]>,
): Promise<string[]> {
  const values: string[] = []
  for (const text of texts) values.push(...(await look(text)))
  return [...new Set(values)]
}

function valueOf(row: { value: string }): string {
  return row.value
}

/** The lowest id of a millisecond. */
function idAt(ms: number): string {
  return `${uuidTime(Math.max(0, Math.floor(ms)))}-0000-0000-000000000000`
}
