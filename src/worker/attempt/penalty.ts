import type { JobContract } from '../../contracts/contract.ts'
import type { Rates } from '../../limits/rates/rates.ts'
import type { Report } from '../report/report.ts'
import type { Troubles } from '../watch/troubles.ts'
import type { HeldJob } from './held-job.ts'
import type { Outcome } from './outcome.ts'

export interface PenaltyParts {
  readonly services: { readonly rates: Rates }
  readonly report: Report
  readonly troubles: Pick<Troubles, 'beside'>
}

/**
 * Closes the rates of a job for all processes, where the other side asked its attempt to come back later: by a `RetryAfter`, or
 * by a failure of class rate-limited with a Retry-After. No job waits for it.
 */
export async function penaliseRates(
  held: HeldJob,
  { outcome, contract }: { outcome: Outcome; contract: JobContract },
  { services, report, troubles }: PenaltyParts,
): Promise<void> {
  const ending = outcome.type === 'handed-over' ? outcome.otherwise : outcome
  const ms = ending.type === 'retry' || ending.type === 'dead' ? (ending.penaltyMs ?? 0) : 0
  if (ms <= 0) return
  for (const rate of contract.rates) {
    try {
      await services.rates.penalise(rate, held.job.key ?? '', ms)
      report.penalised(held, { rate, forMs: ms })
    } catch (error) {
      troubles.beside(`penalise ${rate}`, error)
    }
  }
}
