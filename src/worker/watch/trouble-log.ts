import { messageOf } from '../../core/failures/thrown.ts'
import type { DatabaseTrouble } from '../../db/classify.ts'
import type { Logger } from '../report/log.ts'

/** How often continuing trouble is logged. */
const everyMs = 10_000
/** After this long without a failure, the next one is new trouble. */
const quietMs = 30_000

/**
 * Writes database trouble to the log: at once when it begins, now and then while it lasts. A worker without its
 * database tries several times a second for a while, and a line for each try would fill the log.
 */
export class TroubleLog {
  readonly #log: Logger
  #failures = 0
  #lastAt = -Infinity
  #toldAt = -Infinity

  constructor(log: Logger) {
    this.#log = log
  }

  tell(what: string, { error, trouble }: { error: unknown; trouble: DatabaseTrouble }): void {
    const now = performance.now()
    const isNew = now - this.#lastAt > quietMs
    this.#lastAt = now
    this.#failures = isNew ? 1 : this.#failures + 1
    if (!isNew && now - this.#toldAt < everyMs) return
    this.#toldAt = now
    const facts = { what, trouble, failures: this.#failures, error: messageOf(error) }
    this.#log[isNew ? 'error' : 'warn'](facts, 'database trouble, trying again')
  }

  /** Trouble of one job, or a few: all others go on. */
  tellOfJobs(what: string, { error, jobIds }: { error: unknown; jobIds: readonly string[] }): void {
    const facts = { what, jobs: jobIds, error: messageOf(error) }
    this.#log.error(facts, 'the database refuses this job; it is skipped and tried again later')
  }
}
