import type { Duration } from '../core/duration.ts'
import { durationOption, invalidOption, rejectUnknown } from '../core/options.ts'
import type { Queryable } from '../db/statement.ts'
import { emptyInMs, readGauges, readRates, readStats } from '../numbers/read-stats.ts'
import type { QueueGauge, StatSeries, StatsRequest } from '../numbers/read-stats.ts'
import { textOption } from './list-options.ts'

export interface StatsOptions {
  queue?: string | undefined
  kind?: string | undefined
  /** When to begin; cut to the minute. @default 15 minutes before `to` */
  from?: Date | string | undefined
  /** When to end. @default now */
  to?: Date | string | undefined
  /** How long a point is: whole minutes, at most 1,000 points. @default '1m', or what makes 1,000 points at most */
  step?: Duration | undefined
}

/** What a queue has now, and how fast it goes. */
export interface QueueFlow extends QueueGauge {
  inPerSecond: number
  outPerSecond: number
  /** Until nothing is ready, if it goes on like this; null where nobody can say, or it does not get shorter. */
  emptyInMs: number | null
}

export interface Stats {
  from: Date
  to: Date
  stepMs: number
  /** One for each queue and kind that something happened to. */
  series: StatSeries[]
  /** As of a few seconds ago; none while no worker lives. */
  queues: QueueFlow[]
}

const known = ['queue', 'kind', 'from', 'to', 'step']
const minuteMs = 60_000
const mostPoints = 1_000
const usualMs = 15 * minuteMs
const longestMs = 31 * 86_400_000

export function resolveStatsOptions({
  queue,
  kind,
  from,
  to,
  step,
  ...rest
}: StatsOptions = {}): StatsRequest {
  rejectUnknown('stats', rest, known)
  const toMs = to === undefined ? Date.now() : pastTime('to', to)
  const fromMs =
    Math.floor((from === undefined ? toMs - usualMs : pastTime('from', from)) / minuteMs) * minuteMs
  if (fromMs >= toMs) throw invalidOption('from', 'earlier than `to`', from)
  if (toMs - fromMs > longestMs) throw invalidOption('from', 'within 31 days of `to`', from)
  const leastMs = Math.ceil((toMs - fromMs) / mostPoints / minuteMs) * minuteMs
  const stepMs = step === undefined ? leastMs : durationOption('step', step, { minMs: leastMs })
  if (stepMs % minuteMs !== 0) throw invalidOption('step', 'whole minutes', step)
  return {
    queue: textOption('queue', queue),
    kind: textOption('kind', kind),
    from: new Date(fromMs),
    to: new Date(toMs),
    stepMs,
  }
}

function pastTime(name: string, value: unknown): number {
  const isText = typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(value)
  const time = value instanceof Date ? value.getTime() : isText ? Date.parse(value) : Number.NaN
  if (Number.isFinite(time)) return time
  throw invalidOption(name, 'a Date, or an ISO 8601 time with its offset', value)
}

export async function stats(db: Queryable, request: StatsRequest): Promise<Stats> {
  const series = await readStats(db, request)
  const { from, to, stepMs, queue } = request
  const flows = await queueFlows(db)
  return {
    ...{ from, to, stepMs, series },
    queues: queue === null ? flows : flows.filter((flow) => flow.queue === queue),
  }
}

async function queueFlows(db: Queryable): Promise<QueueFlow[]> {
  const gauges = await readGauges(db)
  const rates = new Map((await readRates(db)).map((rate) => [rate.queue, rate]))
  return gauges.map((gauge) => {
    const rate = rates.get(gauge.queue)
    const { inPerSecond = 0, outPerSecond = 0 } = rate ?? {}
    return { ...gauge, inPerSecond, outPerSecond, emptyInMs: emptyInMs(gauge.ready, rate) }
  })
}
