import type { Awaited } from '../../core/filter/where.ts'
import { StintError } from '../../core/errors.ts'
import type { JobState, JobSummaryRow } from '../../core/job.ts'
import { firstUuid } from '../../core/uuid.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { deadFingerprintsSql } from './dead-fingerprints.sql.ts'
import { deadKindsSql } from './dead-kinds.sql.ts'
import { searchCorrelationSql } from './search-correlation.sql.ts'
import { searchDeadSql } from './search-dead.sql.ts'
import { waitsKeys } from './search-filter.ts'
import type { Filter, SearchFilter } from './search-filter.ts'
import { flowSizeSql } from './flow-size.sql.ts'
import { searchFlowSql } from './search-flow.sql.ts'
import { searchIdsSql } from './search-ids.sql.ts'
import { searchLiveQueuesSql } from './search-live-queues.sql.ts'
import { searchLiveSql } from './search-live.sql.ts'
import { searchWindowEndSql } from './search-window-end.sql.ts'
import { waitingOfSql } from './waiting-of.sql.ts'
import { searchWindowSql } from './search-window.sql.ts'

/** Searches from one id downwards, that one included. */
export type Source = (request: { upTo: string; limit: number }) => Promise<Found>

export interface Found {
  rows: JobSummaryRow[]
  /** It looked down to here; undefined where there is nothing left below. */
  end: string | undefined
  looked: number
}

/** stint.job, stint.finished and stint.dead. */
export type Table = 'live' | 'finished' | 'dead'
const liveStates = ['scheduled', 'waiting', 'ready', 'running', 'retrying'] as const
export const tableStates: Readonly<Record<Table, readonly JobState[]>> = {
  live: liveStates,
  finished: ['succeeded', 'cancelled'],
  dead: ['dead'],
}

/** Rows one statement looks through; with many more the planner, unless its statistics are fresh, sorts the table. */
const windowSize = 5_000
const smallWindow = 500
/** So many jobs of a state are collected and sorted. */
const mostCollected = 5_000
/** So many jobs of flows are collected and sorted. */
const mostOfFlows = 20_000
/** Kinds that a beginning (`charge.*`) may stand for and still be looked up one by one. */
const mostValues = 50
/** Error groups that a beginning may stand for. */
const mostGroups = 1_000

/** A filter, and the lowest id that can match it. */
type Bounded = Filter & { from: string }

export function byWindow(db: Queryable, tables: readonly Table[], filter: Bounded): Source {
  return async ({ upTo, limit }) => {
    const request = { ...filter, tables, upTo, window: windowSize }
    const rows = await run(db, searchWindowSql, { ...request, limit }, (row: JobSummaryRow) => row)
    if (rows.length >= limit) return { rows, end: undefined, looked: rows.length }
    type End = { looked: number; last: string | null }
    const [end] = await run(db, searchWindowEndSql, request, (row: End) => row)
    const looked = end?.looked ?? 0
    const last = end?.last ?? filter.from
    const isAll = looked < windowSize || last <= filter.from
    return { rows, end: isAll ? undefined : last, looked }
  }
}

type MaybeRow = (JobSummaryRow | { id: null }) & { looked: number; window_end?: string | null }

/** Live jobs by the indexes of their states, where those hold few; undefined where there are too many. */
export async function byLiveIndex(
  db: Queryable,
  where: SearchFilter,
  filter: Bounded,
): Promise<Source | undefined> {
  // Only waiting jobs wait for something, and only running jobs have a worker.
  const wanted =
    where.workers === undefined
      ? (where.states ?? (where.waiting === undefined ? undefined : ['waiting' as const]))
      : (where.states ?? liveStates).filter((one) => one === 'running')
  const states = (wanted ?? (where.queues === undefined ? undefined : liveStates))?.filter((state) =>
    tableStates.live.includes(state),
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

function hasJob<Row extends { id: string | null }>(row: Row): row is Row & JobSummaryRow {
  return row.id !== null
}

/** Finished jobs of a correlation, by its index. */
export function byCorrelation(
  db: Queryable,
  { correlations }: SearchFilter,
  filter: Bounded,
): Source | undefined {
  if (correlations === undefined) return undefined
  const ownIds = correlations.filter((one) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(one))
  return async ({ upTo, limit }) => {
    const request = { ...filter, correlations, ownIds, upTo, limit, most: mostCollected }
    const rows = await run(db, searchCorrelationSql, request, (row: JobSummaryRow) => row)
    return { rows, end: undefined, looked: rows.length }
  }
}

/** The jobs of flows, by the indexes that each table has of them; undefined for flows of too many jobs. */
export async function byFlow(
  db: Queryable,
  flows: readonly string[],
  filter: Bounded & { tables: readonly Table[] },
): Promise<Source | undefined> {
  const [size = 0] = await run(
    db,
    flowSizeSql,
    { flows, most: mostOfFlows },
    ({ jobs }: { jobs: number }) => jobs,
  )
  if (size >= mostOfFlows) return undefined
  return async ({ upTo, limit }) => {
    const request = { ...filter, flows, upTo, limit, most: mostOfFlows }
    const rows = await run(db, searchFlowSql, request, (row: JobSummaryRow) => row)
    return { rows, end: undefined, looked: rows.length }
  }
}

/**
 * Those jobs of a source that wait for something of these sorts. What a job waits for may be a part of its input, so the view
 * that viewers read does not have it, and it is looked up here.
 */
export function onlyWaiting(db: Queryable, source: Source, sorts: readonly Awaited[]): Source {
  const keys = sorts.map((sort) => waitsKeys[sort])
  return async ({ upTo }) => {
    const found = await source({ upTo, limit: windowSize })
    const ids = found.rows.map(({ id }) => id)
    const waiting = new Set(await run(db, waitingOfSql, { ids, keys }, ({ id }: { id: string }) => id))
    // A full window: there may be more right below the last row.
    const end = found.rows.length >= windowSize ? found.rows.at(-1)?.id : found.end
    return { ...found, end, rows: found.rows.filter(({ id }) => waiting.has(id)) }
  }
}

export function byIds(db: Queryable, ids: readonly string[], filter: Bounded): Source {
  return async ({ upTo, limit }) => {
    const rows = await run(db, searchIdsSql, { ...filter, ids, upTo, limit }, (row: JobSummaryRow) => row)
    return { rows, end: undefined, looked: rows.length }
  }
}

/** Dead letters by the narrowest token that has an index. */
export async function byDeadIndex(
  db: Queryable,
  where: SearchFilter,
  filter: Bounded,
): Promise<Source | undefined> {
  const driver = await deadDriver(db, where)
  if (driver === undefined) return undefined
  const { by, values } = driver
  if (values.length === 0) return () => Promise.resolve({ rows: [], end: undefined, looked: 0 })
  // Mostly a page is full soon; a wide window that is read and sorted for it would be most of its time.
  let window = smallWindow
  return async ({ upTo, limit }) => {
    if (limit > smallWindow) window = windowSize
    const request = { ...filter, by, values, upTo, limit, window }
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

async function deadDriver(db: Queryable, where: SearchFilter): Promise<Driver | undefined> {
  const { errors, fingerprints, keys, kindNames, kinds, queues, search: words } = where
  if (fingerprints !== undefined) return { by: 'fingerprint', values: fingerprints }
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
  if (kindNames !== undefined) return { by: 'kind', values: kindNames }
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
