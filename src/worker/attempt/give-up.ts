import { classifyFailure } from '../../core/failures/failure.ts'
import { describeFailure } from '../../core/failures/stored-error.ts'
import type { Database } from '../../db/database.ts'
import { withPartitions } from '../../jobs/ensure-partitions.ts'
import { noteThrownLate } from '../../jobs/settle.ts'
import type { Dispatcher } from '../claim/dispatcher.ts'
import type { Handlers } from '../handlers.ts'
import type { Report } from '../report/report.ts'
import type { Recycling } from '../watch/recycling.ts'
import type { Troubles } from '../watch/troubles.ts'
import { endedByForce } from './execute.ts'
import type { HeldJob, HeldJobs } from './held-job.ts'

export interface GiveUpParts {
  db: Database
  held: HeldJobs
  handlers: Handlers
  dispatcher: Dispatcher
  recycling: Recycling
  report: Report
  troubles: Troubles
}

/** Late errors noted for one attempt, at most: a timer may throw again and again. */
const maxLateErrors = 3

/** The handler was told to end and has not: its attempt ends without it, and its slot is opened to other jobs. */
export function giveUp(held: HeldJob, { handlers, dispatcher, recycling, report }: GiveUpParts): void {
  const { contract } = handlers.get(held.job.kind)
  const ranMs = performance.now() - held.startedAt
  const slot = dispatcher.giveUp(held, endedByForce(held, contract))
  if (held.abortedFor !== 'uncaught') report.stuck(held, { ranMs, stuckSlots: dispatcher.stuck })
  if (slot !== undefined) recycling.gaveUp(held, { slot, ranMs })
}

/**
 * An error of this job was never caught: a callback threw it, or a promise that the handler did not await. The attempt
 * fails with it, no matter what its handler still does. False if the job does not run here.
 */
export function failUncaught(jobId: string, thrown: unknown, parts: GiveUpParts): boolean {
  const held = parts.held.get(jobId)
  if (held?.phase !== 'running') return false
  held.abort('uncaught', thrown)
  giveUp(held, parts)
  return true
}

/** A job whose attempt is over threw an error that was never caught. Its ending stands; a few such errors are noted. */
export function noteLate(held: HeldJob, thrown: unknown, { db, report, troubles }: GiveUpParts): void {
  if (held.countLateError() > maxLateErrors) return
  const { id, kind, epoch, attempt } = held.job
  const error = describeFailure(thrown, { kind, failureClass: classifyFailure(thrown) })
  report.thrownLate(held, error)
  const { fingerprint } = error
  const note = { id, epoch, attempt, worker: held.workerId, error: JSON.stringify(error), fingerprint }
  void withPartitions(db, () => noteThrownLate(db, note)).catch((trouble: unknown) => {
    troubles.beside('notes', trouble)
  })
}
