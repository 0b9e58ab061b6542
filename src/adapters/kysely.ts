import type { TxAdapter } from '../db/foreign-tx.ts'
import { hasMethods } from './has-methods.ts'

/** The `trx` of `db.transaction().execute()` or of `db.startTransaction()`. */
export interface KyselyTransaction {
  readonly isTransaction: true
  withoutPlugins(): { executeQuery(query: KyselyQuery): Promise<{ rows: unknown[] }> }
}

/** A compiled query of Kysely. */
export interface KyselyQuery {
  sql: string
  parameters: readonly unknown[]
  query: { kind: 'RawNode'; sqlFragments: readonly string[]; parameters: readonly never[] }
  queryId: { queryId: string }
}

/** For transactions of `kysely`, controlled ones too. */
export const kysely: TxAdapter<KyselyTransaction> = (tx) => {
  if (!hasMethods(tx, 'withoutPlugins') || !isTransaction(tx)) {
    throw new Error('Expected the `trx` that db.transaction().execute() hands to its callback.')
  }
  return async (text, values) => {
    // A plugin may rename columns (CamelCasePlugin), and we read our rows by column name.
    const { rows } = await tx.withoutPlugins().executeQuery({
      sql: text,
      parameters: [...values],
      query: { kind: 'RawNode', sqlFragments: [text], parameters: [] },
      queryId: { queryId: 'stint' },
    })
    return rows
  }
}

/** A `Kysely` has the same methods, but returns false here. */
function isTransaction(tx: { isTransaction: boolean }): boolean {
  return tx.isTransaction
}
