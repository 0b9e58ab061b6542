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
      title: `Partitions exist for the next ${daysAhead} days`,
      detail: 'The history of finished jobs has one partition per day. Today has one too.',
    }
  return {
    level: first.ahead <= 1 ? 'fail' : 'warn',
    title: `${missing.length} ${missing.length === 1 ? 'partition' : 'partitions'} of the job history missing`,
    detail: `${listing(missing.map(({ name }) => name))}. Upkeep creates partitions two weeks ahead. Either it has not run for days, or its database login may not create tables. A job that finishes on a day without a partition has to create it first.`,
    fix: `select "${db.schema}".ensure_partitions();`,
  }
}
