import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { liveQueues } from '../live-queues.ts'
import { kindsSql } from './kinds.sql.ts'

const window = 200

export const kinds: Check = async (db) => {
  const live = await liveQueues(db)
  // Of the others it is the check of queues that speaks.
  const queues = live.filter(({ isServed }) => isServed).map(({ queue }) => queue)
  type Kind = { queue: string; kind: string; jobs: number }
  const found = await run(db, kindsSql, { queues, window }, (row: Kind) => row)
  if (found.length === 0)
    return {
      level: 'ok',
      title: 'Every kind of job has a handler',
      detail: `Of the first ${window} jobs of each queue that has a worker, in each state.`,
    }
  const said = found.map(
    ({ queue, kind, jobs }) => `'${kind}' in ${queue} (${jobs}${jobs >= window ? ' or more' : ''})`,
  )
  return {
    level: 'warn',
    title: `No live worker handles ${listing(found.map(({ kind }) => `'${kind}'`))}`,
    detail: `${listing(said)}. Workers of these queues pass over such jobs; they wait for a worker with the handler. Deploy it, or cancel them.`,
    fix: `stint job list --kind ${found[0]?.kind ?? ''} --queue ${found[0]?.queue ?? ''}`,
  }
}
