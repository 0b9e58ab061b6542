import type { Queryable } from '../../../db/statement.ts'
import { prune } from './batches.ts'
import { pruneFiresSql } from './prune-fires.sql.ts'
import type { ServiceContext } from '../service.ts'

/** Removes fires that are older than their schedule keeps them. */
export function pruneFires(db: Queryable, context: ServiceContext): Promise<void> {
  return prune(db, context, [{ statement: pruneFiresSql, what: 'a fire' }])
}
