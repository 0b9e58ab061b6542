import type { Bins } from '../../../core/histogram.ts'
import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { everyOf, MergedBins } from '../series/bins.ts'
import type { Measured } from '../series/bins.ts'
import { lastHourBinsSql } from './last-hour-bins.sql.ts'
import { lastHourSql } from './last-hour.sql.ts'

/** The counts and histograms of a queue over the last hour. */
export interface QueueHour {
  succeeded: number
  /** Attempts that failed and were followed by another. */
  failed: number
  dead: number
  wait: Bins
  run: Bins
  /** Jobs that ended in each of the last 60 minutes, the current one last. */
  spark: number[]
}

interface MinuteRow {
  nowMs: number
  minuteMs: number | null
  queue: string
  succeeded: number
  failed: number
  dead: number
  cancelled: number
  rows: number
}

/** The counts of a queue in one minute. */
interface Minute extends MinuteRow {
  /** The rows whose histograms are used, as the database prints them: text takes less memory than parsed objects. */
  measured: Measured[]
  /** The number of rows that each of them stands for. */
  every: number
}

const minuteMs = 60_000
const minutes = 60
/** Processes write their counts every 10 s: a minute older than this no longer changes, unless a process had trouble. */
const openMs = 2 * minuteMs
/** All minutes are read again this often, for counts that were written later than that. */
const anewEveryMs = 5 * minuteMs

/**
 * The last hour by queue. It remembers the minutes that are over: a whole hour is expensive to read if many processes run
 * many kinds, and a page that shows it reads it again after a second.
 */
export class LastHour {
  readonly #minutes = new Map<number, Map<string, Minute>>()
  #readAt = -Infinity
  #anewAt = -Infinity

  async read(db: Queryable): Promise<Map<string, QueueHour>> {
    const isAnew = performance.now() - this.#anewAt > anewEveryMs
    const openFrom = isAnew ? null : new Date(this.#readAt - openMs)
    const rows = await run(db, lastHourSql, { from: openFrom }, (row: MinuteRow) => row)
    const nowMs = minuteOf(rows[0]?.nowMs ?? Date.now())
    const sinceMs = nowMs - (minutes - 1) * minuteMs
    const fromMs = Math.max(sinceMs, openFrom?.getTime() ?? sinceMs)
    const counted = rows.filter((row) => row.minuteMs !== null)
    const request = { from: new Date(fromMs).toISOString(), every: everyOf(counted) }
    type Row = Measured & { minuteMs: number; queue: string }
    const measured = counted.length === 0 ? [] : await run(db, lastHourBinsSql, request, (row: Row) => row)
    if (isAnew) this.#anewAt = performance.now()
    this.#readAt = nowMs
    for (const minute of this.#minutes.keys())
      if (minute >= fromMs || minute < sinceMs) this.#minutes.delete(minute)
    for (const row of counted) this.#keep(row, request.every)
    for (const { minuteMs: at, queue, wait, run: ran } of measured)
      this.#minutes.get(at)?.get(queue)?.measured.push({ wait, run: ran })
    return this.#byQueue(nowMs)
  }

  #keep(row: MinuteRow, every: number): void {
    const at = row.minuteMs ?? 0
    let queues = this.#minutes.get(at)
    if (queues === undefined) this.#minutes.set(at, (queues = new Map<string, Minute>()))
    queues.set(row.queue, { ...row, measured: [], every })
  }

  #byQueue(nowMs: number): Map<string, QueueHour> {
    const rows = new Map<string, [number, Minute][]>()
    for (const [at, queues] of this.#minutes)
      for (const [queue, row] of queues) {
        const known = rows.get(queue)
        if (known === undefined) rows.set(queue, [[at, row]])
        else known.push([at, row])
      }
    return new Map([...rows].map(([queue, of]) => [queue, hourOf(of, nowMs)]))
  }
}

function hourOf(rows: readonly (readonly [number, Minute])[], nowMs: number): QueueHour {
  const spark = Array.from({ length: minutes }, () => 0)
  const hour = { succeeded: 0, failed: 0, dead: 0 }
  const merged = new MergedBins()
  for (const [at, { succeeded, failed, dead, cancelled, measured, every }] of rows) {
    for (const one of measured) merged.add(one, every)
    // A minute in the future, from a process whose clock is ahead, counts as the current one.
    const index = Math.min(minutes - 1, minutes - 1 - (nowMs - at) / minuteMs)
    spark[index] = (spark[index] ?? 0) + succeeded + dead + cancelled
    hour.succeeded += succeeded
    hour.failed += failed
    hour.dead += dead
  }
  return { ...hour, wait: merged.wait, run: merged.run, spark }
}

function minuteOf(ms: number): number {
  return Math.floor(ms / minuteMs) * minuteMs
}
