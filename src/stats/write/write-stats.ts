import { randomUUID } from 'node:crypto'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { DatabaseClock } from './clock.ts'
import { noteEnqueuedSql } from './note-enqueued.sql.ts'
import { Tally } from './tally.ts'
import { writeStatsSql } from './write-stats.sql.ts'

/** The counts of a process. One statement writes all of them to the database from time to time. */
export class StatWriter {
  readonly clock = new DatabaseClock()
  readonly tally = new Tally(this.clock)
  readonly #process: string
  readonly #statement: typeof writeStatsSql
  #flush = 0
  #writing: Promise<void> | undefined

  /** A client only ever enqueues, and may have no more rights than to do so. */
  constructor({ process = randomUUID(), isClient = false }: { process?: string; isClient?: boolean } = {}) {
    this.#process = process
    this.#statement = isClient ? noteEnqueuedSql : writeStatsSql
  }

  /** Writes what has changed. Where that fails nothing is lost: it is written with the next. */
  async write(db: Queryable): Promise<void> {
    // One write after the other, so that the rows marked as written are those that were sent last.
    while (this.#writing !== undefined) await this.#writing.catch(() => undefined)
    this.#writing = this.#write(db)
    try {
      await this.#writing
    } finally {
      this.#writing = undefined
    }
  }

  async #write(db: Queryable): Promise<void> {
    const { rows, written } = this.tally.changes(performance.now())
    if (rows.length === 0) {
      written(true)
      return
    }
    const sentAt = performance.now()
    const request = { process: this.#process, flush: ++this.#flush, rows: JSON.stringify(rows) }
    try {
      const [now] = await run(db, this.#statement, request, (row: { now: number }) => row.now)
      written(true)
      this.clock.observe(now ?? Number.NaN, { sentAt, receivedAt: performance.now() })
    } catch (error) {
      written(false)
      throw error
    }
  }
}
