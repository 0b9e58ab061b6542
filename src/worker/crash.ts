import type { ClaimedJob } from '../jobs/claim.ts'
import { describeFailure } from '../core/stored-error.ts'
import { StintError } from '../core/errors.ts'
import type { Ending } from './outcome.ts'

/** After a crash a job waits a little, longer each time: what broke its process may pass. */
const backoffMs = 1_000

/** Whether it may have been the end of a process: then it runs alone, so that the next crash has one name. */
export function isSuspect({ more }: ClaimedJob): boolean {
  return more !== null && (more.suspect || more.crashes > 0)
}

/** What becomes of a job whose own process ended under it. `story` says how, for people. */
export function crashed(job: ClaimedJob, { story, crashLimit }: { story: string; crashLimit: number }): Ending {
  const crashes = (job.more?.crashes ?? 0) + (job.more?.suspect === true ? 1 : 0) + 1
  if (crashes < crashLimit)
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
