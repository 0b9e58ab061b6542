import type { Queryable } from '../../db/statement.ts'
import { cancellations } from '../../jobs/while-running.ts'
import { CancelledError } from './execute.ts'
import type { HeldJob, HeldJobs } from './held-job.ts'

export interface CancellationsConfig {
  db: Queryable
  held: HeldJobs
  workerId: () => string
  /** It has not begun: it need not. */
  onWaiting: (held: HeldJob, reason: string) => void
  /** It was told to end. */
  onAborted: (held: HeldJob) => void
}

/** How often to ask, so that a job hears of it within a second: whoever asked for its end may not be able to tell us. */
export const cancelPollMs = 400
/** Asking may take this share of the time at most: with a snapshot held open it is not cheap. */
const askShare = 1 / 20

/** Tells the jobs in hand that somebody asked for their end: when we are told so, and now and then in case we were not. */
export class Cancellations {
  readonly #config: CancellationsConfig
  #isHinted = false
  #restUntil = -Infinity

  constructor(config: CancellationsConfig) {
    this.#config = config
  }

  /** There may be one. */
  hint(): void {
    this.#isHinted = true
  }

  /** Asks the database, where it is time to. */
  async look(): Promise<void> {
    const { db, held, workerId } = this.#config
    const now = performance.now()
    const oldest = held.oldest()
    if (oldest === undefined) return
    // Jobs that come and go faster than we would ask are over before their end could be told.
    const isDue = now > this.#restUntil && now - oldest.heldSince > cancelPollMs
    if (!this.#isHinted && !isDue) return
    this.#isHinted = false
    const found = await cancellations(db, workerId())
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
    const { onWaiting, onAborted } = this.#config
    if (held.phase === 'waiting') onWaiting(held, reason ?? 'it was asked to stop')
    else if (held.phase === 'running') {
      held.abort('cancel', new CancelledError(reason))
      onAborted(held)
    }
  }
}
