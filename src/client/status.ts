import type { Database } from '../db/database.ts'
import { queueStatus } from '../queues/status.ts'
import type { QueueStatus } from '../queues/status.ts'
import { liveWorkers } from '../queues/workers.ts'
import type { LiveWorker } from '../queues/workers.ts'
import { migrationStatus } from '../schema/migrate.ts'
import { upkeepStatus } from '../upkeep/status.ts'
import type { UpkeepStatus } from '../upkeep/status.ts'

/** How things stand, at the cost of a glance. */
export interface Status {
  /** The database's time. */
  asOf: Date
  /** The last migration that is applied; 0 where none is. */
  schemaVersion: number
  /** The names of migrations that are still to do. */
  pendingMigrations: string[]
  workers: LiveWorker[]
  /** Who does upkeep for all, and how its services fare. */
  upkeep: UpkeepStatus
  /** By name; with those that are empty and served by a worker. */
  queues: QueueStatus[]
}

export async function readStatus(db: Database): Promise<Status> {
  const { applied, pending } = await migrationStatus(db)
  const { asOf, workers } = await liveWorkers(db)
  const served = workers.flatMap(({ queues }) => Object.keys(queues))
  return {
    asOf,
    schemaVersion: applied.at(-1)?.version ?? 0,
    pendingMigrations: pending,
    workers,
    upkeep: await upkeepStatus(db),
    queues: await queueStatus(db, served),
  }
}
