import { EntitySchema, MikroORM } from '@mikro-orm/postgresql'
import type { EntityManager } from '@mikro-orm/postgresql'
import { mikroOrm } from '../../src/adapters/mikro-orm.ts'
import { describeAdapter } from './scene.ts'

const Note = new EntitySchema<{ id?: number; text: string }>({
  name: 'Note',
  tableName: 'note',
  properties: { id: { type: 'number', primary: true }, text: { type: 'string' } },
})

describeAdapter<EntityManager>('mikro-orm', mikroOrm, async (url) => {
  const orm = await MikroORM.init({ clientUrl: url, entities: [Note] })
  return {
    transaction: (work) => orm.em.fork().transactional(work),
    insertNote: (tx, text) => tx.insert(Note, { text }),
    notTransaction: orm.em.fork(),
    close: () => orm.close(),
  }
})
