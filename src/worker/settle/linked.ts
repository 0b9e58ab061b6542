import type { Queryable } from '../../db/statement.ts'
import { bury, end } from '../../flows/endings/endings.ts'
import type { Ended } from '../attempt/outcome.ts'
import { itemsOf, leasesOf, resultsOf, stepsOf } from './items.ts'

/** Stores endings of one type for which `isLinked` holds; returns the ids that it moved. */
export function storeLinked(
  db: Queryable,
  group: readonly Ended[],
  lockMs: number | null,
): Promise<string[]> {
  const batch = { ...leasesOf(group), lockMs }
  const type = group[0]?.outcome.type
  if (type === 'dead') return bury(db, { ...batch, items: itemsOf(group) })
  if (type === 'succeeded')
    return end(db, { ...batch, state: type, results: resultsOf(group), steps: stepsOf(group), items: null })
  if (type === 'cancelled')
    return end(db, { ...batch, state: type, results: null, steps: stepsOf(group), items: itemsOf(group) })
  throw new Error(`A job that ended as ${String(type)} is not linked`)
}
