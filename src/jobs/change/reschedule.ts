import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { rescheduleSql } from './reschedule.sql.ts'

export interface RescheduleRequest {
  id: string
  /** Either this or a delay; a delay counts by the database's clock. */
  runAt: string | null
  delayMs: number | null
}

/** Changes the time of a job; false if no such job was waiting. */
export async function reschedule(db: Queryable, request: RescheduleRequest): Promise<boolean> {
  const moved = await run(db, rescheduleSql, request, () => true)
  return moved.length > 0
}
