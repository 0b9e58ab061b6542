import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { liveQueues } from '../live-queues.ts'
import { parkedSql } from './parked.sql.ts'

export const parked: Check = async (db) => {
  const queues = (await liveQueues(db)).map(({ queue }) => queue)
  const found = await run(db, parkedSql, { queues }, (row: { id: string; kind: string }) => row)
  const [first] = found
  if (first === undefined)
    return {
      level: 'ok',
      title: 'No job is parked',
      detail: 'Checked: the first 200 waiting jobs of each queue that are due within an hour.',
    }
  const count = found.length >= 100 ? '100 or more' : found.length
  const kinds = [...new Set(found.map(({ kind }) => kind))]
  return {
    level: 'warn',
    title:
      found.length === 1
        ? 'A job is parked: its steps have changed'
        : `${count} jobs are parked: their steps have changed`,
    detail: `Of ${listing(kinds)}, the first is ${first.id}. The handler asks for other steps than those that are recorded. Nothing runs, and no attempt is used: a deployment whose code fits lets them go on.`,
    fix: `stint job steps ${first.id}`,
  }
}
