import type { TxAdapter } from '../db/foreign-tx.ts'
import { hasMethods } from './has-methods.ts'

/** The manager that `dataSource.transaction()` hands to its callback, or a query runner with an open transaction. */
export type TypeormTransaction =
  TypeormQueryRunner | { readonly queryRunner?: TypeormQueryRunner | undefined }

export interface TypeormQueryRunner {
  readonly isTransactionActive: boolean
  query(text: string, values: unknown[], useStructuredResult: true): Promise<{ records: unknown[] }>
}

/** For transactions of `typeorm`. */
export const typeorm: TxAdapter<TypeormTransaction> = (tx) => {
  const runner = hasMethods(tx, 'query') ? runnerOf(tx) : undefined
  // A manager outside of a transaction has no runner: it would take any connection of the pool.
  if (runner?.isTransactionActive !== true) {
    throw new Error('Expected the manager that dataSource.transaction() hands to its callback.')
  }
  return async (text, values) => {
    // Unstructured, the answer to UPDATE and DELETE would be [rows, count].
    const { records } = await runner.query(text, [...values], true)
    return records
  }
}

function runnerOf(tx: TypeormTransaction): TypeormQueryRunner | undefined {
  return 'isTransactionActive' in tx ? tx : tx.queryRunner
}
