import type { Database } from '../db/database.ts'
import { run } from '../db/statement.ts'
import { migrationStatus } from '../schema/migrate.ts'
import { deadlyErrorsSql } from './deadly-errors.sql.ts'
import { stoppedOperationsSql } from './stopped-operations.sql.ts'
import { troubledSchedulesSql } from './troubled-schedules.sql.ts'

/** An error that nobody has decided about, and that jobs died of within the last hour. */
export interface DeadlyError {
  fingerprint: string
  kind: string
  name: string
  title: string
  firstSeen: Date
  lastSeen: Date
  /** It was resolved, and came back. */
  regressedAt: Date | null
  deaths: number
}

/** A schedule that fails to fire, or missed fires within the last day. */
export interface TroubledSchedule {
  name: string
  kind: string
  queue: string
  /** Times in a row that it could not be fired. */
  failures: number
  missed: number
  missedAt: Date | null
  missedReason: string | null
}

/** An operation that its own rule has stopped. */
export interface StoppedOperation {
  id: string
  action: string
  note: string | null
  actor: string
  acted: number
  failed: number
}

/** What is wrong beside queues and workers. */
export interface Trouble {
  errors: DeadlyError[]
  schedules: TroubledSchedule[]
  operations: StoppedOperation[]
  pendingMigrations: string[]
}

const most = 20
const mostOperations = 200

export async function readTrouble(db: Database): Promise<Trouble> {
  const { pending: pendingMigrations } = await migrationStatus(db)
  return db.transaction(async (tx) => ({
    errors: await run(tx, deadlyErrorsSql, { limit: most }, (row: DeadlyError) => row),
    schedules: await run(tx, troubledSchedulesSql, { limit: most }, (row: TroubledSchedule) => row),
    operations: await run(tx, stoppedOperationsSql, { seen: mostOperations }, (row: StoppedOperation) => row),
    pendingMigrations,
  }))
}
