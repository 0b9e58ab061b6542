import { atMost } from '../../db/wait.ts'
import { StatWriter } from '../../stats/write/write-stats.ts'
import type { Connection } from '../connection.ts'

const everyMs = 10_000
/** How long close() waits for the last write; a longer wait is not worth the lost counts. */
const lastMs = 1_000

/**
 * Counts the jobs that this client enqueued and writes the counts from time to time, on a best-effort basis: nothing
 * waits for a write, and a failure is not reported. Jobs in a caller's transaction count even if it is rolled back.
 */
export class EnqueueStats {
  readonly #connection: Connection
  readonly #writer = new StatWriter({ isClient: true })
  #timer: NodeJS.Timeout | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  stored(jobs: Iterable<{ queue: string; kind: string; duplicate: boolean }>): void {
    const now = performance.now()
    for (const { queue, kind, duplicate } of jobs)
      if (!duplicate) this.#writer.tally.at(queue, kind, now).enqueued++
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.#write()
    }, everyMs).unref()
  }

  async close(): Promise<void> {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    await atMost(lastMs, this.#write())
  }

  async #write(): Promise<void> {
    // Open no connection only for counts: a client may enqueue only through its callers' transactions.
    if (this.#connection.url === undefined) return
    await this.#connection
      .database()
      .then((db) => this.#writer.write(db))
      .catch(() => undefined)
  }
}
