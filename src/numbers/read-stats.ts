import { mergeBins, percentile } from '../core/histogram.ts'
import type { Bins } from '../core/histogram.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { readGaugesSql } from './read-gauges.sql.ts'
import { readRatesSql } from './read-rates.sql.ts'
import { readStatsSql } from './read-stats.sql.ts'

/** Milliseconds, within 5 % of the exact ones; null where nothing was measured. */
export interface Percentiles {
  p50: number | null
  p95: number | null
  p99: number | null
}

/** What happened within a time. */
export interface StatCounts {
  /** By clients and handlers of Stint; enqueues from SQL are not counted. Those in a transaction may have been rolled back. */
  enqueued: number
  started: number
  succeeded: number
  /** Attempts that failed and were followed by another. */
  failed: number
  dead: number
  /** Taken back from workers that were lost. */
  leaseExpired: number
  /** Endings that came too late, and were refused. */
  refused: number
  cancelled: number
  snoozed: number
  released: number
  crashed: number
}

export interface StatSummary extends StatCounts {
  /** Jobs that succeeded in a second. */
  perSecond: number
  /** Failed attempts of all that ended, 0 to 1; null where none did. */
  failureRate: number | null
  /** Attempts that a job took to succeed, on average; null where none did. */
  attemptsPerSuccess: number | null
  /** From `run_at` to the start of its handler. */
  wait: Percentiles
  /** Of an attempt, from start to end, however it ended. */
  run: Percentiles
}

export interface StatPoint extends StatSummary {
  /** When the step begins. */
  at: Date
}

export interface StatSeries extends StatSummary {
  queue: string
  kind: string
  /** In order; steps in which nothing happened are left out. */
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

export interface StatsRequest {
  queue: string | null
  kind: string | null
  from: Date
  to: Date
  stepMs: number
}

export async function readStats(db: Queryable, request: StatsRequest): Promise<StatSeries[]> {
  const rows = await run(db, readStatsSql, request, (row: StatRow) => row)
  const groups = new Map<string, StatRow[]>()
  for (const row of rows) {
    const name = JSON.stringify([row.queue, row.kind])
    groups.set(name, [...(groups.get(name) ?? []), row])
  }
  const wholeMs = request.to.getTime() - request.from.getTime()
  return [...groups.values()].map((points) => ({
    queue: points[0]?.queue ?? '',
    kind: points[0]?.kind ?? '',
    ...summaryOf(points, wholeMs),
    points: points.map((point) => ({ at: point.at, ...summaryOf([point], request.stepMs) })),
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

function percentilesOf(bins: Bins): Percentiles {
  return { p50: percentile(bins, 0.5), p95: percentile(bins, 0.95), p99: percentile(bins, 0.99) }
}

type GaugeState = 'ready' | 'running' | 'scheduled' | 'retrying' | 'waiting'

/** What a queue has, as of a few seconds ago. */
export interface QueueGauge extends Record<GaugeState, number> {
  queue: string
  /** When it was counted, by the database's clock. */
  asOf: Date
  /** The states whose figure is an estimate: of those with more than 10,000 jobs, or fewer where there are many queues. */
  estimated: readonly GaugeState[]
  oldestReadyMs: number | null
  /** By kind and state. */
  kinds: Readonly<Record<string, Readonly<Partial<Record<GaugeState, number>>>>>
  /** Ready jobs by priority. */
  priorities: Readonly<Record<string, number>>
  /** The keys with the most ready jobs, up to 50. */
  topKeys: readonly { key: string; ready: number }[]
}

/** Refreshed every 2 s, so what is older than this was not refreshed by anybody. */
const oldestMs = 6_000

/** Of every queue that has jobs; none where they are older than that, because there is no worker to refresh them. */
export function readGauges(
  db: Queryable,
  request: { oldestMs: number } = { oldestMs },
): Promise<QueueGauge[]> {
  return run(db, readGaugesSql, request, (row: QueueGauge) => row)
}

/** How fast a queue goes. */
export interface QueueRate {
  queue: string
  /** Jobs enqueued in a second, and jobs that left for good, over the last minutes. */
  inPerSecond: number
  outPerSecond: number
}

const windowMs = 300_000
/** Over less time than this nobody can say how fast it goes. */
const leastMs = 5_000

export async function readRates(db: Queryable): Promise<QueueRate[]> {
  type Row = { queue: string; cameIn: number; wentOut: number; overMs: number }
  const rows = await run(db, readRatesSql, { windowMs }, (row: Row) => row)
  return rows.map(({ queue, cameIn, wentOut, overMs }) => {
    const seconds = Math.max(overMs, leastMs) / 1_000
    return { queue, inPerSecond: cameIn / seconds, outPerSecond: wentOut / seconds }
  })
}

/** How long until a queue has no ready jobs, if it goes on like this; null where it does not get shorter. */
export function emptyInMs(ready: number, rate: QueueRate | undefined): number | null {
  if (ready === 0) return 0
  const perSecond = rate === undefined ? 0 : rate.outPerSecond - rate.inPerSecond
  return perSecond > 0 ? Math.round((ready / perSecond) * 1_000) : null
}
