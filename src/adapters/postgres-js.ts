import type { TxAdapter } from '../db/foreign-tx.ts'
import { hasMethods } from './has-methods.ts'

/** The `sql` that `sql.begin()` hands to its callback. */
export interface PostgresJsTransaction {
  unsafe(text: string, values: never[]): PromiseLike<readonly unknown[]>
  /** A property that only a transaction has. */
  savepoint: unknown
}

/** For transactions of `postgres` (postgres.js). */
export const postgresJs: TxAdapter<PostgresJsTransaction> = (tx) => {
  if (!hasMethods(tx, 'unsafe', 'savepoint')) {
    throw new Error('Expected the `sql` that sql.begin() hands to its callback.')
  }
  return async (text, values) => {
    // Its type of a parameter is a union of its own; ours are strings, numbers and booleans.
    const rows = await tx.unsafe(text, values as never[])
    return [...rows]
  }
}
