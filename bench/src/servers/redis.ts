import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis as RedisClient } from 'ioredis'
import { freePort } from './free-port.ts'
import { Server } from './server.ts'

/**
 * As BullMQ's guide for production asks (docs.bullmq.io/guide/going-to-production): an append-only file, written
 * through once a second, and no eviction. Snapshots are off, because the file already keeps the jobs. Rewriting
 * that file happens between measurements, as PostgreSQL's checkpoint does, and not in the middle of one.
 */
export const redisSettings = {
  appendonly: 'yes',
  appendfsync: 'everysec',
  'maxmemory-policy': 'noeviction',
  save: '',
  'auto-aof-rewrite-percentage': '0',
}

export interface Redis {
  version: string
  url: string
  /** Empties it and the file behind it. */
  flush(): Promise<void>
  stop(): Promise<void>
}

/** Returns undefined where there is no redis-server and none can be installed. */
export async function startRedis(say: (line: string) => void): Promise<Redis | undefined> {
  if (!isInstalled() && !tryInstall(say)) return undefined
  const folder = mkdtempSync('/var/tmp/stint-bench-redis-')
  const port = await freePort()
  const settings = { port: String(port), bind: '127.0.0.1', dir: folder, ...redisSettings }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const child = spawn('redis-server', args, { cwd: folder, stdio: 'ignore', detached: true })
  const server = new Server(child, folder, 'KILL')
  const client = new RedisClient({ host: '127.0.0.1', port, lazyConnect: true, retryStrategy: () => 50 })
  client.on('error', () => {})
  const endsAt = Date.now() + 10_000
  while (client.status !== 'ready') {
    if (server.hasEnded || Date.now() > endsAt) {
      client.disconnect()
      await server.stop('SIGKILL')
      throw new Error('redis-server did not start')
    }
    if (client.status === 'wait') void client.connect().catch(() => {})
    await sleep(20)
  }
  const version = /redis_version:(\S+)/.exec(await client.info('server'))?.[1] ?? 'unknown'
  return {
    version,
    url: `redis://127.0.0.1:${port}`,
    async flush() {
      await client.flushall()
      await client.bgrewriteaof()
      while (!(await client.info('persistence')).includes('aof_rewrite_in_progress:0')) await sleep(20)
    },
    async stop() {
      client.disconnect()
      await server.stop('SIGTERM')
    },
  }
}

function isInstalled(): boolean {
  return spawnSync('redis-server', ['--version']).status === 0
}

function tryInstall(say: (line: string) => void): boolean {
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) return false
  say('redis-server is missing: trying apt-get install redis-server')
  // Runlevel 1 keeps Debian from starting a Redis of its own on 6379.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const apt = (...args: string[]): boolean =>
    spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 2], timeout: 120_000 }).status === 0
  const install = ['install', '-y', '-qq', '--no-install-recommends', 'redis-server']
  return (apt(...install) || (apt('update', '-qq') && apt(...install))) && isInstalled()
}
