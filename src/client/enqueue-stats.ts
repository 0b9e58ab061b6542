import { atMost } from '../db/wait.ts'
import { StatWriter } from '../numbers/write-stats.ts'
import type { Connection } from './connection.ts'

const everyMs = 10_000
/** How long close() waits for the last counts: they are not worth more. */
const lastMs = 1_000

/**
 * Counts what this client enqueued and writes it down now and then, as well as it can: nothing waits for it and nobody is
 * told where it fails. What was enqueued in a transaction of the caller's is counted although it may be rolled back.
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
    // Not for this alone is a connection made: a client may only ever write through those of its callers.
    if (this.#connection.url === undefined) return
    await this.#connection
      .database()
      .then((db) => this.#writer.write(db))
      .catch(() => undefined)
  }
}
