import type { Queryable } from '../../../db/statement.ts'
import { prune } from './batches.ts'
import { pruneErrorGroupsSql } from './prune-error-groups.sql.ts'
import { pruneErrorHoursSql } from './prune-error-hours.sql.ts'
import { pruneHoursSql } from './prune-hours.sql.ts'
import { pruneMinutesSql } from './prune-minutes.sql.ts'
import type { ServiceContext } from '../service.ts'

/** Removes stats and groups of errors whose time is over. */
export async function pruneNumbers(db: Queryable, context: ServiceContext): Promise<void> {
  const statements = [pruneMinutesSql, pruneHoursSql, pruneErrorHoursSql, pruneErrorGroupsSql]
  await prune(
    db,
    context,
    statements.map((statement) => ({ statement, what: statement.name })),
  )
}
