import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

export interface PgBouncer {
  port: number
  /** The URL of a database of the server, through PgBouncer. */
  url(directUrl: string): string
  /** The end of its log. */
  said(): string
  /** Kills it, with all its connections. */
  kill(): Promise<void>
  /** Starts it on the same port. */
  start(): Promise<void>
  /** Ends it and removes its files. */
  remove(): Promise<void>
}

/** The version of an installed PgBouncer (Debian: apt-get); undefined if it is not installed. */
export function pgBouncerVersion(): string | undefined {
  const { status, stdout } = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' })
  return status === 0 ? /PgBouncer (\d+\.\d+)/.exec(stdout)?.[1] : undefined
}

/** A PgBouncer in transaction mode in front of a server: any of its databases, for the login of this URL. */
export async function startPgBouncer(
  serverUrl: string,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<PgBouncer> {
  const server = new URL(serverUrl)
  const dir = await mkdtemp(join(tmpdir(), 'stint-pgbouncer-'))
  // PgBouncer refuses to run as root, and reads its files after it has switched to another user.
  await chmod(dir, 0o755)
  const port = await freePort()
  const all: Record<string, string | number> = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: join(dir, 'users.txt'),
    pool_mode: 'transaction',
    default_pool_size: 12,
    max_client_conn: 2_000,
    // Prepared statements would be the easy case. Before 1.21 PgBouncer supports neither them nor the setting.
    ...(knowsPreparedStatements() ? { max_prepared_statements: 0 } : {}),
    ...(process.getuid?.() === 0 ? { user: 'nobody' } : {}),
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  await writeFile(
    join(dir, 'pgbouncer.ini'),
    `[databases]\n* = host=${server.hostname} port=${server.port}\n[pgbouncer]\n${lines.join('\n')}\n`,
  )
  const [user, password] = [server.username, server.password].map(decodeURIComponent)
  await writeFile(join(dir, 'users.txt'), `"${user ?? ''}" "${password ?? ''}"\n`)

  const url = (directUrl: string): string => {
    const pooled = new URL(directUrl)
    pooled.port = String(port)
    return pooled.href
  }
  let child: ChildProcess | undefined
  let said = ''
  let isKilled = false
  const start = async (): Promise<void> => {
    child = spawn('pgbouncer', [join(dir, 'pgbouncer.ini')], { stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr?.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-8_000)))
    isKilled = false
    const ended = once(child, 'exit').then(() => {
      // The running test fails because of this, so print why.
      if (!isKilled) process.stderr.write(`PgBouncer ended by itself:\n${said}\n`)
      throw new Error(`PgBouncer ended before it answered:\n${said}`)
    })
    ended.catch(() => undefined)
    await Promise.race([answers(url(serverUrl), () => said), ended])
  }
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    isKilled = true
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const atExit = (): void => void child?.kill('SIGKILL')
  process.once('exit', atExit)
  await start()
  return {
    port,
    url,
    kill,
    start,
    said: () => said,
    remove: async () => {
      process.off('exit', atExit)
      await kill()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

function knowsPreparedStatements(): boolean {
  const [major = 0, minor = 0] = (pgBouncerVersion() ?? '').split('.').map(Number)
  return major > 1 || minor >= 21
}

async function answers(url: string, said: () => string): Promise<void> {
  const giveUpAt = performance.now() + 30_000
  for (;;) {
    const client = new pg.Client(url)
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query('select 1')
      return
    } catch (error) {
      if (performance.now() > giveUpAt)
        throw new Error(`PgBouncer does not answer:\n${said()}`, { cause: error })
      await pause(25)
    } finally {
      await client.end().catch(() => undefined)
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
