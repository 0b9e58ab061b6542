import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { discardSql } from './discard.sql.ts'

/** Puts a dead letter into the trash; false if there is no such dead letter. */
export async function discard(db: Queryable, id: string): Promise<boolean> {
  const discarded = await run(db, discardSql, { id }, () => true)
  return discarded.length > 0
}
