import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import type { StatsRequest } from './read-stats.ts'
import { everyOf, MergedBins } from './bins.ts'
import type { Measured } from './bins.ts'
import { deploysSql } from './deploys.sql.ts'
import { seriesBinsSql } from './series-bins.sql.ts'
import { seriesCountsSql } from './series-counts.sql.ts'
import { seriesHourBinsSql } from './series-hour-bins.sql.ts'
import { seriesHourCountsSql } from './series-hour-counts.sql.ts'
import { seriesSinceSql } from './series-since.sql.ts'

const countNames = ['enqueued', 'started', 'succeeded', 'failed', 'dead', 'leaseExpired', 'refused'] as const
type Counts = Record<(typeof countNames)[number], number>

/** The counts of a step. */
export interface SeriesPoint extends Counts {
  /** When the step begins. */
  at: Date
  waitP50: number | null
  waitP95: number | null
  runP50: number | null
  runP95: number | null
}

/** The counts of a queue, a kind, both or everything, as one line. */
export interface MergedSeries {
  from: Date
  to: Date
  /** When counting began: when the tables were made, or at the first counts if these are older. */
  since: Date | null
  stepMs: number
  /** Every step, also those without counts; at most 1,000. */
  points: SeriesPoint[]
  total: Omit<SeriesPoint, 'at'> & {
    /** Failed attempts as a share of those that ended, 0 to 1; null if none ended. */
    failureRate: number | null
    /** Jobs that succeeded per second. */
    perSecond: number
  }
  /** The share of the measured rows that the percentiles are computed from: below 1 if there are very many rows. */
  sampled: number
  /** The first start of each version of the app. */
  deploys: { at: Date; version: string }[]
}

const mostDeploys = 100
const hourMs = 3_600_000

export async function readSeries(db: Queryable, request: StatsRequest): Promise<MergedSeries> {
  const { from, to, stepMs } = request
  const { known, total, sampled } = await readSteps(db, request)
  const [since] = await run(db, seriesSinceSql, {}, (row: { since: Date | null }) => row)
  const points: SeriesPoint[] = []
  for (let at = from.getTime(); at < to.getTime(); at += stepMs)
    points.push({ at: new Date(at), ...(known.get(at) ?? nothing) })
  const ended = total.succeeded + total.failed + total.dead
  return {
    from,
    to,
    since: since?.since ?? null,
    stepMs,
    points,
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

/** The steps that have counts, by their begin; and the sum of all. */
interface Steps {
  known: ReadonlyMap<number, Step>
  total: Step
  sampled: number
}

const nothing: Step = {
  enqueued: 0,
  started: 0,
  succeeded: 0,
  failed: 0,
  dead: 0,
  leaseExpired: 0,
  refused: 0,
  waitP50: null,
  waitP95: null,
  runP50: null,
  runP95: null,
}

async function readSteps(db: Queryable, request: StatsRequest): Promise<Steps> {
  const isHourly = request.stepMs % hourMs === 0
  const counts = isHourly ? seriesHourCountsSql : seriesCountsSql
  const rows = await run(db, counts, request, (row: Counts & { at: Date; rows: number }) => row)
  const every = everyOf(rows)
  const bins = isHourly ? seriesHourBinsSql : seriesBinsSql
  const measured = rows.length === 0 ? [] : await run(db, bins, { ...request, every }, (row: BinRow) => row)
  const all = new MergedBins()
  const steps = new Map(
    rows.map((row) => [row.at.getTime(), { counts: countsOf(row), bins: new MergedBins() }]),
  )
  for (const row of measured) {
    all.add(row)
    steps.get(row.at.getTime())?.bins.add(row)
  }
  return {
    known: new Map([...steps].map(([at, step]) => [at, { ...step.counts, ...step.bins.percentiles() }])),
    total: { ...countsOf(...rows), ...all.percentiles() },
    sampled: 1 / every,
  }
}

type BinRow = Measured & { at: Date }

function countsOf(...rows: (Counts | undefined)[]): Counts {
  const counts = countNames.map((name) => [name, rows.reduce((sum, row) => sum + (row?.[name] ?? 0), 0)])
  return Object.fromEntries(counts) as Counts
}
