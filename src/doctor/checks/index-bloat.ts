import { findBloat, listIndexes } from '../../schema/index-bloat.ts'
import type { Bloat } from '../../schema/index-bloat.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { size } from '../size.ts'

export const indexBloat: Check = async (db, { indexBytes, indexWaste }) => {
  const indexes = await listIndexes(db)
  const bloated: Bloat[] = []
  for (const index of indexes) {
    const found = await findBloat(db, index, { minBytes: indexBytes, minWaste: indexWaste })
    if (found !== undefined) bloated.push(found)
  }
  if (bloated.length === 0)
    return {
      level: 'ok',
      title: 'No index is mostly empty',
      detail: `Checked: indexes larger than ${size(indexBytes)}, estimated from a sample of their tables.`,
    }
  const said = bloated.map(({ index: { name, bytes, error }, neededBytes }) => {
    const tried = error === null ? '' : `; the last rebuild failed: ${error}`
    return `${name} takes ${size(bytes)} and needs about ${size(neededBytes)}${tried}`
  })
  return {
    level: 'warn',
    title: `${bloated.length === 1 ? 'An index is' : `${bloated.length} indexes are`} mostly empty`,
    detail: `${listing(said, '; ')}. Every vacuum reads the whole index. If the workers' database login owns the tables, upkeep rebuilds such indexes: one at a time, each at most once a day.`,
    fix: bloated.map(({ index }) => `reindex index concurrently "${db.schema}"."${index.name}";`).join('\n'),
  }
}
