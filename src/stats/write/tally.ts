import { prefixOf } from '../../core/json/utf8.ts'
import { binCount, binOf, toBins } from '../../core/histogram.ts'
import type { Bins } from '../../core/histogram.ts'
import type { DatabaseClock } from './clock.ts'

/** What a process counts, by the column it is stored in. Endings are counted by the statements that store them. */
const counters = ['enqueued', 'started', 'refused', 'moved'] as const
type Counter = (typeof counters)[number]

/** Totals of one minute, queue and kind: what a row of stint.stat_minute holds. */
export type TallyRow = Record<Counter, number> & {
  minute: string
  queue: string
  kind: string
  wait: Bins
  run: Bins
}

const minuteMs = 60_000
/** Minutes that are kept where they cannot be written; then the last one goes on for as long as that lasts. */
const mostMinutes = 15
/** Queues and kinds together; what comes after those is counted as `(others)`. */
const mostSeries = 2_000

/** Of a name. Those of contracts have at most 128; a schedule that was written by hand may have any. */
const mostCharacters = 200

/** Counts of one minute, queue and kind. They only grow. */
export class Series {
  readonly queue: string
  readonly kind: string
  isChanged = false
  enqueued = 0
  started = 0
  refused = 0
  moved = 0
  #wait: Uint32Array | undefined
  #run: Uint32Array | undefined

  constructor(queue: string, kind: string) {
    this.queue = queue
    this.kind = kind
  }

  waited(ms: number): void {
    const wait = (this.#wait ??= new Uint32Array(binCount))
    const bin = binOf(ms)
    wait[bin] = (wait[bin] ?? 0) + 1
  }

  ran(ms: number): void {
    const run = (this.#run ??= new Uint32Array(binCount))
    const bin = binOf(ms)
    run[bin] = (run[bin] ?? 0) + 1
  }

  get wait(): Bins {
    return this.#wait === undefined ? {} : toBins(this.#wait)
  }

  get run(): Bins {
    return this.#run === undefined ? {} : toBins(this.#run)
  }
}

class Minute {
  readonly startsAt: number
  readonly series = new Map<string, Map<string, Series>>()
  size = 0

  constructor(startsAt: number) {
    this.startsAt = startsAt
  }

  *all(): Iterable<Series> {
    for (const kinds of this.series.values()) yield* kinds.values()
  }
}

/**
 * Counts in memory, by minute of the database's clock, queue and kind: two lookups a job and nothing allocated.
 *
 * The rows to be written are totals, so writing them twice does no harm, and the next write makes up for a failed one. A
 * minute is forgotten when it is over and written. Time never goes back here: a forgotten minute would begin at zero
 * again.
 */
export class Tally {
  readonly #clock: DatabaseClock
  readonly #minutes: Minute[] = []
  #current: Minute
  #endsAt = -Infinity

  constructor(clock: DatabaseClock) {
    this.#clock = clock
    this.#current = new Minute(0)
  }

  /** Where to count; `now` is a moment of performance.now(). */
  at(queue: string, kind: string, now: number): Series {
    if (now >= this.#endsAt) this.#turn(now)
    const series = this.#current.series.get(queue)?.get(kind) ?? this.#add(queue, kind)
    series.isChanged = true
    return series
  }

  /** The rows that have changed since they were last written, and a function to call with whether they were written. */
  changes(now: number): { rows: TallyRow[]; written: (isDone: boolean) => void } {
    if (now >= this.#endsAt) this.#turn(now)
    const rows: TallyRow[] = []
    const sent: Series[] = []
    const over: Minute[] = []
    for (const minute of this.#minutes) {
      if (minute !== this.#current) over.push(minute)
      for (const series of minute.all()) {
        if (!series.isChanged) continue
        series.isChanged = false
        sent.push(series)
        rows.push(rowOf(minute, series))
      }
    }
    return {
      rows,
      written: (isDone) => {
        if (!isDone) for (const series of sent) series.isChanged = true
        else for (const minute of over) this.#forget(minute)
      },
    }
  }

  #forget(minute: Minute): void {
    const at = this.#minutes.indexOf(minute)
    if (at !== -1 && minute !== this.#current) this.#minutes.splice(at, 1)
  }

  #turn(now: number): void {
    const time = this.#clock.at(now)
    const startsAt = Math.floor(time / minuteMs) * minuteMs
    this.#endsAt = now + (startsAt + minuteMs - time)
    if (startsAt <= this.#current.startsAt || this.#minutes.length >= mostMinutes) return
    this.#current = new Minute(startsAt)
    this.#minutes.push(this.#current)
  }

  #add(queue: string, kind: string): Series {
    const { series } = this.#current
    const isFull = this.#current.size >= mostSeries
    const [inQueue, ofKind] = isFull ? [others, others] : [bounded(queue), bounded(kind)]
    let kinds = series.get(inQueue)
    if (kinds === undefined) series.set(inQueue, (kinds = new Map<string, Series>()))
    const known = kinds.get(ofKind)
    if (known !== undefined) return known
    const added = new Series(inQueue, ofKind)
    kinds.set(ofKind, added)
    this.#current.size++
    return added
  }
}

const others = '(others)'

/** A name is part of an index entry, which Postgres bounds. */
function bounded(name: string): string {
  return name.length > mostCharacters ? `${prefixOf(name, mostCharacters)}…` : name
}

function rowOf(minute: Minute, series: Series): TallyRow {
  const { queue, kind, wait, run } = series
  const counts = Object.fromEntries(counters.map((name) => [name, series[name]])) as Record<Counter, number>
  return { minute: new Date(minute.startsAt).toISOString(), queue, kind, ...counts, wait, run }
}
