import { mergeBins, percentile } from '../../../core/histogram.ts'
import type { Bins } from '../../../core/histogram.ts'
import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { readHoursSql } from './read-hours.sql.ts'
import { readRatesSql } from './read-rates.sql.ts'
import { readStatsSql } from './read-stats.sql.ts'

/** Milliseconds, within 5 % of the exact ones; null if nothing was measured. */
export interface Percentiles {
  p50: number | null
  p95: number | null
  p99: number | null
}

/** Counts over a period. */
export interface StatCounts {
  /** By clients and handlers of Stint; enqueues from SQL are not counted. Jobs in a transaction may have been rolled back. */
  enqueued: number
  started: number
  succeeded: number
  /** Attempts that failed and were followed by another. */
  failed: number
  dead: number
  /** Taken back from workers that were lost. */
  leaseExpired: number
  /** Endings that came too late and were refused. */
  refused: number
  cancelled: number
  snoozed: number
  released: number
  crashed: number
}

export interface StatSummary extends StatCounts {
  /** Jobs that succeeded per second. */
  perSecond: number
  /** Failed attempts as a share of those that ended, 0 to 1; null if none ended. */
  failureRate: number | null
  /** Attempts that a job took to succeed, on average; null if none succeeded. */
  attemptsPerSuccess: number | null
  /** From `run_at` to the start of its handler. */
  wait: Percentiles
  /** The duration of an attempt, for every ending. */
  run: Percentiles
}

export interface StatPoint extends StatSummary {
  /** When the step begins. */
  at: Date
}

export interface StatSeries extends StatSummary {
  /** Null if all queues are one series. */
  queue: string | null
  /** Null if all kinds are one series. */
  kind: string | null
  /** In order; steps without counts are left out. */
  points: StatPoint[]
}

interface StatRow extends StatCounts {
  at: Date
  queue: string
  kind: string
  attempts: number
  wait: Bins
  run: Bins
}

/** One series for each queue and kind, for each queue, or one of everything. */
export const seriesOf = ['kind', 'queue', 'all'] as const

export interface StatsRequest {
  queue: string | null
  kind: string | null
  from: Date
  to: Date
  stepMs: number
  by: (typeof seriesOf)[number]
}

const hourMs = 3_600_000

export async function readStats(db: Queryable, { by, ...request }: StatsRequest): Promise<StatSeries[]> {
  const statement = request.stepMs % hourMs === 0 ? readHoursSql : readStatsSql
  const rows = await run(db, statement, request, (row: StatRow) => row)
  const groups = new Map<string, StatRow[]>()
  for (const row of rows) {
    const name = JSON.stringify(by === 'kind' ? [row.queue, row.kind] : by === 'queue' ? [row.queue] : [])
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [row])
    else group.push(row)
  }
  const wholeMs = request.to.getTime() - request.from.getTime()
  return [...groups.values()].map((group) => ({
    queue: by === 'all' ? null : (group[0]?.queue ?? null),
    kind: by === 'kind' ? (group[0]?.kind ?? null) : null,
    ...summaryOf(group, wholeMs),
    points: pointsOf(group, request),
  }))
}

function pointsOf(
  rows: readonly StatRow[],
  { stepMs, to }: Pick<StatsRequest, 'stepMs' | 'to'>,
): StatPoint[] {
  const steps = new Map<number, StatRow[]>()
  for (const row of rows) {
    const at = row.at.getTime()
    const step = steps.get(at)
    if (step === undefined) steps.set(at, [row])
    else step.push(row)
  }
  return [...steps]
    .sort(([a], [b]) => a - b)
    .map(([at, step]) => ({
      at: new Date(at),
      // The last step may not be over.
      ...summaryOf(step, Math.max(1_000, Math.min(stepMs, to.getTime() - at))),
    }))
}

const countNames = [
  ...(['enqueued', 'started', 'succeeded', 'failed', 'dead', 'leaseExpired', 'refused'] as const),
  ...(['cancelled', 'snoozed', 'released', 'crashed'] as const),
]

function summaryOf(rows: readonly StatRow[], overMs: number): StatSummary {
  const total = (name: (typeof countNames)[number] | 'attempts'): number =>
    rows.reduce((sum, row) => sum + row[name], 0)
  const counts = Object.fromEntries(countNames.map((name) => [name, total(name)])) as unknown as StatCounts
  const { succeeded, failed, dead } = counts
  const ended = succeeded + failed + dead
  return {
    ...counts,
    perSecond: (succeeded * 1_000) / overMs,
    failureRate: ended === 0 ? null : (failed + dead) / ended,
    attemptsPerSuccess: succeeded === 0 ? null : total('attempts') / succeeded,
    wait: percentilesOf(mergeBins(...rows.map(({ wait }) => wait))),
    run: percentilesOf(mergeBins(...rows.map((row) => row.run))),
  }
}

export function percentilesOf(bins: Bins): Percentiles {
  return { p50: percentile(bins, 0.5), p95: percentile(bins, 0.95), p99: percentile(bins, 0.99) }
}

/** The rates of a queue. */
export interface QueueRate {
  queue: string
  /** Jobs enqueued, and jobs that left for good, per second over the last minutes. */
  inPerSecond: number
  outPerSecond: number
}

/** Rates are over the last 5 minutes. */
export const rateMs = 300_000
/** A rate over less time than this means nothing. */
const leastMs = 5_000

/** The divisor that makes a count a rate. */
export function rateSeconds(overMs: number): number {
  return Math.max(overMs, leastMs) / 1_000
}

export async function readRates(db: Queryable): Promise<QueueRate[]> {
  type Row = { queue: string; cameIn: number; wentOut: number; overMs: number }
  const rows = await run(db, readRatesSql, { windowMs: rateMs }, (row: Row) => row)
  return rows.map(({ queue, cameIn, wentOut, overMs }) => {
    const seconds = rateSeconds(overMs)
    return { queue, inPerSecond: cameIn / seconds, outPerSecond: wentOut / seconds }
  })
}

/** Time until a queue has no ready jobs, at these rates; null if it does not get shorter. */
export function emptyInMs(ready: number, rate: QueueRate | undefined): number | null {
  if (ready === 0) return 0
  const perSecond = rate === undefined ? 0 : rate.outPerSecond - rate.inPerSecond
  return perSecond > 0 ? Math.round((ready / perSecond) * 1_000) : null
}
