/*
 * How large would an index be if it were built anew?
 *
 * The usual estimate takes widths from the planner's statistics; the hot table has none, on purpose, because they would
 * never be true. So a few hundred pages of the table are read: how many of their rows belong in the index, and how wide
 * their entries are. A queue's rows lie together, so a sample may see too few of them; the count of the last vacuum may
 * be old. The larger of the two is used: an index is called bloated only if both say so. A b-tree stores equal entries
 * once, but each is counted here: the estimate is rather too large.
 */
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { ownIndexes } from './drift.ts'
import { ownIndexesSql } from './own-indexes.sql.ts'

/** An index of ours. */
export interface OwnIndex {
  name: string
  table: string
  isValid: boolean
  /** Whether this login may rebuild it. */
  isOurs: boolean
  bytes: number
  knownEntries: number
  tablePages: number
  pageBytes: number
  /** The expressions that it indexes, as SQL. */
  expressions: string[]
  /** The rows that it covers, as SQL; null for all. */
  predicate: string | null
  /** Whether a process has tried to rebuild it within the last day. */
  isTried: boolean
  /** The error of the last try, if it failed. */
  error: string | null
}

export interface BloatLimits {
  /** Smaller indexes are left alone: their empty pages cost almost nothing. */
  minBytes: number
  /** The share of the index that must be empty, 0 to 1. */
  minWaste: number
}

/** A b-tree in use may well be half empty. That alone is no reason: a rebuilt one would soon be so again. */
export const usualBloat: BloatLimits = { minBytes: 64 * 2 ** 20, minWaste: 0.6 }

export interface Bloat {
  index: OwnIndex
  /** The approximate size that it would have after a rebuild. */
  neededBytes: number
}

/** All our indexes except those of the days of history, which are dropped with their day. */
export function listIndexes(db: Queryable): Promise<OwnIndex[]> {
  return run(db, ownIndexesSql, { names: ownIndexes() }, (row: OwnIndex) => row)
}

/** The estimate, if it says that the index is large enough and empty enough. */
export async function findBloat(
  db: Queryable,
  index: OwnIndex,
  { minBytes, minWaste }: BloatLimits,
): Promise<Bloat | undefined> {
  if (index.bytes < minBytes) return undefined
  const neededBytes = await estimate(db, index)
  return neededBytes <= index.bytes * (1 - minWaste) ? { index, neededBytes } : undefined
}

const samplePages = 500
const rowHeaderBytes = 24
const entryHeaderBytes = 8
const linePointerBytes = 4
/** The overhead of a page: its header, and the end of a b-tree page. */
const pageOverheadBytes = 40
/** How full Postgres builds leaves, and what the pages above them add. */
const fill = 0.9
const innerShare = 1.01

async function estimate(db: Queryable, index: OwnIndex): Promise<number> {
  const { table, knownEntries, tablePages, pageBytes, expressions, predicate } = index
  const percent = Math.min(100, (100 * samplePages) / Math.max(1, tablePages))
  const [sample] = (await db.query(
    `/* schema/index-bloat.ts */ select count(*)::float8 as entries, avg(pg_column_size(row(${expressions.join(', ')})))::float8 as bytes
       from "${db.schema}"."${table}" tablesample system (${percent})
      where ${predicate ?? 'true'}`,
    [],
  )) as { entries: number; bytes: number | null }[]
  const entries = Math.max(knownEntries, ((sample?.entries ?? 0) * 100) / percent)
  const dataBytes = (sample?.bytes ?? rowHeaderBytes + 32) - rowHeaderBytes
  const entryBytes = 8 * Math.ceil((dataBytes + entryHeaderBytes) / 8) + linePointerBytes
  const leaves = Math.ceil((entries * entryBytes) / ((pageBytes - pageOverheadBytes) * fill))
  // The first page of a b-tree describes it, and an empty b-tree has a root page.
  return (2 + Math.ceil(leaves * innerShare)) * pageBytes
}
