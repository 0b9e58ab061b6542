import pg from 'pg'
import { countRows } from './count-rows.ts'
import { installedVersion } from './installed.ts'
import type { Session, System, Tuning } from './system.ts'
import { bulkTunings, poolTunings } from './system.ts'

export const bullmqPg: System = {
  name: 'bullmq-pg',
  version: installedVersion('bullmq'),
  store: 'postgres',
  settings:
    'BullMQ on its optional PostgreSQL backend: `add`, `addBulk` on one `Queue` with `createPostgresBackend`, ' +
    'pool size tried. No in-transaction enqueue.',
  tunings: { single: poolTunings, bulk: bulkTunings },
  hasInTx: false,
  setup,
}

async function setup(url: string, { connections, inFlight }: Tuning): Promise<Session> {
  const { Queue, createPostgresBackend, runMigrations } = await import('bullmq')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await runMigrations(client)
  await client.end()
  const connection = { connectionString: url, max: connections ?? inFlight ?? 1 }
  const queue = new Queue('bench', { connection }, createPostgresBackend)
  queue.on('error', (error) => console.error('bullmq-pg:', error.message))
  await queue.waitUntilReady()
  return {
    enqueueOne: (input) => queue.add('noop', input),
    enqueueBulk: (inputs) => queue.addBulk(inputs.map((data) => ({ name: 'noop', data }))),
    count: () => countRows(url, 'bullmq.job'),
    teardown: () => queue.close(),
  }
}
