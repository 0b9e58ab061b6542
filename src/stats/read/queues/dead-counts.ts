import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { deadCountsSql } from './dead-counts.sql.ts'

/** Counted up to some thousands and no further. */
export interface CappedCount {
  count: number
  /** False where there are more, or may be. */
  exact: boolean
}

/** Dead letters that are looked at, of all queues together. */
const mostRows = 5_000
const mostQueues = 500
/** Dead letters are scattered over their table, so counting them is expensive; a count may be some seconds old. */
const freshMs = 4_000

/** How many dead letters each queue has, as of some seconds ago; queues that have none are left out. */
export class DeadLetterCounts {
  #counted: ReadonlyMap<string, CappedCount> = new Map()
  #countedAt = -Infinity

  async read(db: Queryable): Promise<ReadonlyMap<string, CappedCount>> {
    if (performance.now() - this.#countedAt < freshMs) return this.#counted
    type Row = CappedCount & { queue: string }
    const rows = await run(db, deadCountsSql, { queues: mostQueues, rows: mostRows }, (row: Row) => row)
    this.#counted = new Map(rows.map(({ queue, count, exact }) => [queue, { count, exact }]))
    this.#countedAt = performance.now()
    return this.#counted
  }
}
