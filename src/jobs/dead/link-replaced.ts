import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { linkReplacedSql } from './link-replaced.sql.ts'

/** Notes which dead letter a new job came from. */
export async function linkReplaced(db: Queryable, request: { id: string; replaces: string }): Promise<void> {
  await run(db, linkReplacedSql, request, () => undefined)
}
