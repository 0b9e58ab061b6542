import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { Measure, Order, Sample } from './order.ts'
import { endWorkers, startWorkers } from './worker-process.ts'

/** What an idle worker costs the server and the machine. No other client is connected. */
export async function measureIdle(
  { settleMs, durationMs, concurrency }: Extract<Measure, { type: 'idle' }>,
  order: Order,
): Promise<Sample> {
  const server = order.url.startsWith('postgres:') ? await openPostgres(order.url) : openRedis(order.url)
  const workers = await startWorkers({ ...order, concurrency, note: { type: 'starts' } }, 1)
  try {
    const [worker] = workers
    if (!worker) throw new Error('no worker process')
    await sleep(settleMs)
    const [requestsBefore, before] = [await server.requests(), await worker.report()]
    await sleep(durationMs)
    const [requestsAfter, after] = [await server.requests(), await worker.report()]
    const seconds = (after.at - before.at) / 1000
    const requests = requestsAfter - requestsBefore - server.ownRequests
    return {
      figure: requests / seconds,
      count: requests,
      seconds,
      stored: 0,
      cpuPercent: (after.cpuMicros - before.cpuMicros) / 1e4 / seconds,
      rssEndMb: after.rssMb,
    }
  } finally {
    await endWorkers(workers)
    await server.close()
  }
}

interface Watched {
  /** Transactions since the server began. */
  requests(): Promise<number>
  /** How many transactions one reading adds. */
  ownRequests: number
  close(): Promise<void>
}

/** Transactions of the worker's database, including each single statement, read from another database. */
async function openPostgres(url: string): Promise<Watched> {
  const name = new URL(url).pathname.slice(1)
  const elsewhere = new URL(url)
  elsewhere.pathname = '/postgres'
  const client = new pg.Client({ connectionString: elsewhere.href })
  await client.connect()
  return {
    ownRequests: 0,
    async requests() {
      const { rows } = await client.query<{ count: string }>(
        'select xact_commit + xact_rollback as count from pg_stat_database where datname = $1',
        [name],
      )
      return Number(rows[0]?.count)
    },
    close: () => client.end(),
  }
}

function openRedis(url: string): Watched {
  const client = new Redis(url)
  return {
    ownRequests: 1,
    async requests() {
      return Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1])
    },
    close() {
      client.disconnect()
      return Promise.resolve()
    },
  }
}
