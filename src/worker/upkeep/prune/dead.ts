import type { Queryable } from '../../../db/statement.ts'
import { prune } from './batches.ts'
import { pruneDeadSql } from './prune-dead.sql.ts'
import { pruneDiscardedSql } from './prune-discarded.sql.ts'
import { pruneReplacedSql } from './prune-replaced.sql.ts'
import type { ServiceContext } from '../service.ts'

/**
 * Removes dead letters whose time is over: in the trash, edited into another job, or older than their queue keeps them.
 */
export async function pruneDead(db: Queryable, context: ServiceContext): Promise<void> {
  const statements = [pruneDiscardedSql, pruneReplacedSql, pruneDeadSql]
  await prune(
    db,
    context,
    statements.map((statement) => ({ statement, what: 'a dead letter' })),
  )
}
