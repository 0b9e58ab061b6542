import type { Queryable } from '../../db/statement.ts'
import { cancellations } from '../../jobs/attempt/while-running.ts'
import type { Loop } from '../loop.ts'
import type { Dispatcher } from '../claim/dispatcher.ts'
import type { Tenure } from '../lease/tenure.ts'
import { LoopPart, newLoop } from '../part.ts'
import type { Report } from '../report/report.ts'
import type { Deadlines } from '../watch/deadlines.ts'
import type { Troubles } from '../watch/troubles.ts'
import { CancelledError } from './execute.ts'
import type { HeldJob, HeldJobs } from './held-job.ts'

export interface CancellationsConfig {
  db: Queryable
  held: HeldJobs
  tenure: Pick<Tenure, 'workerId'>
  dispatcher: Pick<Dispatcher, 'endWaiting'>
  deadlines: Pick<Deadlines, 'aborted'>
  report: Pick<Report, 'cancelAsked'>
  troubles: Pick<Troubles, 'of'>
}

/** How often to ask, so that a job hears of it within a second: whoever asked for its end may not be able to tell us. */
const cancelPollMs = 400
/** Asking may take this share of the time at most: with a snapshot held open it is not cheap. */
const askShare = 1 / 20

/** Tells the jobs in hand that somebody asked for their end: when we are told so, and now and then in case we were not. */
export class Cancellations extends LoopPart {
  readonly #config: CancellationsConfig
  readonly #loop: Loop
  #isHinted = false
  #restUntil = -Infinity

  constructor(config: CancellationsConfig) {
    const loop = newLoop(config.troubles, {
      name: 'cancel',
      everyMs: cancelPollMs,
      pass: () => this.#look(),
    })
    super([loop])
    this.#config = config
    this.#loop = loop
  }

  /** There may be one: the next pass asks. */
  hint(): void {
    this.#isHinted = true
  }

  /** There is one: asks at once. */
  lookNow(): void {
    this.hint()
    void this.#loop.runOnce()
  }

  /** Asks the database, where it is time to. */
  async #look(): Promise<void> {
    const { db, held, tenure } = this.#config
    const now = performance.now()
    const oldest = held.oldest()
    if (oldest === undefined) return
    // Jobs that come and go faster than we would ask are over before their end could be told.
    const isDue = now > this.#restUntil && now - oldest.heldSince > cancelPollMs
    if (!this.#isHinted && !isDue) return
    this.#isHinted = false
    const found = await cancellations(db, tenure.workerId)
    const answeredAt = performance.now()
    this.#restUntil = answeredAt + (answeredAt - now) / askShare
    for (const { id, leaseId, reason } of found) {
      const one = held.get(id)
      // The answer to its claim is on its way to us: it is told once it is here.
      if (one?.job.leaseId !== leaseId) this.#isHinted = true
      else if (one.abortedFor === undefined) this.#tell(one, reason)
    }
  }

  #tell(held: HeldJob, reason: string | null): void {
    const { dispatcher, deadlines, report } = this.#config
    if (held.phase === 'waiting')
      dispatcher.endWaiting(held, { type: 'cancelled', reason: reason ?? 'it was asked to stop' })
    else if (held.phase === 'running') {
      held.abort('cancel', new CancelledError(reason))
      deadlines.aborted(held)
      report.cancelAsked(held)
    }
  }
}
