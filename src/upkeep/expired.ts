import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { inBatches } from './batches.ts'
import { pruneEffectsSql } from './prune-effects.sql.ts'
import { pruneKeysSql } from './prune-keys.sql.ts'
import { pruneWorkersSql } from './prune-workers.sql.ts'
import type { ServiceContext } from './service.ts'

/** Removes keys and effects whose time is over, and workers that were lost long ago. */
export async function pruneExpired(db: Queryable, context: ServiceContext): Promise<void> {
  for (const statement of [pruneKeysSql, pruneEffectsSql, pruneWorkersSql]) {
    await inBatches(statement.name, context, async (batch) => {
      const [removed = 0] = await run(db, statement, batch, (row: { removed: number }) => row.removed)
      return removed
    })
  }
}
