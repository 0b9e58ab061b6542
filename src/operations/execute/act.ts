import type { JobState } from '../../core/job.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { cancelSql } from './cancel.sql.ts'
import { discardSql } from './discard.sql.ts'
import type { OperationAction } from '../../core/operation.ts'
import { replaySql } from './replay.sql.ts'
import { reprioritizeSql } from './reprioritize.sql.ts'
import { restoreSql } from './restore.sql.ts'
import { runNowSql } from './run-now.sql.ts'
import { standingSql } from './standing.sql.ts'

export interface ActRequest {
  action: OperationAction
  ids: readonly string[]
  /** Jobs that came later are skipped. A time in the future is a mistake and excludes nothing. */
  asOf: Date
  priority: number | null
  /** Stored with cancelled jobs. */
  reason: string
}

/** The outcome for one job. */
export interface ActedJob {
  id: string
  outcome: 'acted' | 'skipped' | 'failed'
  reason: string | null
  epoch?: number | null
  fingerprint?: string | null
}

/** Where workers find a job that is ready now. */
export interface ReadyPlace {
  queue: string
  priority: number
  keyed: boolean
}

export interface Acted {
  jobs: ActedJob[]
  ready: ReadyPlace[]
  /** Workers whose running jobs were asked to stop. */
  workers: string[]
}

type Row = ActedJob & Partial<ReadyPlace> & { worker?: string | null }

/** Acts on those of the jobs that still allow it, with one statement, and returns why it skipped the others. */
export async function act(
  tx: Queryable,
  { action, ids, asOf, priority, reason }: ActRequest,
): Promise<Acted> {
  const rows = await send(tx, { action, ids, asOf, priority, reason })
  const known = new Set(rows.map(({ id }) => id))
  const left = ids.filter((id) => !known.has(id))
  const skipped = left.length === 0 ? [] : await whyNot(tx, action, left)
  return {
    jobs: [
      ...rows.map(({ id, outcome, reason: why, epoch, fingerprint }) => ({
        id,
        outcome,
        reason: why,
        epoch: epoch ?? null,
        fingerprint: fingerprint ?? null,
      })),
      ...skipped,
    ],
    ready: rows.flatMap(({ outcome, queue, priority: at, keyed }) =>
      outcome === 'acted' && typeof queue === 'string'
        ? [{ queue, priority: at ?? 0, keyed: keyed ?? false }]
        : [],
    ),
    workers: [...new Set(rows.flatMap(({ worker }) => worker ?? []))],
  }
}

function send(tx: Queryable, { action, ids, asOf, priority, reason }: ActRequest): Promise<Row[]> {
  const read = (row: Row): Row => row
  switch (action) {
    case 'replay':
      return run(tx, replaySql, { ids, asOf }, read)
    case 'cancel':
      return run(tx, cancelSql, { ids, asOf, reason }, read)
    case 'discard':
      return run(tx, discardSql, { ids, asOf }, read)
    case 'restore':
      return run(tx, restoreSql, { ids, asOf }, read)
    case 'run-now':
      return run(tx, runNowSql, { ids, asOf }, read)
    case 'reprioritize':
      return run(tx, reprioritizeSql, { ids, asOf, priority: priority ?? 0 }, read)
  }
}

interface Standing {
  id: string
  state: JobState
  isReplaced: boolean
  isDiscarded: boolean
}

async function whyNot(tx: Queryable, action: OperationAction, ids: readonly string[]): Promise<ActedJob[]> {
  const found = await run(tx, standingSql, { ids }, (row: Standing) => row)
  const byId = new Map(found.map((one) => [one.id, one]))
  return ids.map((id) => ({ id, outcome: 'skipped', reason: reasonFor(action, byId.get(id)) }))
}

function reasonFor(action: OperationAction, standing: Standing | undefined): string {
  if (standing === undefined) return 'is not there any more'
  const { state, isReplaced, isDiscarded } = standing
  if (isReplaced) return 'was edited into another job'
  if (state !== 'dead') {
    const isItsState = action === 'cancel' && state !== 'succeeded' && state !== 'cancelled'
    return isItsState ? 'is in use at this moment' : `is ${state}`
  }
  if (action === 'restore') return isDiscarded ? 'died again meanwhile' : 'is not in the trash'
  if (action !== 'replay' && action !== 'discard') return 'is dead'
  return isDiscarded ? 'is in the trash' : 'died again meanwhile'
}
