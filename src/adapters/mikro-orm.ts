import type { TxAdapter } from '../db/foreign-tx.ts'
import { hasMethods } from './has-methods.ts'
import { knex } from './knex.ts'
import type { KnexTransaction } from './knex.ts'
import { kysely } from './kysely.ts'
import type { KyselyTransaction } from './kysely.ts'

/** The `em` that `em.transactional()` hands to its callback, or one between `em.begin()` and `em.commit()`. */
export interface MikroOrmTransaction {
  getTransactionContext(): unknown
}

/** For transactions of `@mikro-orm/postgresql`. */
export const mikroOrm: TxAdapter<MikroOrmTransaction> = (em) => {
  const tx = hasMethods(em, 'getTransactionContext') ? em.getTransactionContext() : undefined
  if (tx === undefined) throw new Error('Expected the `em` that em.transactional() hands to its callback.')
  // Not through its own execute(), which would write the values into the text: the layer below is knex in MikroORM 6
  // and Kysely in 7.
  return hasMethods(tx, 'executeQuery') ? kysely(tx as KyselyTransaction) : knex(tx as KnexTransaction)
}
