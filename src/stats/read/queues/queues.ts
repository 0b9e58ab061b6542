import { mergeBins, percentile } from '../../../core/histogram.ts'
import type { Bins } from '../../../core/histogram.ts'
import type { Queryable } from '../../../db/statement.ts'
import { emptyInMs, readRates } from '../series/read-stats.ts'
import type { Percentiles, QueueGauge } from '../series/read-stats.ts'
import type { CappedCount, DeadLetterCounts } from './dead-counts.ts'
import type { WorkerView } from '../fleet/fleet.ts'
import type { CurrentGauges } from './gauges.ts'
import type { LastHour, QueueHour } from './last-hour.ts'

/** What a queue has, and how it fares. */
export interface QueueView {
  queue: string
  scheduled: number
  waiting: number
  ready: number
  running: number
  retrying: number
  /** Without those in the trash and those edited into another job. */
  dead: CappedCount
  /** The states whose figure is an estimate. */
  estimated: readonly string[]
  oldestReadyMs: number | null
  /** Of the workers that live, together. */
  slots: number
  /** That live and serve it. */
  workers: number
  inPerSecond: number
  outPerSecond: number
  /** Until nothing is ready, if it goes on like this; null where it does not get shorter. */
  emptyInMs: number | null
  /** Failed attempts of all that ended within the last hour, 0 to 1; null where none did. */
  failureRate: number | null
  /** Milliseconds, over the last hour. */
  wait: Percentiles
  run: Percentiles
  /** Jobs that ended in each of the last 60 minutes, the current one last. */
  spark: number[]
  /** When it was counted; null where that never happened. */
  gaugesAt: Date | null
}

/** All queues, and what a summary of them needs. */
export interface QueuesView {
  queues: QueueView[]
  /** By queue; queues to which nothing happened have none. */
  hours: ReadonlyMap<string, QueueHour>
  gauges: ReadonlyMap<string, QueueGauge>
}

/** The readers that remember something between two calls, and the workers that serve the queues. */
export interface QueuesRequest {
  hour: LastHour
  current: CurrentGauges
  letters: DeadLetterCounts
  workers: readonly WorkerView[]
}

/** Every queue that has jobs, had some within the hour, or is served; by name. */
export async function readQueues(
  db: Queryable,
  { hour, current, letters, workers }: QueuesRequest,
): Promise<QueuesView> {
  const gauges = new Map((await current.read(db)).map((gauge) => [gauge.queue, gauge]))
  const rates = new Map((await readRates(db)).map((rate) => [rate.queue, rate]))
  const hours = await hour.read(db)
  const dead = await letters.read(db)
  const served = new Map<string, { slots: number; workers: number }>()
  for (const worker of workers) {
    if (worker.status === 'lost') continue
    for (const [queue, slots] of Object.entries(worker.queues)) {
      const known = served.get(queue) ?? { slots: 0, workers: 0 }
      served.set(queue, { slots: known.slots + slots, workers: known.workers + 1 })
    }
  }
  const names = new Set([...gauges.keys(), ...hours.keys(), ...served.keys(), ...dead.keys()])
  const queues = [...names].sort().map((queue): QueueView => {
    const gauge = gauges.get(queue)
    const { scheduled = 0, waiting = 0, ready = 0, running = 0, retrying = 0 } = gauge ?? {}
    const rate = rates.get(queue)
    return {
      queue,
      scheduled,
      waiting,
      ready,
      running,
      retrying,
      dead: dead.get(queue) ?? { count: 0, exact: true },
      estimated: gauge?.estimated ?? [],
      oldestReadyMs: gauge?.oldestReadyMs ?? null,
      ...(served.get(queue) ?? { slots: 0, workers: 0 }),
      inPerSecond: rate?.inPerSecond ?? 0,
      outPerSecond: rate?.outPerSecond ?? 0,
      emptyInMs: emptyInMs(ready, rate),
      ...figuresOf(hours.get(queue)),
      gaugesAt: gauge?.asOf ?? null,
    }
  })
  return { queues, hours, gauges }
}

type Figures = Pick<QueueView, 'failureRate' | 'wait' | 'run' | 'spark'>

function figuresOf(hour: QueueHour | undefined): Figures {
  const { wait = {}, run: ran = {}, spark = Array.from({ length: 60 }, () => 0) } = hour ?? {}
  return {
    failureRate: hour === undefined ? null : failureRateOf([hour]),
    wait: percentilesOf(wait),
    run: percentilesOf(ran),
    spark,
  }
}

/** Failed attempts of all that ended, 0 to 1; null where none did. */
export function failureRateOf(
  hours: readonly Pick<QueueHour, 'succeeded' | 'failed' | 'dead'>[],
): number | null {
  const total = (name: 'succeeded' | 'failed' | 'dead'): number =>
    hours.reduce((sum, hour) => sum + hour[name], 0)
  const failed = total('failed') + total('dead')
  const ended = failed + total('succeeded')
  return ended === 0 ? null : failed / ended
}

export function waitP95Of(hours: readonly QueueHour[]): number | null {
  return percentile(mergeBins(...hours.map(({ wait }) => wait)), 0.95)
}

export function percentilesOf(bins: Bins): Percentiles {
  return { p50: percentile(bins, 0.5), p95: percentile(bins, 0.95), p99: percentile(bins, 0.99) }
}
