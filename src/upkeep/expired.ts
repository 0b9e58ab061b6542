import type { Queryable } from '../db/statement.ts'
import { prune } from './batches.ts'
import { pruneEffectsSql } from './prune-effects.sql.ts'
import { pruneKeysSql } from './prune-keys.sql.ts'
import { pruneWorkersSql } from './prune-workers.sql.ts'
import type { ServiceContext } from './service.ts'

/** Removes keys and effects whose time is over, and workers that were lost long ago. */
export async function pruneExpired(db: Queryable, context: ServiceContext): Promise<void> {
  const statements = [pruneKeysSql, pruneEffectsSql, pruneWorkersSql]
  await prune(
    db,
    context,
    statements.map((statement) => ({ statement, what: statement.name })),
  )
}
