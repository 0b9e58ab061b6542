import { drizzle as onPg } from 'drizzle-orm/node-postgres'
import { pgTable, serial, text } from 'drizzle-orm/pg-core'
import { drizzle as onPostgresJs } from 'drizzle-orm/postgres-js'
import { drizzle } from '../../src/adapters/drizzle.ts'
import { describeAdapter } from './scene.ts'

const note = pgTable('note', { id: serial().primaryKey(), text: text().notNull() })

describeAdapter('drizzle on pg', drizzle, (url) => {
  const db = onPg(url)
  type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0]
  return Promise.resolve({
    transaction: (work: (tx: Tx) => Promise<void>) => db.transaction(work),
    insertNote: (tx: Tx, text: string) => tx.insert(note).values({ text }),
    notTransaction: db,
    close: () => db.$client.end(),
  })
})

describeAdapter('drizzle on postgres.js', drizzle, (url) => {
  const db = onPostgresJs(url)
  type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0]
  return Promise.resolve({
    transaction: (work: (tx: Tx) => Promise<void>) => db.transaction(work),
    insertNote: (tx: Tx, text: string) => tx.insert(note).values({ text }),
    notTransaction: db,
    close: () => db.$client.end(),
  })
})
