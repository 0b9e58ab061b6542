import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import type { Generated, Transaction } from 'kysely'
import pg from 'pg'
import { kysely } from '../../src/adapters/kysely.ts'
import { describeAdapter } from './scene.ts'

interface Tables {
  note: { id: Generated<number>; text: string }
}

describeAdapter<Transaction<Tables>>('kysely', kysely, (url) => {
  const db = open(url)
  return Promise.resolve({
    transaction: (work) => db.transaction().execute(work),
    insertNote: (tx, text) => tx.insertInto('note').values({ text }).execute(),
    notTransaction: db,
    close: () => db.destroy(),
  })
})

describeAdapter<Transaction<Tables>>('kysely with a transaction that is committed by hand', kysely, (url) => {
  const db = open(url)
  return Promise.resolve({
    async transaction(work) {
      const tx = await db.startTransaction().execute()
      try {
        await work(tx)
      } catch (error) {
        await tx.rollback().execute()
        throw error
      }
      await tx.commit().execute()
    },
    insertNote: (tx, text) => tx.insertInto('note').values({ text }).execute(),
    notTransaction: db,
    close: () => db.destroy(),
  })
})

function open(url: string): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }),
    plugins: [new CamelCasePlugin()],
  })
}
