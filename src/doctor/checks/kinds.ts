import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { liveQueues } from '../live-queues.ts'
import { kindsSql } from './kinds.sql.ts'

const window = 200

export const kinds: Check = async (db) => {
  const live = await liveQueues(db)
  // The check `queues` reports the queues without a worker.
  const queues = live.filter(({ isServed }) => isServed).map(({ queue }) => queue)
  type Kind = { queue: string; kind: string; jobs: number }
  const found = await run(db, kindsSql, { queues, window }, (row: Kind) => row)
  if (found.length === 0)
    return {
      level: 'ok',
      title: 'Every kind of job has a handler',
      detail: `Checked: the first ${window} jobs per state of each queue that has a worker.`,
    }
  const said = found.map(
    ({ queue, kind, jobs }) => `'${kind}' in ${queue} (${jobs}${jobs >= window ? ' or more' : ''})`,
  )
  return {
    level: 'warn',
    title: `No live worker handles ${listing(found.map(({ kind }) => `'${kind}'`))}`,
    detail: `${listing(said)}. Workers skip these jobs; the jobs wait for a worker that has the handler. Deploy one, or cancel the jobs.`,
    fix: `stint job list --kind ${found[0]?.kind ?? ''} --queue ${found[0]?.queue ?? ''}`,
  }
}
