import { installedVersion } from './installed.ts'
import type { Session, System, Tuning } from './system.ts'
import { bulkTunings } from './system.ts'

const queueName = 'bench'

export const bullmq: System = {
  name: 'bullmq',
  version: installedVersion('bullmq'),
  store: 'redis',
  settings:
    '`add`, `addBulk` on one `Queue` over one ioredis connection, which pipelines by itself; ' +
    '`enableAutoPipelining` tried. Redis with `appendonly yes`, `appendfsync everysec` and `noeviction`, as its ' +
    'guide for production asks: an acknowledged job can be lost for up to a second, where the Postgres systems ' +
    'wait for the disk. No in-transaction enqueue.',
  tunings: { single: [{ autoPipelining: false }, { autoPipelining: true }], bulk: bulkTunings },
  hasInTx: false,
  setup,
}

async function setup(url: string, { autoPipelining = false }: Tuning): Promise<Session> {
  const { Queue } = await import('bullmq')
  const { Redis } = await import('ioredis')
  const connection = new Redis(url, { enableAutoPipelining: autoPipelining, maxRetriesPerRequest: null })
  connection.on('error', (error: Error) => console.error('bullmq:', error.message))
  const queue = new Queue(queueName, { connection })
  await queue.waitUntilReady()
  return {
    enqueueOne: (input) => queue.add('noop', input),
    enqueueBulk: (inputs) => queue.addBulk(inputs.map((data) => ({ name: 'noop', data }))),
    async count() {
      const asked = connection.duplicate({ enableAutoPipelining: false })
      try {
        const waiting = await asked.llen(`bull:${queueName}:wait`)
        // The list says how many wait; one of them is read back, so that an id without its job would show.
        const [id] = await asked.lrange(`bull:${queueName}:wait`, 0, 0)
        if (id !== undefined && (await asked.exists(`bull:${queueName}:${id}`)) === 0) return -1
        return waiting
      } finally {
        asked.disconnect()
      }
    },
    async teardown() {
      await queue.close()
      connection.disconnect()
    },
  }
}
