import type { ClaimedJob } from '../../jobs/claim.ts'
import { describeFailure } from '../../core/failures/stored-error.ts'
import { StintError } from '../../core/errors.ts'
import type { Ending } from './outcome.ts'

/** After a crash a job waits a little, longer each time: the cause of the crash may pass. */
const backoffMs = 1_000

/** How often the job may have been the cause of a crash. */
export function suspicionsOf({ more }: ClaimedJob): number {
  return more === null ? 0 : more.crashes + (more.suspect ? 1 : 0)
}

/**
 * Whether the job may have caused a crash. Then the database notes when it begins, so that the next crash has a known
 * cause.
 */
export function isSuspect(job: ClaimedJob): boolean {
  return suspicionsOf(job) > 0
}

/** The crash limit of the contract, which was stored with the job, or else the worker's. */
function limitOf({ more }: ClaimedJob, crashLimit: number): number {
  return more?.crashLimit ?? crashLimit
}

/**
 * Whether one crash is enough to end the job. Then the database notes when it begins: nothing else proves that it has.
 */
export function runsOnce({ more }: ClaimedJob): boolean {
  return more?.crashLimit === 1
}

/** Whether one more crash would reach the limit: then the job has to run alone. */
export function mustBeAlone(job: ClaimedJob, crashLimit: number): boolean {
  return isSuspect(job) && suspicionsOf(job) >= limitOf(job, crashLimit) - 1
}

/** What happens to a job whose own process ended under it. `story` tells people how. */
export function crashed(
  job: ClaimedJob,
  { story, crashLimit }: { story: string; crashLimit: number },
): Ending {
  const crashes = suspicionsOf(job) + 1
  if (crashes < limitOf(job, crashLimit))
    return { type: 'crashed', delayMs: backoffMs * 2 ** (crashes - 1), reason: story }
  const error = new StintError(
    'job-crashed',
    `Its process ended while it ran, ${crashes} times in all. The last time: ${story}.`,
    { jobIds: [job.id] },
  )
  return {
    type: 'dead',
    reason: 'quarantined',
    error: describeFailure(error, { kind: job.kind, failureClass: 'crash' }),
    timedOut: false,
    crashes,
  }
}
