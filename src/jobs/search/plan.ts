import { firstUuid, lastUuid, uuidTime } from '../../core/uuid.ts'
import type { Queryable } from '../../db/statement.ts'
import { filterOf } from './search-filter.ts'
import type { SearchFilter } from './search-filter.ts'
import {
  byCorrelation,
  byDeadIndex,
  byFlow,
  byIds,
  onlyWaiting,
  byLiveIndex,
  byWindow,
  tableStates,
} from './sources.ts'
import type { Source, Table } from './sources.ts'

/** An id says when it was made by its producer's clock, which may be wrong by so much. */
const clockSlackMs = 86_400_000

interface PlanRequest {
  where: SearchFilter
  asOf: Date | undefined
  /** The time that ages are counted from; a filter without an age does not need it. */
  now: Date | undefined
  isByWindow: boolean
}

/**
 * Where to look for the jobs of a filter, and the id to begin at. Tokens with an index lead to their rows; the others are
 * searched in a window. `stint.job` has only the indexes of the hot path: if few jobs are in a state or queue, those
 * indexes collect them; if many are, the window finds them.
 */
export async function planOf(
  db: Queryable,
  request: PlanRequest,
): Promise<{ sources: Source[]; upTo: string }> {
  const { waiting } = request.where
  const plan = await planWithoutWaits(db, request)
  if (waiting === undefined) return plan
  return { ...plan, sources: plan.sources.map((source) => onlyWaiting(db, source, waiting)) }
}

async function planWithoutWaits(
  db: Queryable,
  { where, asOf, now = new Date(0), isByWindow }: PlanRequest,
): Promise<{ sources: Source[]; upTo: string }> {
  const filter = filterOf(where, { now, asOf })
  const upTo = where.olderMs === undefined ? lastUuid : idAt(now.getTime() - where.olderMs + clockSlackMs)
  const from =
    where.youngerMs === undefined ? firstUuid : idAt(now.getTime() - where.youngerMs - clockSlackMs)
  const bounds = { ...filter, from }
  if (where.ids !== undefined) return { sources: [byIds(db, where.ids, bounds)], upTo }
  const tables = tablesOf(where)
  if (where.flows !== undefined && !isByWindow) {
    const source = await byFlow(db, where.flows, { ...bounds, tables })
    if (source !== undefined) return { sources: [source], upTo }
  }
  if (isByWindow) return { sources: [byWindow(db, tables, bounds)], upTo }
  const sources: Source[] = []
  const windowed: Table[] = []
  for (const table of tables) {
    const source =
      table === 'dead'
        ? await byDeadIndex(db, where, bounds)
        : table === 'finished'
          ? byCorrelation(db, where, bounds)
          : await byLiveIndex(db, where, bounds)
    if (source === undefined) windowed.push(table)
    else sources.push(source)
  }
  if (windowed.length === 0) return { sources, upTo }
  const window = byWindow(db, windowed, bounds)
  // Live jobs are read first: a job that ends meanwhile is then found twice. In another order it could be missed.
  return { sources: windowed.includes('live') ? [window, ...sources] : [...sources, window], upTo }
}

/** The tables that can hold a match. */
export function tablesOf(where: SearchFilter): Table[] {
  const isDeadOnly =
    where.errors !== undefined ||
    where.fingerprints !== undefined ||
    where.isDiscarded !== undefined ||
    where.isReplaced !== undefined
  return (['live', 'finished', 'dead'] as const).filter((table) => {
    if (isDeadOnly && table !== 'dead') return false
    if (where.waiting !== undefined && table !== 'live') return false
    // Live jobs have no reason.
    if (where.reasons !== undefined && table === 'live') return false
    return where.states === undefined || where.states.some((state) => tableStates[table].includes(state))
  })
}

/** The lowest id of a millisecond. */
function idAt(ms: number): string {
  return `${uuidTime(Math.max(0, Math.floor(ms)))}-0000-0000-000000000000`
}
