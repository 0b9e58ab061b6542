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

/**
 * How often to ask the database, so that a job hears of its cancellation within a second: the caller may not be able to
 * notify us.
 */
const cancelPollMs = 400
/**
 * Upper limit for the share of time spent on these queries: while a session holds an old snapshot they are not cheap.
 */
const askShare = 1 / 20

/**
 * Aborts held jobs that were cancelled: when a notification says so, and by polling in case a notification was lost.
 */
export class Cancellations extends LoopPart {
  readonly #config: CancellationsConfig
  readonly #loop: Loop
  #isHinted = false
  #restUntil = -Infinity

  constructor(config: CancellationsConfig) {
    const loop = newLoop(config.troubles, {
      name: 'cancel',
      everyMs: cancelPollMs,
      pass: () => this.#askForCancelled(),
    })
    super([loop])
    this.#config = config
    this.#loop = loop
  }

  /** A job may have been cancelled: the next pass asks the database. */
  hint(): void {
    this.#isHinted = true
  }

  /** A job was cancelled: asks the database at once. */
  checkNow(): void {
    this.hint()
    void this.#loop.runOnce()
  }

  /** Asks the database for cancelled jobs, if that is due. */
  async #askForCancelled(): Promise<void> {
    const { db, held, tenure } = this.#config
    const now = performance.now()
    const oldest = held.oldest()
    if (oldest === undefined) return
    // Jobs that end faster than the poll interval are over before they could hear of a cancellation.
    const isDue = now > this.#restUntil && now - oldest.heldSince > cancelPollMs
    if (!this.#isHinted && !isDue) return
    this.#isHinted = false
    const found = await cancellations(db, tenure.workerId)
    const answeredAt = performance.now()
    this.#restUntil = answeredAt + (answeredAt - now) / askShare
    for (const { id, leaseId, reason } of found) {
      const one = held.get(id)
      // The reply to its claim has not arrived yet: the next pass aborts the job once it is here.
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
