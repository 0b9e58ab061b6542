import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { inBatches } from './batches.ts'
import { pruneDeadSql } from './prune-dead.sql.ts'
import { pruneDiscardedSql } from './prune-discarded.sql.ts'
import { pruneReplacedSql } from './prune-replaced.sql.ts'
import type { ServiceContext } from './service.ts'

/** Removes dead letters whose time is over: in the trash, edited into another job, or older than their queue says. */
export async function pruneDead(db: Queryable, context: ServiceContext): Promise<void> {
  for (const statement of [pruneDiscardedSql, pruneReplacedSql, pruneDeadSql]) {
    await inBatches('a dead letter', context, async (batch) => {
      const [removed = 0] = await run(db, statement, batch, (row: { removed: number }) => row.removed)
      return removed
    })
  }
}
