import type { Redis } from 'ioredis'
import { installedVersion } from './installed.ts'
import type { Input, PreparedWorker, Session, System, Tuning, Work } from './system.ts'
import { bulkTunings } from './system.ts'

const queueName = 'bench'

const pipelinings: readonly Tuning[] = [{ autoPipelining: false }, { autoPipelining: true }]

export const bullmq: System = {
  name: 'bullmq',
  version: installedVersion('bullmq'),
  store: 'redis',
  settings: {
    enqueue:
      '`add`, `addBulk` on one `Queue` over one ioredis connection, which pipelines by itself; ' +
      '`enableAutoPipelining` tried. Redis with `appendonly yes`, `appendfsync everysec` and `noeviction`, as its ' +
      'guide for production asks: an acknowledged job can be lost for up to a second, where the Postgres systems ' +
      'wait for the disk. No in-transaction enqueue.',
    work:
      'One `Worker` with its `concurrency`; `enableAutoPipelining` tried. `removeOnComplete` is left as it comes, so ' +
      'finished jobs are kept, as Stint keeps them. Redis as for enqueueing: what it acknowledged can be lost for up ' +
      'to a second.',
  },
  tunings: {
    single: pipelinings,
    bulk: bulkTunings,
    drain: pipelinings,
    latency: pipelinings,
  },
  hasInTx: false,
  setup,
  prepareWorker,
}

async function setup(url: string, { autoPipelining = false }: Tuning): Promise<Session> {
  const { Queue } = await import('bullmq')
  const { Redis } = await import('ioredis')
  const connection = new Redis(url, { enableAutoPipelining: autoPipelining, maxRetriesPerRequest: null })
  connection.on('error', (error: Error) => {
    console.error('bullmq:', error.message)
  })
  const queue = new Queue(queueName, { connection })
  await queue.waitUntilReady()
  return {
    enqueueOne: (input) => queue.add('noop', input),
    enqueueBulk: (inputs) => queue.addBulk(inputs.map((data) => ({ name: 'noop', data }))),
    count: () =>
      askOver(connection, async (asked) => {
        const waiting = await asked.llen(`bull:${queueName}:wait`)
        // The list says how many jobs wait; one of them is read back, so that an id without its job is noticed.
        const [id] = await asked.lrange(`bull:${queueName}:wait`, 0, 0)
        if (id !== undefined && (await asked.exists(`bull:${queueName}:${id}`)) === 0) return -1
        return waiting
      }),
    unfinished: () =>
      askOver(connection, async (asked) => {
        const [waiting, active, failed] = await Promise.all([
          asked.llen(`bull:${queueName}:wait`),
          asked.llen(`bull:${queueName}:active`),
          asked.zcard(`bull:${queueName}:failed`),
        ])
        return waiting + active + failed
      }),
    finished: () => askOver(connection, (asked) => asked.zcard(`bull:${queueName}:completed`)),
    async teardown() {
      await queue.close()
      connection.disconnect()
    },
  }
}

/** Over a connection of its own, as for the other systems. */
async function askOver(connection: Redis, ask: (asked: Redis) => Promise<number>): Promise<number> {
  const asked = connection.duplicate({ enableAutoPipelining: false })
  try {
    return await ask(asked)
  } finally {
    asked.disconnect()
  }
}

async function prepareWorker(
  url: string,
  { autoPipelining = false }: Tuning,
  { concurrency, run }: Work,
): Promise<PreparedWorker> {
  const { Worker } = await import('bullmq')
  const { Redis } = await import('ioredis')
  const connection = new Redis(url, { enableAutoPipelining: autoPipelining, maxRetriesPerRequest: null })
  const worker = new Worker<Input>(
    queueName,
    ({ data }) => {
      run(data.n)
      return Promise.resolve()
    },
    {
      connection,
      concurrency,
      autorun: false,
    },
  )
  worker.on('error', (error) => {
    console.error('bullmq:', error.message)
  })
  await worker.waitUntilReady()
  return {
    start() {
      // It resolves when the worker is closed.
      void worker.run()
      return Promise.resolve()
    },
    async stop() {
      await worker.close()
      connection.disconnect()
    },
  }
}
