import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { uniqueHolderSql } from './unique-holder.sql.ts'

/** The live job that prevents the replay of a dead letter, because it has its unique key. */
export async function uniqueHolder(db: Queryable, id: string): Promise<string | undefined> {
  const [holder] = await run(db, uniqueHolderSql, { id }, (row: { id: string }) => row.id)
  return holder
}
