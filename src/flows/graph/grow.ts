import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import type { PreparedJob } from '../../jobs/new/new-job.ts'
import type { ReleasedHint } from '../endings/endings.ts'
import { addSql } from './add.sql.ts'
import { closeSql } from './close.sql.ts'
import { groupTexts } from './enqueue.ts'
import { rerunSql } from './rerun.sql.ts'
import { startingSql } from './starting.sql.ts'

export type AddOutcome = 'added' | 'closed' | 'not-found'

/** Adds jobs to a node of an open flow. May be repeated after a lost reply: their ids say whether they are stored. */
export async function addToFlow(
  db: Queryable,
  {
    flow,
    node,
    jobs,
    keepsOutputs,
  }: { flow: string; node: string; jobs: readonly PreparedJob[]; keepsOutputs: boolean },
): Promise<AddOutcome> {
  const groups = `[${groupTexts({ jobs, keepsOutputs }).join(',')}]`
  const [outcome] = await run(
    db,
    addSql,
    { flow, node, groups },
    (row: { outcome: AddOutcome }) => row.outcome,
  )
  return outcome ?? 'not-found'
}

/** Closes an open flow. Returns where workers find the jobs that may start now; undefined if there is no such flow. */
export async function closeFlow(db: Queryable, flow: string): Promise<ReleasedHint[] | undefined> {
  const rows = await run(db, closeSql, { flow }, (row: ReleasedHint & { type: string }) => row)
  if (rows.some(({ type }) => type === 'not-found')) return undefined
  return rows
    .filter(({ type }) => type === 'ready')
    .map(({ queue, priority, key }) => ({ queue, priority, key }))
}

export type RerunOutcome = 'stored' | 'not-found' | 'no-node' | 'not-ready' | 'no-jobs'

/** Stores a new flow, `newer`, that runs a node of an older one again, and all behind it. */
export async function rerunFlow(
  db: Queryable,
  request: { older: string; from: string; newer: string },
): Promise<{ outcome: RerunOutcome; starting: ReleasedHint[] }> {
  const [outcome = 'not-found'] = await run(
    db,
    rerunSql,
    request,
    (row: { outcome: RerunOutcome }) => row.outcome,
  )
  const starting =
    outcome === 'stored'
      ? await run(db, startingSql, { flow: request.newer }, (row: ReleasedHint) => row)
      : []
  return { outcome, starting }
}
