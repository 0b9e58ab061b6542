import { percentile } from '../core/histogram.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { readStats } from '../numbers/read-stats.ts'
import type { StatsRequest, StatSummary } from '../numbers/read-stats.ts'
import { deploysSql } from './deploys.sql.ts'
import { seriesBinsSql } from './series-bins.sql.ts'
import { seriesCountsSql } from './series-counts.sql.ts'

const countNames = ['enqueued', 'started', 'succeeded', 'failed', 'dead', 'leaseExpired', 'refused'] as const
type Counts = Record<(typeof countNames)[number], number>

/** What happened within a step. */
export interface SeriesPoint extends Counts {
  /** When the step begins. */
  at: Date
  waitP50: number | null
  waitP95: number | null
  runP50: number | null
  runP95: number | null
}

/** All that happened to what was asked for, as one line. */
export interface MergedSeries {
  from: Date
  to: Date
  stepMs: number
  /** Every step, those in which nothing happened too; at most 1,000. */
  points: SeriesPoint[]
  total: Omit<SeriesPoint, 'at'> & {
    /** Failed attempts of all that ended, 0 to 1; null where none did. */
    failureRate: number | null
    /** Jobs that succeeded in a second. */
    perSecond: number
  }
  /** The share of what was measured that the percentiles are made of: below 1 where there is very much of it. */
  sampled: number
  /** First starts of a version of the app. */
  deploys: { at: Date; version: string }[]
}

/** Rows whose histograms are merged at most; each has some dozens of bins. */
const mostRows = 4_000
const mostDeploys = 100
const hourMs = 3_600_000

export async function readSeries(db: Queryable, request: StatsRequest): Promise<MergedSeries> {
  const { from, to, stepMs } = request
  const { known, total, sampled } =
    stepMs % hourMs === 0 ? await byHours(db, request) : await byMinutes(db, request)
  const points: SeriesPoint[] = []
  for (let at = from.getTime(); at < to.getTime(); at += stepMs)
    points.push({ at: new Date(at), ...(known.get(at) ?? nothing) })
  const ended = total.succeeded + total.failed + total.dead
  return {
    ...{ from, to, stepMs, points },
    total: {
      ...total,
      failureRate: ended === 0 ? null : (total.failed + total.dead) / ended,
      perSecond: (total.succeeded * 1_000) / (to.getTime() - from.getTime()),
    },
    sampled,
    deploys: await run(db, deploysSql, { from, to, limit: mostDeploys }, (row: Deploy) => row),
  }
}

type Step = Omit<SeriesPoint, 'at'>
type Deploy = MergedSeries['deploys'][number]

/** Steps by when they begin, those in which something happened; and all of them together. */
interface Steps {
  known: ReadonlyMap<number, Step>
  total: Step
  sampled: number
}

const nothing: Step = {
  ...{ enqueued: 0, started: 0, succeeded: 0, failed: 0, dead: 0, leaseExpired: 0, refused: 0 },
  ...{ waitP50: null, waitP95: null, runP50: null, runP95: null },
}

/** Hours are kept merged, so there are few of them. */
async function byHours(db: Queryable, request: StatsRequest): Promise<Steps> {
  const [series] = await readStats(db, { ...request, by: 'all' })
  const points = series?.points ?? []
  return {
    known: new Map(points.map((point) => [point.at.getTime(), stepOf(point)])),
    total: series === undefined ? nothing : stepOf(series),
    sampled: 1,
  }
}

function stepOf(summary: StatSummary): Step {
  const { wait, run: ran } = summary
  return {
    ...countsOf(summary),
    ...{ waitP50: wait.p50, waitP95: wait.p95, runP50: ran.p50, runP95: ran.p95 },
  }
}

async function byMinutes(db: Queryable, request: StatsRequest): Promise<Steps> {
  const rows = await run(db, seriesCountsSql, request, (row: Counts & { at: Date; rows: number }) => row)
  const every = Math.max(1, Math.ceil(rows.reduce((sum, row) => sum + row.rows, 0) / mostRows))
  const bins = new StepBins()
  if (rows.length > 0)
    for (const row of await run(db, seriesBinsSql, { ...request, every }, (one: BinRow) => one)) bins.add(row)
  return {
    known: new Map(rows.map((row) => [row.at.getTime(), { ...countsOf(row), ...bins.of(row.at.getTime()) }])),
    total: { ...countsOf(...rows), ...bins.of('all') },
    sampled: 1 / every,
  }
}

function countsOf(...rows: (Counts | undefined)[]): Counts {
  const counts = countNames.map((name) => [name, rows.reduce((sum, row) => sum + (row?.[name] ?? 0), 0)])
  return Object.fromEntries(counts) as Counts
}

interface BinRow {
  at: Date
  isWait: boolean
  bin: number
  jobs: number
}

type Figures = Pick<SeriesPoint, 'waitP50' | 'waitP95' | 'runP50' | 'runP95'>

/** Histograms by step, and all of them together. */
class StepBins {
  readonly #wait = new Map<number | 'all', Record<string, number>>()
  readonly #run = new Map<number | 'all', Record<string, number>>()

  add({ at, isWait, bin, jobs }: BinRow): void {
    const steps = isWait ? this.#wait : this.#run
    for (const step of [at.getTime(), 'all'] as const) {
      let bins = steps.get(step)
      if (bins === undefined) steps.set(step, (bins = {}))
      bins[bin] = (bins[bin] ?? 0) + jobs
    }
  }

  of(at: number | 'all'): Figures {
    const [wait, ran] = [this.#wait.get(at) ?? {}, this.#run.get(at) ?? {}]
    return {
      ...{ waitP50: percentile(wait, 0.5), waitP95: percentile(wait, 0.95) },
      ...{ runP50: percentile(ran, 0.5), runP95: percentile(ran, 0.95) },
    }
  }
}
