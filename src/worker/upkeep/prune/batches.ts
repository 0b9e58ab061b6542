import { isPerhapsOneRow } from '../../../db/classify.ts'
import { run } from '../../../db/statement.ts'
import type { Queryable, Statement } from '../../../db/statement.ts'
import type { ServiceContext } from '../service.ts'

/** Rows that one statement removes at most. */
export const batchSize = 1_000

/** Most rows to skip in one pass: if more fail, the cause is not in single rows, but something that concerns all. */
const mostBad = 20

export interface Batch {
  limit: number
  /** Rows at the front to skip. */
  skip: number
}

/**
 * Removes in batches until nothing is left to remove. If one row may be the cause of a failure, the batch gets smaller
 * until that row is alone; it is reported and skipped, and the rest goes on.
 */
export async function inBatches(
  what: string,
  { signal, onPassedBy }: ServiceContext,
  remove: (batch: Batch) => Promise<number>,
): Promise<number> {
  let removed = 0
  let limit = batchSize
  let skip = 0
  while (!signal.aborted) {
    try {
      const count = await remove({ limit, skip })
      removed += count
      if (count < limit) return removed
      limit = Math.min(batchSize, limit * 2)
    } catch (error) {
      if (!isPerhapsOneRow(error) || skip >= mostBad) throw error
      if (limit > 1) {
        limit = Math.ceil(limit / 2)
        continue
      }
      onPassedBy(what, error)
      skip++
    }
  }
  return removed
}

/** Removes with statements that return how many rows each of their batches had; `what` names the rows for people. */
export async function prune(
  db: Queryable,
  context: ServiceContext,
  statements: readonly { statement: Statement<keyof Batch>; what: string }[],
): Promise<void> {
  for (const { statement, what } of statements) {
    await inBatches(what, context, async (batch) => {
      const [removed = 0] = await run(db, statement, { ...batch }, (row: { removed: number }) => row.removed)
      return removed
    })
  }
}
