import type { TxAdapter } from '../db/foreign-tx.ts'
import { hasMethods } from './has-methods.ts'

/** The `trx` of `knex.transaction()`. */
export interface KnexTransaction {
  raw(text: string): {
    options(query: { text: string; values: unknown[] }): PromiseLike<{ rows: unknown[] }>
  }
  isCompleted(): boolean
}

/** For transactions of `knex`. */
export const knex: TxAdapter<KnexTransaction> = (tx) => {
  if (!hasMethods(tx, 'raw', 'isCompleted')) throw new Error('Expected the `trx` of knex.transaction().')
  if (tx.isCompleted()) throw new Error('Expected a `trx` that is still open: this one is over.')
  return async (text, values) => {
    // `options` reach pg untouched, while knex itself takes every `?` of a statement for a parameter.
    const { rows } = await tx.raw(text).options({ text, values: [...values] })
    return rows
  }
}
