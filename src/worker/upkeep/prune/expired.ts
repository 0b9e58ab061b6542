import type { Queryable } from '../../../db/statement.ts'
import { prune } from './batches.ts'
import { pruneAuditSql } from './prune-audit.sql.ts'
import { pruneBucketsSql } from './prune-buckets.sql.ts'
import { pruneBreakerChangesSql } from './prune-breaker-changes.sql.ts'
import { pruneBreakerCountsSql } from './prune-breaker-counts.sql.ts'
import { pruneEffectsSql } from './prune-effects.sql.ts'
import { pruneFlowOutputsSql } from './prune-flow-outputs.sql.ts'
import { pruneFlowsSql } from './prune-flows.sql.ts'
import { pruneKeysSql } from './prune-keys.sql.ts'
import { pruneOperationJobsSql } from './prune-operation-jobs.sql.ts'
import { pruneOperationsSql } from './prune-operations.sql.ts'
import { prunePausesSql } from './prune-pauses.sql.ts'
import { pruneRepliesSql } from './prune-replies.sql.ts'
import { pruneWorkersSql } from './prune-workers.sql.ts'
import type { ServiceContext } from '../service.ts'

/**
 * Removes keys, effects, kept answers, notes of the audit and pauses whose time is over, workers, operations, flows and changes
 * of breakers of long ago, and buckets of rates that are full again.
 */
export async function pruneExpired(db: Queryable, context: ServiceContext): Promise<void> {
  const statements = [
    ...[pruneKeysSql, pruneEffectsSql, pruneWorkersSql, pruneBucketsSql, prunePausesSql],
    ...[pruneRepliesSql, pruneOperationJobsSql, pruneOperationsSql, pruneAuditSql],
    ...[pruneBreakerCountsSql, pruneBreakerChangesSql, pruneFlowOutputsSql, pruneFlowsSql],
  ]
  await prune(
    db,
    context,
    statements.map((statement) => ({ statement, what: statement.name })),
  )
}
