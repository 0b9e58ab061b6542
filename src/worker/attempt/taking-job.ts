import { Snooze } from '../../core/failures/verdict.ts'
import type { TakingJob } from '../../limits/rates/rates.ts'
import { asOwnTrouble } from './fenced-tx.ts'

/** A job as a taker of tokens: if they come too late, it is snoozed until then. */
export function takingJob({ key, signal }: { key: string | null; signal: AbortSignal }): TakingJob {
  return {
    key,
    signal,
    // Jobs that were told the same time do not come back at the same moment.
    tooLate: (name, retryAfterMs) =>
      new Snooze(retryAfterMs * (1 + 0.1 * Math.random()), `waits for tokens of the rate '${name}'`),
    troubled: asOwnTrouble,
  }
}
