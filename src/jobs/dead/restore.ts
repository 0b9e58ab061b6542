import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { restoreSql } from './restore.sql.ts'

/** Takes a dead letter out of the trash; false if there is no such dead letter. */
export async function restore(db: Queryable, id: string): Promise<boolean> {
  const restored = await run(db, restoreSql, { id }, () => true)
  return restored.length > 0
}
