import type { ClaimedJob } from '../../jobs/claim.ts'
import { describeFailure } from '../../core/failures/stored-error.ts'
import { StintError } from '../../core/errors.ts'
import type { Ending } from './outcome.ts'

/** After a crash a job waits a little, longer each time: what broke its process may pass. */
const backoffMs = 1_000

/** Times that it may have been the end of a process. */
export function suspicionsOf({ more }: ClaimedJob): number {
  return more === null ? 0 : more.crashes + (more.suspect ? 1 : 0)
}

/** Whether it may have been the end of a process: then it is noted that it begins, so that the next crash has a name. */
export function isSuspect(job: ClaimedJob): boolean {
  return suspicionsOf(job) > 0
}

/** The contract's own rule, which was stored with the job, or else the worker's. */
function limitOf({ more }: ClaimedJob, crashLimit: number): number {
  return more?.crashLimit ?? crashLimit
}

/** Whether one crash is enough for it. Then it is noted that it begins, for nobody else could say that it has. */
export function runsOnce({ more }: ClaimedJob): boolean {
  return more?.crashLimit === 1
}

/** Whether one more crash would be its last: that one it has to have alone. */
export function mustBeAlone(job: ClaimedJob, crashLimit: number): boolean {
  return isSuspect(job) && suspicionsOf(job) >= limitOf(job, crashLimit) - 1
}

/** What becomes of a job whose own process ended under it. `story` says how, for people. */
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
