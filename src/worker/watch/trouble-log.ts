import { messageOf } from '../../core/failures/thrown.ts'
import type { DatabaseTrouble } from '../../db/classify.ts'
import type { Logger } from '../report/log.ts'

/** How often trouble that goes on is told. */
const everyMs = 10_000
/** After so long without any it is a new one. */
const quietMs = 30_000

/**
 * Writes database trouble to the log: loudly when it begins, now and then while it lasts. A worker without its
 * database tries several times a second for a while, and a log of each try is read by nobody.
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

  /** Of one job, or a few: all others go on. */
  tellOfJobs(what: string, { error, jobIds }: { error: unknown; jobIds: readonly string[] }): void {
    const facts = { what, jobs: jobIds, error: messageOf(error) }
    this.#log.error(facts, 'the database refuses this job; it is passed by and tried again later')
  }
}
