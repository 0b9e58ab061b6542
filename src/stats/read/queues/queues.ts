import { mergeBins, percentile } from '../../../core/histogram.ts'
import type { Queryable } from '../../../db/statement.ts'
import { allPauses } from '../../../jobs/pauses/pauses.ts'
import { emptyInMs, percentilesOf, readRates } from '../series/read-stats.ts'
import { countQueues } from './count-queues.ts'
import { DeadLetterCounts } from './dead-counts.ts'
import type { DeadCount } from './dead-counts.ts'
import type { QueueCounts, QueueFigures } from './figures.ts'
import { LastHour } from './last-hour.ts'
import type { QueueHour } from './last-hour.ts'
import { gaugeStates, readGauges } from './read-gauges.ts'
import type { GaugeRow } from './read-gauges.ts'

/** All queues, and the last hour of each, which a summary of several queues is made from. */
export interface AllQueues {
  /** By name: every queue that has jobs, had some within the last hour, is served by a worker, or is paused. */
  queues: QueueFigures[]
  /** By queue; queues without counts within the hour have none. */
  hours: ReadonlyMap<string, QueueHour>
}

/** A live worker, as far as the figures need it. */
export interface Serving {
  /** Its slots by queue. */
  queues: Readonly<Record<string, number>>
}

/**
 * Reads the figures of all queues. The two methods differ in where the counts of jobs come from; the rest is the same.
 * One per client: it remembers the last hour and the counts of dead letters, so that a second read is cheap.
 */
export class QueueReader {
  readonly #hour = new LastHour()
  readonly #letters = new DeadLetterCounts()

  /** Counts the jobs now, up to 10,000 in each state of a queue. Above that, the gauges have an estimate. */
  async readCounted(db: Queryable, workers: readonly Serving[]): Promise<AllQueues> {
    const hours = await this.#hour.read(db)
    const served = servedBy(workers)
    const counts = await countQueues(db, [...served.keys(), ...hours.keys()])
    const gauges = new Map((await readGauges(db)).map((gauge) => [gauge.queue, gauge]))
    const better = counts.map((count) => withEstimates(count, gauges.get(count.queue)))
    return readQueues(db, { counts: better, hours, served })
  }

  /** Takes the counts from the gauges, and counts no live job. */
  async readGauged(
    db: Queryable,
    { gauges, workers }: { gauges: readonly GaugeRow[]; workers: readonly Serving[] },
  ): Promise<AllQueues> {
    const hours = await this.#hour.read(db)
    const counts = countsOf(gauges, await this.#letters.read(db))
    return readQueues(db, { counts, hours, served: servedBy(workers) })
  }
}

interface Served {
  slots: number
  workers: number
}

function servedBy(workers: readonly Serving[]): Map<string, Served> {
  const served = new Map<string, Served>()
  for (const { queues } of workers) {
    for (const [queue, slots] of Object.entries(queues)) {
      const known = served.get(queue) ?? { slots: 0, workers: 0 }
      served.set(queue, { slots: known.slots + slots, workers: known.workers + 1 })
    }
  }
  return served
}

interface Parts {
  counts: readonly QueueCounts[]
  hours: ReadonlyMap<string, QueueHour>
  served: ReadonlyMap<string, Served>
}

async function readQueues(db: Queryable, { counts, hours, served }: Parts): Promise<AllQueues> {
  const rates = new Map((await readRates(db)).map((rate) => [rate.queue, rate]))
  const counted = new Map(counts.map((count) => [count.queue, count]))
  const pauses = await allPauses(db)
  const names = new Set([...counted.keys(), ...hours.keys(), ...served.keys(), ...pauses.keys()])
  const queues = [...names].sort().map((queue): QueueFigures => {
    const count = counted.get(queue) ?? notCounted(queue)
    const rate = rates.get(queue)
    return {
      ...count,
      pauses: pauses.get(queue) ?? [],
      ...(served.get(queue) ?? { slots: 0, workers: 0 }),
      inPerSecond: rate?.inPerSecond ?? 0,
      outPerSecond: rate?.outPerSecond ?? 0,
      emptyInMs: emptyInMs(count.ready, rate),
      ...lastHourOf(hours.get(queue)),
    }
  })
  return { queues, hours }
}

function notCounted(queue: string): QueueCounts {
  return {
    queue,
    scheduled: 0,
    waiting: 0,
    ready: 0,
    running: 0,
    retrying: 0,
    dead: 0,
    estimated: [],
    atLeast: [],
    oldestReadyMs: null,
    countedAt: null,
  }
}

/** The counts of the gauges, with those of dead letters, which the gauges do not have. */
function countsOf(gauges: readonly GaugeRow[], dead: ReadonlyMap<string, DeadCount>): QueueCounts[] {
  const known = new Map(gauges.map((gauge) => [gauge.queue, gauge]))
  const names = new Set([...known.keys(), ...dead.keys()])
  return [...names].map((queue) => {
    const { scheduled, waiting, ready, running, retrying, estimated, oldestReadyMs, countedAt } =
      known.get(queue) ?? notCounted(queue)
    const { count, isExact } = dead.get(queue) ?? { count: 0, isExact: true }
    return {
      queue,
      scheduled,
      waiting,
      ready,
      running,
      retrying,
      dead: count,
      estimated,
      atLeast: isExact ? [] : ['dead'],
      oldestReadyMs,
      countedAt,
    }
  })
}

/** A complete count is newer than the gauge, so it stays. A count that stopped gives way to a higher one of the gauge. */
function withEstimates(counts: QueueCounts, gauge: GaugeRow | undefined): QueueCounts {
  if (gauge === undefined) return counts
  const estimated = gaugeStates.filter(
    (state) => counts.atLeast.includes(state) && gauge[state] > counts[state],
  )
  return {
    ...counts,
    ...Object.fromEntries(estimated.map((state) => [state, gauge[state]])),
    estimated,
    atLeast: counts.atLeast.filter((state) => state === 'dead' || !estimated.includes(state)),
  }
}

function lastHourOf(
  hour: QueueHour | undefined,
): Pick<QueueFigures, 'failureRate' | 'wait' | 'run' | 'spark'> {
  const { wait = {}, run: ran = {}, spark = Array.from({ length: 60 }, () => 0) } = hour ?? {}
  return {
    failureRate: hour === undefined ? null : failureRateOf([hour]),
    wait: percentilesOf(wait),
    run: percentilesOf(ran),
    spark,
  }
}

/** Failed attempts as a share of those that ended, 0 to 1; null if none ended. */
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
