import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { rateFiguresSql } from './rate-figures.sql.ts'

/** The figures of a rate. */
export interface RateFigures {
  name: string
  /** The queues whose jobs spend its tokens. */
  queues: string[]
  /** Tokens now; below zero: promised to takers that wait. Null for a rate by key. */
  tokens: number | null
  /** Tokens that were taken, by jobs and others. */
  taken: number
  /** Takers that got none. */
  refused: number
}

/** Figures whose totals only grow while this object lives: a process may give back tokens, which lowers the stored total. */
export class RunningRateFigures {
  #before = new Map<string, RateFigures>()

  async read(db: Queryable): Promise<RateFigures[]> {
    const rates = await run(db, rateFiguresSql, {}, (row: RateFigures) => this.#grown(row))
    this.#before = new Map(rates.map((rate) => [rate.name, rate]))
    return rates
  }

  #grown(row: RateFigures): RateFigures {
    const { taken = 0, refused = 0 } = this.#before.get(row.name) ?? {}
    return { ...row, taken: Math.max(taken, row.taken), refused: Math.max(refused, row.refused) }
  }
}
