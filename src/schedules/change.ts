import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { deleteSql } from './delete.sql.ts'
import { fireByHandSql } from './fire-by-hand.sql.ts'
import { pauseSql } from './pause.sql.ts'
import { resumeSql } from './resume.sql.ts'

/** Each function returns false when another call changed the schedule since it was read; then it writes nothing. */
interface Target {
  name: string
  turn: string
}

export async function pauseSchedule(
  db: Queryable,
  request: Target & { until: string | null; reason: string | null; nextFireAt: string | null },
): Promise<boolean> {
  return (await run(db, pauseSql, request, () => true)).length > 0
}

export async function resumeSchedule(
  db: Queryable,
  request: Target & { decidedTo: string; nextFireAt: string | null },
): Promise<boolean> {
  return (await run(db, resumeSql, request, () => true)).length > 0
}

export async function deleteSchedule(db: Queryable, request: Target): Promise<boolean> {
  return (await run(db, deleteSql, request, () => true)).length > 0
}

export interface MadeJob {
  id: string
  priority: number
  keyed: boolean
}

/** Stores jobs for fire times that a person chose, and returns the jobs that it stored. */
export function fireByHand(
  db: Queryable,
  request: { name: string; times: string; reason: string },
): Promise<MadeJob[]> {
  return run(db, fireByHandSql, request, (row: MadeJob) => row)
}
