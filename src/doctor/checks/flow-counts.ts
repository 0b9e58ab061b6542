import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { flowCountsSql } from './flow-counts.sql.ts'

interface Different {
  id: string
  name: string
  node: string
}

export const flowCounts: Check = async (db) => {
  const found = await run(db, flowCountsSql, {}, (row: Different) => row)
  const [first] = found
  if (first === undefined)
    return {
      level: 'ok',
      title: 'The counts of flows are right',
      detail: 'The counts of the newest open flows are those of their jobs.',
    }
  return {
    level: 'warn',
    title:
      found.length === 1 ? 'A node of a flow is miscounted' : `${found.length} nodes of flows are miscounted`,
    detail: `${listing(found.map(({ name, node }) => `${node} of ${name}`))}. Another program has changed or deleted jobs of these flows. The leader counts a flow again once none of its jobs is live for a minute.`,
    fix: `stint flow get ${first.id}`,
  }
}
