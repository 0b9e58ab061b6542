import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { invalidIndexesSql } from './invalid-indexes.sql.ts'

interface Invalid {
  name: string
  isBuilding: boolean
}

export const invalidIndexes: Check = async (db) => {
  const found = await run(db, invalidIndexesSql, { schema: db.schema }, (row: Invalid) => row)
  const broken = found.filter(({ isBuilding }) => !isBuilding).map(({ name }) => name)
  if (broken.length === 0) {
    const detail =
      found.length > 0
        ? `Being built: ${listing(found.map(({ name }) => name))}.`
        : 'No index build was interrupted.'
    return { level: 'ok', title: 'Every index is valid', detail }
  }
  const place = (name: string): string => `"${db.schema}"."${name}"`
  return {
    level: 'warn',
    title: `${broken.length === 1 ? 'An index is' : `${broken.length} indexes are`} invalid`,
    detail: `${listing(broken)}. Queries cannot use an invalid index, but every write maintains it. If the workers' database login owns the tables, upkeep drops leftovers of interrupted builds and rebuilds Stint's own indexes.`,
    fix: broken
      .map((name) =>
        /_cc(new|old)\d*$/.test(name)
          ? `drop index concurrently ${place(name)};`
          : `reindex index concurrently ${place(name)};`,
      )
      .join('\n'),
  }
}
