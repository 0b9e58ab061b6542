import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { hasCode } from './errno.ts'
import type { KeeperConfig } from './messages.ts'
import { isAbandoned, readPidFile, removeStalePidFile } from './pid-file.ts'
import type { Layout } from './layout.ts'
import { isAlive, isPostmasterOf } from './processes.ts'
import { exitOf, failedWithLog, type LogPart, logSize, readLog, runProgram, startProgram } from './program.ts'

/** Recovery after a crash may take its time. */
const startMs = 120_000
const fastStopMs = 30_000
const pollMs = 10
const watchMs = 200

export interface RunningServer {
  pid: number
  port: number
  /** Whether it ran already: an earlier keeper had started it. */
  adopted: boolean
  /** Resolves when the process has ended, for any reason. */
  ended: Promise<void>
}

export interface StartOptions {
  config: KeeperConfig
  layout: Layout
  log: string
}

/**
 * Starts the server on its data directory, or adopts the one that runs there.
 *
 * Only the keeper calls this, and there is one keeper. Yet a server that the last keeper started just before it ended
 * may start beside ours: then the one that loses the race for `postmaster.pid` ends, and we check again.
 */
export async function startServer({ config, layout, log }: StartOptions): Promise<RunningServer> {
  const data = join(layout.home, 'data')
  const search: Search = { data, log, from: logSize(log), deadline: Date.now() + startMs }
  let port = await lastPort(config.dir)
  for (;;) {
    const found = await readPidFile(data)
    if (found?.pid !== undefined && (await isPostmasterOf(found.pid, data))) {
      const { pid } = found
      const ended = untilDead(pid)
      const adopted = await untilReady(search, { pid, ended })
      if (adopted !== undefined) return { pid, port: adopted, adopted: true, ended }
      continue
    }
    if (found && found.pid === undefined && !(await isAbandoned(data))) {
      await pause(pollMs)
      continue
    }
    if (found) await removeStalePidFile(data, found)

    const from = logSize(log)
    port ??= await freePort()
    const child = await startProgram({
      layout,
      log,
      program: 'postgres',
      args: serverArgs(data, port, config),
    })
    const ended = untilExit(child)
    const pid = child.pid ?? 0
    if ((await untilReady(search, { pid, ended })) !== undefined) {
      await writeFile(portPath(config.dir), String(port))
      return { pid, port, adopted: false, ended }
    }

    const reason = readLog({ log, from })
    // Another program took the port after we checked, or has used it since the server last ran.
    if (/could not bind|could not create any TCP\/IP sockets/.test(reason)) port = undefined
    // The processes of a server that was killed are still ending, or another server was first: look again.
    else if (/shared memory block|lock file "postmaster.pid"/.test(reason)) await pause(pollMs)
    else throw failedWithLog(`postgres ended with ${await exitOf(child)}`, { log, from })
  }
}

/** Ends every session, writes everything to disk, and resolves when the process is gone. */
export async function stopServer({ pid, ended }: RunningServer, options: StartOptions): Promise<void> {
  const { layout, log } = options
  const data = join(layout.home, 'data')
  if (!(await isPostmasterOf(pid, data))) return
  if (process.platform === 'win32') {
    await runProgram({ layout, log, program: 'pg_ctl', args: ['stop', '-m', 'fast', '-w', '-D', data] })
    return
  }
  signal(pid, 'SIGINT')
  if (await endsWithin(ended, fastStopMs)) return
  // Gives up on a checkpoint that does not end; the next start recovers.
  signal(pid, 'SIGQUIT')
  await ended
}

function signal(pid: number, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error
  }
}

function serverArgs(data: string, port: number, { fsync, settings }: KeeperConfig): string[] {
  const all = {
    shared_buffers: '128MB',
    max_connections: '200',
    ...(fsync === 'off' && { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...settings,
    // Not for users to change: the rest of this folder depends on them.
    listen_addresses: '127.0.0.1',
    // No sockets: their paths may have about 100 bytes, and projects lie deeper than that.
    unix_socket_directories: '',
    port: String(port),
    logging_collector: 'off',
    lc_messages: 'C',
  }
  return ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/** One call of `startServer`: where it looks, and for how long. */
interface Search extends LogPart {
  data: string
  deadline: number
}

/** The port, once this process says that it is ready and accepts connections; undefined when it has ended. */
async function untilReady(
  { data, log, from, deadline }: Search,
  { pid, ended }: { pid: number; ended: Promise<void> },
): Promise<number | undefined> {
  for (;;) {
    const file = await readPidFile(data)
    if (file?.pid === pid && file.isReady && file.port !== undefined && (await accepts(file.port)))
      return file.port
    if (await endsWithin(ended, pollMs)) return undefined
    // Not killed, because it may be recovering from a crash: the next start checks it again.
    if (Date.now() > deadline)
      throw failedWithLog(`pid ${pid} is not ready after ${startMs} ms`, { log, from })
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

async function untilExit(child: ChildProcess): Promise<void> {
  await exitOf(child)
}

/** Polls, because the system does not report the end of a process that is not our child. */
async function untilDead(pid: number): Promise<void> {
  while (isAlive(pid)) await pause(watchMs)
}

async function endsWithin(ended: Promise<void>, ms: number): Promise<boolean> {
  const enough = new AbortController()
  try {
    const timeout = pause(ms, false, { signal: enough.signal })
    return await Promise.race([ended.then(() => true), timeout])
  } finally {
    enough.abort()
  }
}

/** The same port again, so that a URL stays good when the server ends and comes back. */
async function lastPort(dir: string): Promise<number | undefined> {
  const text = await readFile(portPath(dir), 'utf8').catch(() => '')
  return /^\d+$/.test(text) ? Number(text) : undefined
}

function portPath(dir: string): string {
  return join(dir, 'port')
}

async function freePort(): Promise<number> {
  const probe = createServer()
  probe.listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
