import { findBloat, listIndexes } from '../../upkeep/index-bloat.ts'
import type { Bloat } from '../../upkeep/index-bloat.ts'
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
      detail: `Of those above ${size(indexBytes)}, by an estimate from a sample of their tables.`,
    }
  const said = bloated.map(({ index: { name, bytes, error }, neededBytes }) => {
    const tried = error === null ? '' : `; the last try to build it anew: ${error}`
    return `${name} has ${size(bytes)} and needs about ${size(neededBytes)}${tried}`
  })
  return {
    level: 'warn',
    title: `${bloated.length === 1 ? 'An index is' : `${bloated.length} indexes are`} mostly empty`,
    detail: `${listing(said, '; ')}. Every vacuum reads all of it. Upkeep builds such an index anew, one at a time and each at most once a day, where the login of the workers owns the tables.`,
    fix: bloated.map(({ index }) => `reindex index concurrently "${db.schema}"."${index.name}";`).join('\n'),
  }
}
