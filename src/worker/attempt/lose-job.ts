import type { Report } from '../report/report.ts'
import { leaseLost } from './fenced-tx.ts'
import type { HeldJob } from './held-job.ts'

/** A job that runs here belongs to another worker now. */
export function loseJob(held: HeldJob, report: Pick<Report, 'abortedForLease'>): void {
  abortForLease(held, leaseLost(held), report)
}

/** Aborts a job that another worker has, or may have soon. Reported now: its handler may end late, or never. */
export function abortForLease(held: HeldJob, reason: Error, report: Pick<Report, 'abortedForLease'>): void {
  if (held.phase === 'running' && held.abortedFor === undefined) report.abortedForLease(held, reason)
  held.abort('lease', reason)
}
