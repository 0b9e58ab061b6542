import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { replaceDeadSql } from './replace-dead.sql.ts'

export interface ReplaceDeadRequest {
  id: string
  epoch: number
  /** The job that it was edited into. */
  replacedBy: string
}

/** Marks a dead letter as replaced; false if there is no such dead letter. */
export async function replaceDead(db: Queryable, request: ReplaceDeadRequest): Promise<boolean> {
  const replaced = await run(db, replaceDeadSql, request, () => true)
  return replaced.length > 0
}
