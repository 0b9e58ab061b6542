import type { Database } from '../db/database.ts'
import { emptyInMs, readGauges, readRates } from '../stats/read/series/read-stats.ts'
import type { QueueGauge } from '../stats/read/series/read-stats.ts'
import { queueStatus } from '../stats/read/queues/queue-status.ts'
import type { Count, QueueStatus } from '../stats/read/queues/queue-status.ts'
import { liveWorkers } from '../stats/read/fleet/workers.ts'
import type { LiveWorker } from '../stats/read/fleet/workers.ts'
import { migrationStatus } from '../schema/migrate.ts'
import { upkeepStatus } from '../stats/read/fleet/upkeep.ts'
import type { UpkeepStatus } from '../stats/read/fleet/upkeep.ts'

/** The current state, cheap to read. */
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
  queues: QueueState[]
}

/** What a queue has, and how fast it goes. */
export interface QueueState extends QueueStatus {
  /** Jobs enqueued in a second, and jobs that left for good, over the last 5 minutes. */
  inPerSecond: number
  outPerSecond: number
  /** Until nothing is ready, if it goes on like this; null where it does not get shorter. */
  emptyInMs: number | null
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
    queues: await queueStates(db, served),
  }
}

async function queueStates(db: Database, served: readonly string[]): Promise<QueueState[]> {
  const queues = await queueStatus(db, served)
  const gauges = new Map((await readGauges(db)).map((gauge) => [gauge.queue, gauge]))
  const rates = new Map((await readRates(db)).map((rate) => [rate.queue, rate]))
  return queues.map((queue) => {
    const known = withGauge(queue, gauges.get(queue.queue))
    const rate = rates.get(queue.queue)
    const { inPerSecond = 0, outPerSecond = 0 } = rate ?? {}
    return { ...known, inPerSecond, outPerSecond, emptyInMs: emptyInMs(known.ready.count, rate) }
  })
}

/** A complete count is current, so it is used; where the counting stopped, the gauge has an estimate. */
function withGauge(queue: QueueStatus, gauge: QueueGauge | undefined): QueueStatus {
  if (gauge === undefined) return queue
  const better = (counted: Count, count: number): Count =>
    counted.isExact ? counted : { count: Math.max(counted.count, count), isExact: false }
  return {
    ...queue,
    scheduled: better(queue.scheduled, gauge.scheduled),
    waiting: better(queue.waiting, gauge.waiting),
    ready: better(queue.ready, gauge.ready),
    running: better(queue.running, gauge.running),
    retrying: better(queue.retrying, gauge.retrying),
  }
}
