import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { attemptsSql } from './attempts.sql.ts'

/** One try of a job that did not simply succeed. */
export interface Attempt {
  /** The epoch of its claim: it identifies the attempt, because `attempt` repeats if none was burned. */
  epoch: number
  attempt: number
  /** How it ended: `failed`, `lease-lost` …. */
  outcome: string
  workerId: string | null
  startedAt: Date | null
  endedAt: Date
  error: unknown
  /** Why it was snoozed, released, cancelled or lost. */
  reason: string | null
}

interface AttemptRow {
  epoch: number
  attempt: number
  outcome: string
  worker_id: string | null
  started_at: Date | null
  ended_at: Date
  error: unknown
  reason: string | null
}

/** A job that snoozes every minute would have an endless list. */
const limit = 1_000

/** The last 1,000 attempts of a job, in the order they were made. */
export async function attempts(db: Queryable, id: string): Promise<Attempt[]> {
  const found = await run(db, attemptsSql, { id, limit }, (row: AttemptRow) => ({
    epoch: row.epoch,
    attempt: row.attempt,
    outcome: row.outcome,
    workerId: row.worker_id,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    error: row.error,
    reason: row.reason,
  }))
  return found.reverse()
}
