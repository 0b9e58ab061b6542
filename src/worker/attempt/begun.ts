import type { Queryable } from '../../db/statement.ts'
import { noteBegun } from '../../jobs/attempt/while-running.ts'
import type { ClaimReport } from '../claim/claim-report.ts'
import { LoopPart, newLoop } from '../part.ts'
import type { Troubles } from '../watch/troubles.ts'
import type { HeldJob, HeldJobs, Slot } from './held-job.ts'
import { endAttempt, runSlot } from './run.ts'
import type { AttemptParts, SlotOwner } from './run.ts'

/**
 * After this time at work, the database notes that a handler has begun; for shorter handlers the note costs more than
 * it is worth.
 */
const begunAfterMs = 1_000

/** Notes that a handler is about to begin; false where its lease is gone. */
async function noteOne(db: Queryable, held: HeldJob): Promise<boolean> {
  return (await note(db, [held])).size > 0
}

/**
 * For a job that may crash its process, or that must begin only once: the database notes that its handler begins before
 * the handler is called.
 */
export async function runNoted(
  held: HeldJob,
  slot: Slot,
  { db, owner, parts, report }: { db: Queryable; owner: SlotOwner; parts: AttemptParts; report: ClaimReport },
): Promise<void> {
  held.prepare(slot)
  let reason = 'its lease was lost before it began'
  try {
    if (await noteOne(db, held)) held.noteBegun()
    if (!parts.tenure.isOpen) reason = 'the worker stopped before it began'
    else if (held.isNotedBegun) {
      runSlot(slot, parts.handlers.get(held.job.kind), owner, parts)
      return
    }
  } catch (error) {
    reason = 'it could not be noted that it begins'
    report.failed(held.job.queue, error)
  }
  held.begin(slot, Infinity)
  held.end()
  owner.returned(held, slot, 0)
  await endAttempt({ held, outcome: { type: 'released', reason }, ranMs: 0 }, owner, parts)
}

/** Notes in the database which handlers have been at work for a while. */
export function newBegun(db: Queryable, held: HeldJobs, troubles: Pick<Troubles, 'of'>): LoopPart {
  const pass = (): Promise<void> => noteLongRunning(db, held)
  return new LoopPart([newLoop(troubles, { name: 'begun', everyMs: begunAfterMs, pass })])
}

/**
 * Notes the handlers that have been at work for a while, so that a crash is blamed on them and not on jobs that only
 * waited here.
 */
async function noteLongRunning(db: Queryable, all: HeldJobs): Promise<void> {
  const since = performance.now() - begunAfterMs
  const begun = all
    .all()
    .filter(
      ({ phase, isNotedBegun, isIsolated, startedAt }) =>
        phase === 'running' && !isNotedBegun && !isIsolated && startedAt <= since,
    )
  if (begun.length === 0) return
  const noted = await note(db, begun)
  for (const held of begun) if (noted.has(held.job.id)) held.noteBegun()
}

async function note(db: Queryable, begun: readonly HeldJob[]): Promise<Set<string>> {
  const noted = await noteBegun(db, {
    ids: begun.map(({ job }) => job.id),
    leaseIds: [...new Set(begun.map(({ job }) => job.leaseId))],
  })
  return new Set(noted)
}
