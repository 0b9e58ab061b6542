import knexClient from 'knex'
import type { Knex } from 'knex'
import { knex } from '../../src/adapters/knex.ts'
import { describeAdapter } from './scene.ts'

describeAdapter<Knex.Transaction>('knex', knex, (url) => {
  const db = knexClient({ client: 'pg', connection: url })
  return Promise.resolve({
    transaction: (work) => db.transaction(work),
    insertNote: (tx, text) => tx('note').insert({ text }),
    notTransaction: db,
    close: () => db.destroy(),
  })
})
