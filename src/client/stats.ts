import type { Duration } from '../core/duration.ts'
import { durationOption, invalidOption, oneOfOption, rejectUnknown } from '../core/options.ts'
import type { Queryable } from '../db/statement.ts'
import { liveWorkers } from '../stats/read/fleet/workers.ts'
import type { QueueFigures } from '../stats/read/queues/figures.ts'
import type { QueueReader } from '../stats/read/queues/queues.ts'
import { readGauges } from '../stats/read/queues/read-gauges.ts'
import { readStats, seriesOf } from '../stats/read/series/read-stats.ts'
import type { StatSeries, StatsRequest } from '../stats/read/series/read-stats.ts'
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
  /** One series for each queue and `kind`, for each `queue`, or one of `all`. @default 'kind' */
  by?: (typeof seriesOf)[number] | undefined
}

export interface GaugesOptions {
  /** @default all of them */
  queue?: string | undefined
}

export interface Stats {
  from: Date
  to: Date
  stepMs: number
  /** One for each queue and kind that has counts in this time, or as `by` says. */
  series: StatSeries[]
  /** Every queue that has live jobs, as the leader counted them a few seconds ago; none while no worker lives. */
  queues: QueueFigures[]
}

const known = ['queue', 'kind', 'from', 'to', 'step', 'by']
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const mostPoints = 1_000
const usualMs = 15 * minuteMs
const longestMs = 92 * dayMs
/** Beyond this, points are hours unless `step` says otherwise: there are 60 times as many minutes to read. */
const byMinuteMs = 2 * dayMs

export function resolveStatsOptions(options: StatsOptions = {}): StatsRequest {
  const { queue, kind, from, to, step, by = 'kind', ...rest } = options
  rejectUnknown('stats', rest, known)
  const now = Date.now()
  const toMs = to === undefined ? now : pastTime('to', to)
  const askedMs = from === undefined ? toMs - usualMs : pastTime('from', from)
  const fromMs = down(askedMs, minuteMs)
  if (fromMs >= toMs) throw invalidOption('from', 'earlier than `to`', from)
  // A minute more: a caller that wants the last 92 days read its clock before we did.
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

export async function stats(db: Queryable, reader: QueueReader, request: StatsRequest): Promise<Stats> {
  const series = await readStats(db, request)
  const { from, to, stepMs, queue } = request
  return { from, to, stepMs, series, queues: await gaugedQueues(db, reader, queue) }
}

export function resolveGaugesOptions({ queue, ...rest }: GaugesOptions = {}): string | null {
  rejectUnknown('gauges', rest, ['queue'])
  return textOption('queue', queue)
}

/** The figures of one queue, or of all that have live jobs; none where the gauges are too old. */
export async function gaugedQueues(
  db: Queryable,
  reader: QueueReader,
  queue: string | null,
): Promise<QueueFigures[]> {
  const gauges = await readGauges(db)
  if (gauges.length === 0) return []
  const { workers } = await liveWorkers(db)
  const { queues } = await reader.readGauged(db, { gauges, workers })
  return queues.filter((one) => one.countedAt !== null && (queue === null || one.queue === queue))
}
