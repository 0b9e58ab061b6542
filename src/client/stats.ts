import type { Duration } from '../core/duration.ts'
import { durationOption, invalidOption, oneOfOption, rejectUnknown } from '../core/options.ts'
import type { Queryable } from '../db/statement.ts'
import { emptyInMs, readGauges, readRates, readStats, seriesOf } from '../stats/read/series/read-stats.ts'
import type { QueueGauge, StatSeries, StatsRequest } from '../stats/read/series/read-stats.ts'
import { textOption } from './jobs/list-options.ts'

export interface StatsOptions {
  queue?: string | undefined
  kind?: string | undefined
  /** When to begin; cut to the minute, and with a step of hours to the hour. @default 15 minutes before `to` */
  from?: Date | string | undefined
  /** When to end; with a step of hours the hour is completed. @default now */
  to?: Date | string | undefined
  /**
   * How long a point is: whole minutes, at most 1,000 points. Minutes are kept for a week; in whole hours it goes back 90
   * days. @default '1m', or what makes 1,000 points at most; whole hours beyond 2 days
   */
  step?: Duration | undefined
  /** What is a series: each queue and `kind`, each `queue`, or `all` as one. @default 'kind' */
  by?: (typeof seriesOf)[number] | undefined
}

export interface GaugesOptions {
  /** @default all of them */
  queue?: string | undefined
}

/** What a queue has now, and how fast it goes. */
export interface QueueFlow extends QueueGauge {
  inPerSecond: number
  outPerSecond: number
  /** Time until no job is ready, at the current rates; null if that is unknown or the queue does not get shorter. */
  emptyInMs: number | null
}

export interface Stats {
  from: Date
  to: Date
  stepMs: number
  /** One for each queue and kind that something happened to, or as `by` says. */
  series: StatSeries[]
  /** As of a few seconds ago; none while no worker lives. */
  queues: QueueFlow[]
}

const known = ['queue', 'kind', 'from', 'to', 'step', 'by']
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const mostPoints = 1_000
const usualMs = 15 * minuteMs
const longestMs = 92 * dayMs
/** Beyond this, points are hours unless something else is asked for: there are 60 times as many minutes to read. */
const byMinuteMs = 2 * dayMs

export function resolveStatsOptions(options: StatsOptions = {}): StatsRequest {
  const { queue, kind, from, to, step, by = 'kind', ...rest } = options
  rejectUnknown('stats', rest, known)
  const now = Date.now()
  const toMs = to === undefined ? now : pastTime('to', to)
  const askedMs = from === undefined ? toMs - usualMs : pastTime('from', from)
  const fromMs = down(askedMs, minuteMs)
  if (fromMs >= toMs) throw invalidOption('from', 'earlier than `to`', from)
  // A minute more: a caller that asks for the last 92 days read its clock before we did.
  if (toMs - askedMs > longestMs + minuteMs) throw invalidOption('from', 'within 92 days of `to`', from)
  const stepMs = stepOption(step, { spanMs: toMs - fromMs, ageMs: now - fromMs })
  const isHourly = stepMs % hourMs === 0
  return {
    queue: textOption('queue', queue),
    kind: textOption('kind', kind),
    from: new Date(isHourly ? down(fromMs, hourMs) : fromMs),
    to: new Date(isHourly && toMs < now ? Math.min(now, up(toMs, hourMs)) : toMs),
    stepMs,
    by: oneOfOption('by', by, seriesOf),
  }
}

function stepOption(step: unknown, { spanMs, ageMs }: { spanMs: number; ageMs: number }): number {
  const mostMs = spanMs / (mostPoints - 1)
  if (step === undefined) {
    const unitMs = Math.max(spanMs, ageMs) > byMinuteMs ? hourMs : minuteMs
    return Math.max(unitMs, up(mostMs, unitMs))
  }
  const stepMs = durationOption('step', step, { minMs: up(mostMs, minuteMs) })
  if (stepMs % minuteMs !== 0) throw invalidOption('step', 'whole minutes', step)
  return stepMs
}

function down(ms: number, unit: number): number {
  return Math.floor(ms / unit) * unit
}

function up(ms: number, unit: number): number {
  return Math.ceil(ms / unit) * unit
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
  return { from, to, stepMs, series, queues: await queueFlows(db, queue) }
}

export function resolveGaugesOptions({ queue, ...rest }: GaugesOptions = {}): string | null {
  rejectUnknown('gauges', rest, ['queue'])
  return textOption('queue', queue)
}

/** Of one queue, or of all that have jobs. */
export async function queueFlows(db: Queryable, queue: string | null): Promise<QueueFlow[]> {
  const gauges = (await readGauges(db)).filter((gauge) => queue === null || gauge.queue === queue)
  const rates = new Map((await readRates(db)).map((rate) => [rate.queue, rate]))
  return gauges.map((gauge) => {
    const rate = rates.get(gauge.queue)
    const { inPerSecond = 0, outPerSecond = 0 } = rate ?? {}
    return { ...gauge, inPerSecond, outPerSecond, emptyInMs: emptyInMs(gauge.ready, rate) }
  })
}
