import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { claimsSql } from './claims.sql.ts'

interface FailingClaim {
  host: string
  pid: string
  queue: string
  since: string | null
  error: string | null
}

export const claims: Check = async (db) => {
  const failing = await run(db, claimsSql, {}, (row: FailingClaim) => row)
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
