import type { Duration } from '../core/duration.ts'
import { durationOption, invalidOption } from '../core/options.ts'
import { run } from '../db/statement.ts'
import type { Queryable, Statement } from '../db/statement.ts'
import { advanceClockSql } from './advance-clock.sql.ts'
import { readClockSql } from './read-clock.sql.ts'
import { setClockSql } from './set-clock.sql.ts'

/**
 * The clock of a test database, `stint.now()`: all times of Stint come from it. It stands still between two calls, so
 * that a slow machine makes no job due that a fast one does not.
 */
export class TestClock {
  readonly #db: Queryable
  #moves = 0

  constructor(db: Queryable) {
    this.#db = db
  }

  /** How often it was moved. */
  get moves(): number {
    return this.#moves
  }

  now(): Promise<Date> {
    return this.#ask(readClockSql, {})
  }

  /** Moves the clock on, and returns the new time. Jobs that are due by then run in the next drain(). */
  async advance(by: Duration): Promise<Date> {
    return this.#move(advanceClockSql, { ms: durationOption('by', by) })
  }

  /** Sets the clock to a time, also to an earlier one. */
  async set(at: Date): Promise<Date> {
    if (!(at instanceof Date) || Number.isNaN(at.getTime())) throw invalidOption('at', 'a valid Date', at)
    return this.#move(setClockSql, { at: at.toISOString() })
  }

  #move<Param extends string>(
    statement: Statement<Param>,
    params: Readonly<Record<Param, unknown>>,
  ): Promise<Date> {
    this.#moves++
    return this.#ask(statement, params)
  }

  async #ask<Param extends string>(
    statement: Statement<Param>,
    params: Readonly<Record<Param, unknown>>,
  ): Promise<Date> {
    const [at] = await run(this.#db, statement, params, (row: { at: Date }) => row.at)
    if (at === undefined) throw new Error('The clock of the test database has no row')
    return at
  }
}
