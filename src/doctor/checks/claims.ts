import type { Check } from '../check.ts'
import { readFailingClaims } from '../../stats/read/fleet/failing-claims.ts'
import { listing } from '../listing.ts'

export const claims: Check = async (db) => {
  const failing = await readFailingClaims(db, 100)
  const queues = [...new Set(failing.map(({ queue }) => queue))]
  if (queues.length === 0)
    return {
      level: 'ok',
      title: 'Workers can claim from all their queues',
      detail: 'A live worker reports within seconds when its claims from a queue fail.',
    }
  const said = failing.map(
    ({ host, pid, queue, since, error }) =>
      `${queue}, by the worker of process ${pid} on ${host}, since ${since ?? '?'}: ${error ?? '?'}`,
  )
  return {
    level: 'fail',
    title: `Claims from ${listing(queues)} fail`,
    detail: `${listing(said, '; ')}. Jobs of these queues wait. Stint sets a row aside that cannot be claimed (\`invalid-row\`). If claims keep failing, check the triggers and constraints of the jobs table, and the worker's log.`,
    fix: `stint job list --queue ${queues[0] ?? ''}`,
  }
}
