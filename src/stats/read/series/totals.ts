import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { totalsSql } from './totals.sql.ts'

export const totalNames = [
  ...(['enqueued', 'started', 'succeeded', 'failed', 'dead', 'cancelled', 'snoozed'] as const),
  ...(['released', 'crashed', 'leaseExpired', 'refused', 'moved'] as const),
] as const
export type TotalName = (typeof totalNames)[number]

/** The totals of a queue and kind. */
export interface Totals extends Record<TotalName, number> {
  queue: string
  kind: string
}

interface TotalsRow extends Totals {
  now: Date
  isOver: boolean | null
}

const minuteMs = 60_000
/** Processes write their counts within seconds; one that cannot reach the database keeps them for up to 15 minutes. */
const openMs = 20 * minuteMs
/** Series that are kept; a queue and kind beyond these has no totals. */
const mostSeries = 5_000

/**
 * Totals that only grow, for a reader that polls them and computes differences. They begin 20 minutes before the first read.
 * Minutes that are over are added once, and only those that may still grow are read each time.
 */
export class RunningTotals {
  readonly #over = new Map<string, Totals>()
  #from: number | undefined
  #reading: Promise<Totals[]> | undefined

  /** Calls during a read share its result. */
  read(db: Queryable): Promise<Totals[]> {
    this.#reading ??= this.#read(db).finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(db: Queryable): Promise<Totals[]> {
    const from = this.#from ?? minuteBefore(Date.now())
    // By this machine's clock. If it is wrong, either more rows are read, or a minute that is written late is missed.
    const until = Math.max(from, minuteBefore(Date.now()))
    const request = { from: new Date(from).toISOString(), until: new Date(until).toISOString() }
    const rows = await run(db, totalsSql, request, (row: TotalsRow) => row)
    const all = new Map<string, Totals>()
    for (const row of rows) if (row.isOver === true) add(this.#over, row)
    this.#from = until
    for (const totals of this.#over.values()) add(all, totals)
    for (const row of rows) if (row.isOver === false) add(all, row)
    return [...all.values()].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  }
}

function minuteBefore(ms: number): number {
  return Math.floor((ms - openMs) / minuteMs) * minuteMs
}

function nameOf({ queue, kind }: { queue: string; kind: string }): string {
  return JSON.stringify([queue, kind])
}

function add(into: Map<string, Totals>, row: Totals): void {
  const name = nameOf(row)
  let totals = into.get(name)
  if (totals === undefined) {
    if (into.size >= mostSeries) return
    const zeros = Object.fromEntries(totalNames.map((total) => [total, 0])) as Record<TotalName, number>
    into.set(name, (totals = { queue: row.queue, kind: row.kind, ...zeros }))
  }
  for (const total of totalNames) totals[total] += row[total]
}
