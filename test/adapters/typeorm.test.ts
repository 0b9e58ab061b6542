import { DataSource, EntitySchema } from 'typeorm'
import type { EntityManager, QueryRunner } from 'typeorm'
import { typeorm } from '../../src/adapters/typeorm.ts'
import { describeAdapter } from './scene.ts'

const Note = new EntitySchema<{ id: number; text: string }>({
  name: 'note',
  columns: { id: { type: Number, primary: true, generated: true }, text: { type: String } },
})

describeAdapter<EntityManager>('typeorm', typeorm, async (url) => {
  const db = await open(url)
  return {
    transaction: (work) => db.transaction(work),
    insertNote: (tx, text) => tx.insert(Note, { text }),
    notTransaction: db.manager,
    close: () => db.destroy(),
  }
})

describeAdapter<QueryRunner>('typeorm with a query runner', typeorm, async (url) => {
  const db = await open(url)
  const idle = db.createQueryRunner()
  return {
    async transaction(work) {
      const runner = db.createQueryRunner()
      await runner.startTransaction()
      try {
        await work(runner)
        await runner.commitTransaction()
      } catch (error) {
        await runner.rollbackTransaction()
        throw error
      } finally {
        await runner.release()
      }
    },
    insertNote: (tx, text) => tx.manager.insert(Note, { text }),
    notTransaction: idle,
    close: () => db.destroy(),
  }
})

function open(url: string): Promise<DataSource> {
  return new DataSource({ type: 'postgres', url, entities: [Note] }).initialize()
}
