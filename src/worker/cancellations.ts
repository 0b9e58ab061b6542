import type { Queryable } from '../db/statement.ts'
import { cancellations } from '../jobs/while-running.ts'
import { CancelledError } from './execute.ts'
import type { HeldJob, HeldJobs } from './held-job.ts'

export interface CancellationsConfig {
  db: Queryable
  held: HeldJobs
  workerId: () => string
  /** How often to ask where nobody said anything: seldom where we would have been told. */
  everyMs: () => number
  /** It has not begun: it need not. */
  onWaiting: (held: HeldJob, reason: string) => void
  /** It was told to end. */
  onAborted: (held: HeldJob) => void
}

/** How often to ask where nobody can tell us. */
export const cancelPollMs = 400

/** Tells the jobs in hand that somebody asked for their end: when we are told so, and now and then in case we were not. */
export class Cancellations {
  readonly #config: CancellationsConfig
  #isHinted = false
  #askedAt = -Infinity

  constructor(config: CancellationsConfig) {
    this.#config = config
  }

  /** There may be one. */
  hint(): void {
    this.#isHinted = true
  }

  /** Asks the database, where it is time to. */
  async look(): Promise<void> {
    const { db, held, workerId, everyMs } = this.#config
    const now = performance.now()
    if (held.size === 0 || (!this.#isHinted && now - this.#askedAt < everyMs())) return
    this.#isHinted = false
    this.#askedAt = now
    for (const { id, leaseId, reason } of await cancellations(db, workerId())) {
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
