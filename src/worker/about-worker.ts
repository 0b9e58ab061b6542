import { hostname } from 'node:os'
import type { AboutWorker } from '../jobs/leases/lease.ts'
import { limitNames } from '../limits/synchronise.ts'
import { stintVersion } from '../node/version.ts'
import type { Schedule } from '../schedules/rules/define-schedule.ts'
import type { Handlers } from './handlers.ts'
import type { WorkerConfig } from './options.ts'

/** What the row of a worker says about it. */
export function aboutWorker({
  worker,
  handlers,
  schedules,
}: {
  worker: WorkerConfig
  handlers: Handlers
  schedules: readonly Schedule[]
}): AboutWorker {
  const batches = worker.queues.map(({ name }) => [name, handlers.servedIn(name).batchSize] as const)
  return {
    host: hostname(),
    pid: process.pid,
    version: worker.version,
    stintVersion: stintVersion(),
    queues: Object.fromEntries(worker.queues.map(({ name, concurrency }) => [name, concurrency])),
    kinds: handlers.kinds,
    versions: JSON.parse(handlers.versions()) as Record<string, number>,
    batches: Object.fromEntries(batches.filter(([, size]) => size > 1)),
    reserves: Object.fromEntries(
      worker.queues.flatMap(({ name, reserve }) => (reserve === undefined ? [] : [[name, reserve]])),
    ),
    schedules: schedules.map(({ name }) => name),
    limits: limitNames(worker.flow, handlers.contracts),
    flows: true,
  }
}
