import { isRefused, isWrongNode } from '../db/classify.ts'
import type { Queryable } from '../db/statement.ts'
import { Gauges, gaugesEveryMs } from '../numbers/gauges.ts'
import { readGauges } from '../numbers/read-stats.ts'
import type { QueueGauge } from '../numbers/read-stats.ts'

/** So old that they say nothing of now; but better than nothing where nobody may refresh them. */
const anyAgeMs = 10 * 365 * 86_400_000

/**
 * What every queue has. A worker refreshes that every two seconds. Where none lives, whoever looks does: a queue that nobody
 * serves is the one that people want to see. Where that is not allowed, they are as old as they say.
 */
export class CurrentGauges {
  // Never quiet: nobody tells this process of what is stored. And of fewer rows than a worker: somebody waits for it.
  readonly #own = new Gauges({ stirredAt: () => performance.now(), rows: 2_000 })
  #refreshedAt = -Infinity
  #isForbidden = false

  async read(db: Queryable): Promise<QueueGauge[]> {
    const fresh = await readGauges(db)
    return fresh.length > 0 ? fresh : readGauges(db, { oldestMs: anyAgeMs })
  }

  /** Where no worker does. Not in a transaction with anything else: it may be refused. */
  async refresh(db: Queryable): Promise<void> {
    const now = performance.now()
    if (this.#isForbidden || now - this.#refreshedAt < gaugesEveryMs) return
    this.#refreshedAt = now
    try {
      await this.#own.turn(db)
    } catch (error) {
      // A role that only reads, or a standby. Asked every second it would only fill the log of the server.
      if (!isRefused(error) && !isWrongNode(error)) throw error
      this.#isForbidden = true
    }
  }
}
