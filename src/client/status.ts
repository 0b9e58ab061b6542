import type { Database } from '../db/database.ts'
import type { QueueFigures } from '../stats/read/queues/figures.ts'
import type { QueueReader } from '../stats/read/queues/queues.ts'
import { liveWorkers } from '../stats/read/fleet/workers.ts'
import type { LiveWorker } from '../stats/read/fleet/workers.ts'
import { migrationStatus } from '../schema/migrate.ts'
import { upkeepStatus } from '../stats/read/fleet/upkeep.ts'
import type { UpkeepStatus } from '../stats/read/fleet/upkeep.ts'

/** The current state, cheap to read. */
export interface Status {
  /** The database's time. */
  asOf: Date
  /** The last migration that is applied; 0 if none is. */
  schemaVersion: number
  /** The names of migrations that are not applied yet. */
  pendingMigrations: string[]
  workers: LiveWorker[]
  /** The worker that leads upkeep, and the last success and error of each service. */
  upkeep: UpkeepStatus
  /** By name: every queue that has jobs, had some within the last hour, is served by a worker, or is paused. */
  queues: QueueFigures[]
}

export async function readStatus(db: Database, reader: QueueReader): Promise<Status> {
  const { applied, pending } = await migrationStatus(db)
  const { asOf, workers } = await liveWorkers(db)
  const { queues } = await reader.readCounted(db, workers)
  return {
    asOf,
    schemaVersion: applied.at(-1)?.version ?? 0,
    pendingMigrations: pending,
    workers,
    upkeep: await upkeepStatus(db),
    queues,
  }
}
