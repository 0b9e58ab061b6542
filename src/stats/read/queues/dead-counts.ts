import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { deadCountsSql } from './dead-counts.sql.ts'

export interface DeadCount {
  count: number
  /** False if the counting stopped at the limit. */
  isExact: boolean
}

/** Dead letters that are read, of all queues together. */
const mostRows = 5_000
const mostQueues = 500
/** Dead letters are scattered over their table, so counting them is expensive; a count may be some seconds old. */
const freshMs = 4_000

/** The number of dead letters of each queue, as of some seconds ago; queues without any are left out. */
export class DeadLetterCounts {
  #counted: ReadonlyMap<string, DeadCount> = new Map()
  #countedAt = -Infinity

  async read(db: Queryable): Promise<ReadonlyMap<string, DeadCount>> {
    if (performance.now() - this.#countedAt < freshMs) return this.#counted
    type Row = DeadCount & { queue: string }
    const rows = await run(db, deadCountsSql, { queues: mostQueues, rows: mostRows }, (row: Row) => row)
    this.#counted = new Map(rows.map(({ queue, count, isExact }) => [queue, { count, isExact }]))
    this.#countedAt = performance.now()
    return this.#counted
  }
}
