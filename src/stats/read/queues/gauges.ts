import { isRefused, isWrongNode } from '../../../db/classify.ts'
import type { Queryable } from '../../../db/statement.ts'
import { Gauges, gaugesEveryMs } from '../../write/gauges.ts'
import { readGauges } from './read-gauges.ts'
import type { GaugeRow } from './read-gauges.ts'

/** Any age: old gauges are better than none if this login may not refresh them. */
const anyAgeMs = 10 * 365 * 86_400_000

/**
 * The gauges of every queue. A worker refreshes them every two seconds. If no worker lives, the reader refreshes them: a
 * queue without workers is the one that people want to see. If the reader may not, it gets old ones, with their age.
 */
export class CurrentGauges {
  // Never quiet: this process does not learn of new jobs. Fewer rows than a worker reads, because a person waits for it.
  readonly #own = new Gauges({ stirredAt: () => performance.now(), rows: 2_000 })
  #refreshedAt = -Infinity
  #isForbidden = false

  async read(db: Queryable): Promise<GaugeRow[]> {
    const fresh = await readGauges(db)
    return fresh.length > 0 ? fresh : readGauges(db, { oldestMs: anyAgeMs })
  }

  /**
   * Refreshes the gauges; for when no worker does. Not in a transaction with other statements: the database may refuse
   * this one.
   */
  async refresh(db: Queryable): Promise<void> {
    const now = performance.now()
    if (this.#isForbidden || now - this.#refreshedAt < gaugesEveryMs) return
    this.#refreshedAt = now
    try {
      await this.#own.turn(db)
    } catch (error) {
      // A role that only reads, or a standby. A refused statement every second would fill the server's log.
      if (!isRefused(error) && !isWrongNode(error)) throw error
      this.#isForbidden = true
    }
  }
}
