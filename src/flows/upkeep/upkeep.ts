import type { Database } from '../../db/database.ts'
import { run } from '../../db/statement.ts'
import type { Queryable, Statement } from '../../db/statement.ts'
import type { ReleasedHint } from '../endings/endings.ts'
import { cancelMembersSql } from './cancel-members.sql.ts'
import { dropEndingsSql } from './drop-endings.sql.ts'
import { lockFlowsSql } from './lock-flows.sql.ts'
import { lookSql } from './look.sql.ts'
import { orphanedOutputsSql } from './orphaned-outputs.sql.ts'
import { orphanedSignalsSql } from './orphaned-signals.sql.ts'
import { orphanedStepsSql } from './orphaned-steps.sql.ts'
import { recountSql } from './recount.sql.ts'
import { stuckFlowsSql } from './stuck-flows.sql.ts'
import { wakeWatchersSql } from './wake-watchers.sql.ts'

/** Smaller than any id: where a scan begins. */
export const firstId = '00000000-0000-0000-0000-000000000000'

export interface FlowWork {
  /** Flows with endings that are old enough. */
  flows: string[]
  /** Where the next page begins; null if there is none. */
  last: string | null
  /** Whether there are flows that have not ended. */
  hasOpen: boolean
  hasWatches: boolean
  hasCancelled: boolean
}

/** What there is to do for flows; `after` is `last` of the page before. */
export async function flowWork(
  db: Queryable,
  request: { after: string; olderThanMs: number },
): Promise<FlowWork> {
  const [work] = await run(db, lookSql, request, (row: FlowWork) => row)
  return work ?? { flows: [], last: null, hasOpen: false, hasWatches: false, hasCancelled: false }
}

/** Removes the endings of those of these flows that do not exist. */
export async function dropEndings(db: Queryable, flows: readonly string[]): Promise<void> {
  await run(db, dropEndingsSql, { flows }, () => undefined)
}

/** Wakes jobs that wait for jobs that have ended; returns how many watches were removed, and where the woken jobs are. */
export async function wakeWatchers(db: Queryable): Promise<{ looked: number; woken: ReleasedHint[] }> {
  const rows = await run(
    db,
    wakeWatchersSql,
    {},
    (row: Omit<ReleasedHint, 'queue'> & { looked: number; queue: string | null }) => row,
  )
  const woken = rows.flatMap(({ queue, priority, key }) => (queue === null ? [] : [{ queue, priority, key }]))
  return { looked: rows[0]?.looked ?? 0, woken }
}

export interface CancelledMembers {
  ended: number
  /** Where the next page of flows begins; null if there is none. */
  last: string | null
  /** Those that run jobs which were asked to stop. */
  workers: string[]
}

/** Ends jobs of cancelled flows, 500 at most. */
export async function cancelMembers(db: Queryable, after: string): Promise<CancelledMembers> {
  const [page] = await run(db, cancelMembersSql, { after }, (row: CancelledMembers) => row)
  return page ?? { ended: 0, last: null, workers: [] }
}

/** A page of open flows, and which of them have lost an ending. */
export function stuckFlows(db: Queryable, after: string): Promise<{ id: string; isStuck: boolean }[]> {
  return run(db, stuckFlowsSql, { after }, (row: { id: string; isStuck: boolean }) => row)
}

/** Adds the lost endings of flows, from what the tables have of their jobs; returns the flows that got some. */
export function recount(db: Pick<Database, 'transaction'>, flows: readonly string[]): Promise<string[]> {
  return db.transaction(async (tx) => {
    const locked = await run(tx, lockFlowsSql, { flows }, toId)
    return locked.length === 0 ? [] : [...new Set(await run(tx, recountSql, { flows: locked }, toId))]
  })
}

export const orphans: readonly Statement<'after'>[] = [
  orphanedStepsSql,
  orphanedSignalsSql,
  orphanedOutputsSql,
]

/** Removes rows whose job or flow is gone; returns where the next page begins, or undefined after the last. */
export async function dropOrphans(
  db: Queryable,
  statement: Statement<'after'>,
  after: string,
): Promise<string | undefined> {
  const [last] = await run(db, statement, { after }, (row: { last: string | null }) => row.last)
  return last ?? undefined
}

function toId({ id }: { id: string }): string {
  return id
}
