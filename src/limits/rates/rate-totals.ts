import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { rateTotalsSql } from './rate-totals.sql.ts'

/** What was taken of a rate since it exists. */
export interface RateTotals {
  name: string
  /** Tokens that were taken, by jobs and others. */
  taken: number
  /** Takers that got none. */
  refused: number
}

/** Totals that only grow while this object lives: a process may give back tokens, which lowers the stored total. */
export class RunningRateTotals {
  #before = new Map<string, RateTotals>()

  async read(db: Queryable): Promise<RateTotals[]> {
    const rates = await run(db, rateTotalsSql, {}, (row: RateTotals) => this.#grown(row))
    this.#before = new Map(rates.map((rate) => [rate.name, rate]))
    return rates
  }

  #grown(row: RateTotals): RateTotals {
    const { taken = 0, refused = 0 } = this.#before.get(row.name) ?? {}
    return { ...row, taken: Math.max(taken, row.taken), refused: Math.max(refused, row.refused) }
  }
}
