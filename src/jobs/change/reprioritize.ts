import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { reprioritizeSql } from './reprioritize.sql.ts'

/** Changes a job's priority; false if no such job was waiting. */
export async function reprioritize(
  db: Queryable,
  request: { id: string; priority: number },
): Promise<boolean> {
  const changed = await run(db, reprioritizeSql, request, () => true)
  return changed.length > 0
}
