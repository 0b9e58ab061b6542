import { sql } from 'drizzle-orm'
import type { SQL } from 'drizzle-orm'
import type { TxAdapter } from '../db/foreign-tx.ts'
import { hasMethods } from './has-methods.ts'

/** The `tx` that `db.transaction()` hands to its callback, on any driver for PostgreSQL. */
export interface DrizzleTransaction {
  execute(query: SQL): PromiseLike<unknown>
  /** A method that only a transaction has. */
  rollback(): never
}

/** For transactions of `drizzle-orm`, on `pg`, on `postgres` and on drivers with the same result format. */
export const drizzle: TxAdapter<DrizzleTransaction> = (tx) => {
  if (!hasMethods(tx, 'execute', 'rollback')) {
    throw new Error('Expected the `tx` that db.transaction() hands to its callback.')
  }
  return async (text, values) => {
    // Drizzle numbers the parameters that it writes itself. It writes them into a comment, in our order, so that
    // the statement keeps its own $1, even where it uses it twice.
    const params = sql.join(values.map((value) => sql.param(value)))
    try {
      return rowsOf(await tx.execute(sql`${sql.raw(text)}\n/* ${params} */`))
    } catch (error) {
      // Drizzle's error has no SQLSTATE, and its message contains all values; its cause is the driver's error.
      throw error instanceof Error && error.cause instanceof Error ? error.cause : error
    }
  }
}

/** postgres.js answers with the rows, `pg` and the others with an object that holds them. */
function rowsOf(result: unknown): readonly unknown[] {
  return Array.isArray(result) ? [...(result as unknown[])] : (result as { rows: unknown[] }).rows
}
