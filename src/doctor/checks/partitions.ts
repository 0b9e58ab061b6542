import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { partitionsSql } from './partitions.sql.ts'

export const partitions: Check = async (db, { daysAhead }) => {
  type Day = { name: string; ahead: number }
  const missing = await run(db, partitionsSql, { days: daysAhead }, (row: Day) => row)
  const [first] = missing
  if (first === undefined)
    return {
      level: 'ok',
      title: 'The days of history are there',
      detail: `For today and the next ${daysAhead} days.`,
    }
  return {
    level: first.ahead <= 1 ? 'fail' : 'warn',
    title: `${missing.length} days of history are missing`,
    detail: `${listing(missing.map(({ name }) => name))}. Upkeep makes them two weeks ahead, so it has not run for long, or may not. A settle that misses one has to make it first.`,
    fix: `select "${db.schema}".ensure_partitions();`,
  }
}
