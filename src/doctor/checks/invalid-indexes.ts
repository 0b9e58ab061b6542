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
        : 'No build of one was interrupted.'
    return { level: 'ok', title: 'Every index works', detail }
  }
  const place = (name: string): string => `"${db.schema}"."${name}"`
  return {
    level: 'warn',
    title: `${broken.length === 1 ? 'An index does' : `${broken.length} indexes do`} not work`,
    detail: `${listing(broken)}. Nothing reads it, and every write pays for it. Upkeep drops what is left of interrupted builds, and builds Stint's own indexes anew, where the login of the workers owns the tables.`,
    fix: broken
      .map((name) =>
        /_cc(new|old)\d*$/.test(name)
          ? `drop index concurrently ${place(name)};`
          : `reindex index concurrently ${place(name)};`,
      )
      .join('\n'),
  }
}
