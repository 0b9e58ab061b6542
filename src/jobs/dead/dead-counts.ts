import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { deadCountsSql } from './dead-counts.sql.ts'
import { deadOverviewSql } from './dead-overview.sql.ts'

export interface DeadCount {
  count: number
  isExact: boolean
}

/** The count stops here. */
const most = 1_000

/** The dead letters that each of some error groups has now, counted up to 1,000. */
export async function deadCounts(
  db: Queryable,
  fingerprints: readonly string[],
): Promise<Map<string, DeadCount>> {
  type Row = { fingerprint: string; count: number }
  const rows = await run(db, deadCountsSql, { fingerprints, most: most + 1 }, (row: Row) => row)
  return new Map(rows.map(({ fingerprint, count }) => [fingerprint, upTo(count)]))
}

/** The number of dead letters in the trash, counted up to 1,000, and when the oldest of the others died. */
export async function deadOverview(db: Queryable): Promise<{ trash: DeadCount; oldestDiedAt: Date | null }> {
  type Row = { trash: number; oldestDiedAt: Date | null }
  const [row] = await run(db, deadOverviewSql, { most: most + 1, window: 5_000 }, (found: Row) => found)
  return { trash: upTo(row?.trash ?? 0), oldestDiedAt: row?.oldestDiedAt ?? null }
}

function upTo(count: number): DeadCount {
  return { count: Math.min(count, most), isExact: count <= most }
}
