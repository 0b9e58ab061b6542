import { mergeBins } from '../core/histogram.ts'
import type { Bins } from '../core/histogram.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { lastHourSql } from './last-hour.sql.ts'

/** What happened to a queue within the last hour. */
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
  now: Date
  minute: Date | null
  queue: string
  succeeded: number
  failed: number
  dead: number
  cancelled: number
  wait: Bins
  run: Bins
}

const minuteMs = 60_000
const minutes = 60
/** Processes write what they counted every 10 s: what is older than this is as it will be, but for those in trouble. */
const openMs = 2 * minuteMs
/** For what came later than that all the same. */
const anewEveryMs = 5 * minuteMs

/**
 * The last hour by queue. It remembers the minutes that are over: merging the histograms of a whole hour is dear where
 * many processes run many kinds, and whoever looks once looks again in a second.
 */
export class LastHour {
  readonly #minutes = new Map<number, Map<string, MinuteRow>>()
  #readAt = -Infinity
  #anewAt = -Infinity

  async read(db: Queryable): Promise<Map<string, QueueHour>> {
    const isAnew = performance.now() - this.#anewAt > anewEveryMs
    const fromMs = isAnew ? Date.now() - (minutes + 60) * minuteMs : this.#readAt - openMs
    const rows = await run(db, lastHourSql, { from: new Date(fromMs).toISOString() }, (row: MinuteRow) => row)
    const nowMs = minuteOf(rows[0]?.now ?? new Date())
    if (isAnew) this.#anewAt = performance.now()
    this.#readAt = nowMs
    for (const minute of this.#minutes.keys())
      if (minute >= minuteOf(new Date(fromMs)) || minute <= nowMs - minutes * minuteMs)
        this.#minutes.delete(minute)
    for (const row of rows) this.#keep(row, nowMs)
    return this.#byQueue(nowMs)
  }

  #keep(row: MinuteRow, nowMs: number): void {
    const at = row.minute === null ? -Infinity : row.minute.getTime()
    if (at <= nowMs - minutes * minuteMs) return
    let queues = this.#minutes.get(at)
    if (queues === undefined) this.#minutes.set(at, (queues = new Map<string, MinuteRow>()))
    queues.set(row.queue, row)
  }

  #byQueue(nowMs: number): Map<string, QueueHour> {
    const rows = new Map<string, [number, MinuteRow][]>()
    for (const [at, queues] of this.#minutes)
      for (const [queue, row] of queues) {
        const known = rows.get(queue)
        if (known === undefined) rows.set(queue, [[at, row]])
        else known.push([at, row])
      }
    return new Map([...rows].map(([queue, of]) => [queue, hourOf(of, nowMs)]))
  }
}

function hourOf(rows: readonly (readonly [number, MinuteRow])[], nowMs: number): QueueHour {
  const spark = Array.from({ length: minutes }, () => 0)
  const hour = { succeeded: 0, failed: 0, dead: 0 }
  for (const [at, { succeeded, failed, dead, cancelled }] of rows) {
    // A process whose clock is ahead is of this minute.
    const index = Math.min(minutes - 1, minutes - 1 - (nowMs - at) / minuteMs)
    spark[index] = (spark[index] ?? 0) + succeeded + dead + cancelled
    hour.succeeded += succeeded
    hour.failed += failed
    hour.dead += dead
  }
  const bins = (of: 'wait' | 'run'): Bins => mergeBins(...rows.map(([, row]) => row[of]))
  return { ...hour, wait: bins('wait'), run: bins('run'), spark }
}

function minuteOf(time: Date): number {
  return Math.floor(time.getTime() / minuteMs) * minuteMs
}
