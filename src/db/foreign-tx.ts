import { StintError } from '../core/errors.ts'
import { messageOf } from '../core/failures/thrown.ts'
import type { Queryable } from './statement.ts'

/** Sends one statement through the caller's transaction and returns its rows. */
export type Send = (text: string, values: readonly unknown[]) => Promise<readonly unknown[]>

/** How to reach the transaction of one driver or ORM; one per library behind `stint/<library>`. */
export type TxAdapter<Tx> = (tx: Tx) => Send

/** A client of `pg`, which needs no adapter. */
export interface PgTransaction {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>
}

/** The default adapter. */
export const pgAdapter: TxAdapter<PgTransaction> = (tx) => {
  if (typeof (tx as Partial<PgTransaction>).query !== 'function') throw new TypeError('It has no query()')
  // A pool would take any connection, and so not the one with the transaction.
  if ('totalCount' in tx) throw new TypeError('It is a pool: pass the client that has the transaction')
  return async (text, values) => {
    const { rows } = await tx.query(text, [...values])
    return rows
  }
}

/**
 * Lets our statements run in a caller's transaction. Its connection, its deadline and its COMMIT belong to the caller.
 */
export function foreignTx<Tx>(tx: Tx, adapter: TxAdapter<Tx>, schema: string): Queryable {
  let send: Send
  try {
    send = adapter(tx)
  } catch (error) {
    throw unfit(error)
  }
  return { schema, query: send }
}

function unfit(cause: unknown): StintError {
  return new StintError(
    'invalid-input',
    `Expected \`options.tx\` to be a transaction that the adapter of this client knows: ${cause instanceof Error ? messageOf(cause) : 'it is not'}. ` +
      "A pg client needs none; for an ORM give its adapter: new Stint({ adapter }) with one of 'stint/drizzle', 'stint/kysely' ….",
    { cause, issues: [{ path: 'options.tx', message: 'is not a transaction that the adapter knows' }] },
  )
}
