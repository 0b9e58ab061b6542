import pg from 'pg'
import { countRows } from './count-rows.ts'
import { installedVersion } from './installed.ts'
import type { Input, PreparedWorker, Session, System, Tuning, Work } from './system.ts'
import { bulkTunings, poolTunings } from './system.ts'

export const bullmqPg: System = {
  name: 'bullmq-pg',
  version: installedVersion('bullmq'),
  store: 'postgres',
  settings: {
    enqueue:
      'BullMQ on its optional PostgreSQL backend: `add`, `addBulk` on one `Queue` with `createPostgresBackend`, ' +
      'pool size tried. No in-transaction enqueue.',
    work: 'One `Worker` with `createPostgresBackend` and its `concurrency`, pool size tried. Finished jobs are kept.',
  },
  tunings: { single: poolTunings, bulk: bulkTunings, drain: poolTunings, latency: poolTunings },
  hasInTx: false,
  setup,
  prepareWorker,
}

async function setup(url: string, { connections, inFlight }: Tuning): Promise<Session> {
  const { Queue, createPostgresBackend, runMigrations } = await import('bullmq')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await runMigrations(client)
  await client.end()
  const connection = { connectionString: url, max: connections ?? inFlight ?? 1 }
  const queue = new Queue('bench', { connection }, createPostgresBackend)
  queue.on('error', (error) => {
    console.error('bullmq-pg:', error.message)
  })
  await queue.waitUntilReady()
  return {
    enqueueOne: (input) => queue.add('noop', input),
    enqueueBulk: (inputs) => queue.addBulk(inputs.map((data) => ({ name: 'noop', data }))),
    count: () => countRows(url, 'bullmq.job'),
    unfinished: () => countRows(url, "bullmq.job where state <> 'completed'"),
    finished: () => countRows(url, "bullmq.job where state = 'completed'"),
    teardown: () => queue.close(),
  }
}

async function prepareWorker(
  url: string,
  { connections = 10 }: Tuning,
  { concurrency, run }: Work,
): Promise<PreparedWorker> {
  const { Worker, createPostgresBackend } = await import('bullmq')
  const connection = { connectionString: url, max: connections }
  const worker = new Worker(
    'bench',
    ({ data }: { data: Input }) => {
      run(data.n)
      return Promise.resolve()
    },
    { connection, concurrency, autorun: false },
    createPostgresBackend,
  )
  worker.on('error', (error) => {
    console.error('bullmq-pg:', error.message)
  })
  await worker.waitUntilReady()
  return {
    start() {
      void worker.run()
      return Promise.resolve()
    },
    stop: () => worker.close(),
  }
}
