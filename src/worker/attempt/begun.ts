import type { Queryable } from '../../db/statement.ts'
import { noteBegun } from '../../jobs/while-running.ts'
import type { HeldJob, HeldJobs } from './held-job.ts'

/** A handler that has been at work for so long is noted as begun; for shorter ones that would cost more than it tells. */
export const begunAfterMs = 1_000

/** Notes that a handler is about to begin; false where its lease is gone. */
export async function noteOne(db: Queryable, held: HeldJob): Promise<boolean> {
  return (await note(db, [held])).size > 0
}

/** Notes those that have been at work for a while, so that a crash is theirs and not of what merely waited here. */
export async function noteLongRunning(db: Queryable, all: HeldJobs): Promise<void> {
  const since = performance.now() - begunAfterMs
  const begun = all
    .all()
    .filter(
      ({ phase, isNotedBegun, isIsolated, startedAt }) =>
        phase === 'running' && !isNotedBegun && !isIsolated && startedAt <= since,
    )
  if (begun.length === 0) return
  const noted = await note(db, begun)
  for (const held of begun) if (noted.has(held.job.id)) held.isNotedBegun = true
}

async function note(db: Queryable, begun: readonly HeldJob[]): Promise<Set<string>> {
  const noted = await noteBegun(db, {
    ids: begun.map(({ job }) => job.id),
    leaseIds: [...new Set(begun.map(({ job }) => job.leaseId))],
  })
  return new Set(noted)
}
