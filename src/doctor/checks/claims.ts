import type { Check } from '../check.ts'
import { readFailingClaims } from '../failing-claims.ts'
import { listing } from '../listing.ts'

export const claims: Check = async (db) => {
  const failing = await readFailingClaims(db, 100)
  const queues = [...new Set(failing.map(({ queue }) => queue))]
  if (queues.length === 0)
    return {
      level: 'ok',
      title: 'Workers can claim from all their queues',
      detail: 'Each live worker tells when claims of a queue fail, within seconds.',
    }
  const said = failing.map(
    ({ host, pid, queue, since, error }) =>
      `${queue}, by the worker of process ${pid} on ${host}, since ${since ?? '?'}: ${error ?? '?'}`,
  )
  return {
    level: 'fail',
    title: `Claims of ${listing(queues)} fail`,
    detail: `${listing(said, '; ')}. Jobs of such a queue wait. A row that cannot be claimed is put aside by itself (\`invalid-row\`): where claims go on failing, look at the triggers and constraints of the jobs table, and at the log of the worker.`,
    fix: `stint job list --queue ${queues[0] ?? ''}`,
  }
}
