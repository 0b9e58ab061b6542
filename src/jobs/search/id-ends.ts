import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import type { SearchFilter } from './search-filter.ts'
import { searchIdEndsSql } from './search-id-ends.sql.ts'

/** Jobs of each table that are looked through, newest first. */
const window = 50_000
const most = 1_000

/** The filter with each end of an id replaced by the whole ids that end so. */
export async function withWholeIds(db: Queryable, where: SearchFilter): Promise<SearchFilter> {
  const { idEnds, ...rest } = where
  if (idEnds === undefined) return where
  const request = { ends: idEnds.map((end) => `%${end}`), window, limit: most }
  const found = await run(db, searchIdEndsSql, request, (row: { id: string }) => row.id)
  return { ...rest, ids: [...(where.ids ?? []), ...found] }
}
