import { currentJob } from '../../node/ambient.ts'
import type { Ambient } from '../../node/ambient.ts'

/** What runs jobs in this process. */
export interface Responsible {
  /** Fails the job in whose name something was thrown; false where it is not at work there. */
  failUncaught(jobId: string, thrown: unknown): boolean
  /** Something was thrown in the name of a job whose attempt is over: it is noted, and nothing ends for it. */
  noteLate(job: Ambient, thrown: unknown): void
  /** Nobody knows whose it was: what runs is finished, and the process given up. */
  giveUp(error: Error): void
}

const responsible = new Set<Responsible>()

/**
 * Takes care of what is thrown and never caught, for as long as it is asked to: a callback that throws, a promise that
 * nobody awaits. Node ends the process for it, with all the jobs in it. Most of the time it is known whose it was, and
 * only that job fails; where its attempt is over, that is noted. Gives the way to stop.
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
  // Whoever listens too has made it their own business.
  if (process.listenerCount('uncaughtException') > 1 || process.listenerCount('unhandledRejection') > 1)
    return
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  for (const one of responsible) one.giveUp(error)
}
