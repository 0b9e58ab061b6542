import { currentJob } from '../../node/ambient.ts'
import type { Ambient } from '../../node/ambient.ts'

/** The worker of this process, which decides about errors that were never caught. */
export interface Responsible {
  /** Fails the job that threw the error; false if it does not run there. */
  failUncaught(jobId: string, thrown: unknown): boolean
  /** A job whose attempt is over threw the error: it is noted, and nothing ends because of it. */
  noteLate(job: Ambient, thrown: unknown): void
  /** The job that threw it is not known: running jobs are finished, and the process is given up. */
  giveUp(error: Error): void
}

const responsible = new Set<Responsible>()

/**
 * Handles errors that are never caught (a callback that throws, a promise that is not awaited), for which Node would
 * end the process with all its jobs. Usually the job is known, and only that job fails; if its attempt is over, the
 * error is noted. Returns a function that stops the handling.
 */
export function catchUncaught(one: Responsible): () => void {
  if (responsible.size === 0) process.on('uncaughtException', onUncaught).on('unhandledRejection', onUncaught)
  responsible.add(one)
  return () => {
    responsible.delete(one)
    if (responsible.size === 0)
      process.off('uncaughtException', onUncaught).off('unhandledRejection', onUncaught)
  }
}

function onUncaught(thrown: unknown): void {
  const job = currentJob()
  if (job !== undefined) {
    for (const one of responsible) if (one.failUncaught(job.jobId, thrown)) return
    const [first] = responsible
    first?.noteLate(job, thrown)
    return
  }
  // Another listener of the user's handles such errors itself.
  if (process.listenerCount('uncaughtException') > 1 || process.listenerCount('unhandledRejection') > 1)
    return
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  for (const one of responsible) one.giveUp(error)
}
