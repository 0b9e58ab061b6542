import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { uniqueHolderSql } from './unique-holder.sql.ts'

/** The live job that stands in the way of a dead letter's replay. */
export async function uniqueHolder(db: Queryable, id: string): Promise<string | undefined> {
  const [holder] = await run(db, uniqueHolderSql, { id }, (row: { id: string }) => row.id)
  return holder
}
