/*
 * A real PostgreSQL for development and tests, from npm: started by the first process that needs it, shared by
 * all processes that use the same folder, stopped when the last of them is gone.
 *
 *   process ──hold──▶ keeper ──owns──▶ postgres           hold.ts, dial.ts ▶ keeper.ts ▶ server.ts
 *
 * A *keeper* is a small process beside each server. Only it initialises, starts and stops, so all of that
 * happens one at a time; which process is the keeper is decided in claim.ts. A process *holds* the server by
 * an open connection to the keeper. The system closes it when the process ends, however it ends, so holders
 * are counted without heartbeats, and a process that stands in a debugger keeps its server.
 *
 * What must stay true:
 * - One keeper per folder lives, and one server per data directory (postmaster.pid, PostgreSQL's own lock).
 * - A folder called `data` is completely initialised, and its password is inside.
 * - A keeper ends no earlier than its server, unless it is killed.
 * - Neither keeper nor server belongs to the terminal or the process group of anyone who uses them.
 *
 * What a crash leaves behind, and who cleans up:
 * - a process that uses the server: nothing. The keeper waits for `idleMs`, in case it comes back.
 * - the keeper: a server that goes on. Each holder notices and joins again, which brings a new keeper that
 *   adopts the server. With no holder left, the server runs until the next start.
 * - the server: a stale postmaster.pid. The keeper ends, holders join again, and the next keeper starts the
 *   server on the same port, so that URLs stay good. PostgreSQL recovers what was committed.
 * - the machine: all of the above, and the pid in postmaster.pid may now belong to another program.
 * - an initialisation: a folder `init-…`, which the next keeper removes.
 *
 * In the folder: `data`, `keeper-<n>.json` (the claim), `port` (the last one), `postgres.log`, `keeper.log`,
 * and under root maybe `location` (see layout.ts).
 */
import { existsSync } from 'node:fs'
import { mkdir, realpath, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isStintError, StintError } from '../core/errors.ts'
import { messageOf } from '../core/failures/thrown.ts'
import { hasCode } from './errno.ts'
import { Hold, type HoldOptions } from './hold.ts'

export interface EmbeddedOptions {
  /** Folder of the server. @default `.stint/postgres` beside the nearest package.json */
  dir?: string | undefined
  /** `off` trades crash safety for speed: for tests. @default 'on' */
  fsync?: 'on' | 'off' | undefined
  /** Settings of PostgreSQL by name, such as `{ log_statement: 'all' }`. @default {} */
  settings?: Record<string, string> | undefined
  /** How long the server outlives a last user that has not released it; an integer from 0 up. @default 5_000 */
  idleMs?: number | undefined
}

export interface EmbeddedServer {
  /** With user, password and database. It stays valid when the server is started again, while its port is free. */
  url: string
  /** The real path of the server's folder. */
  dir: string
  port: number
  /** The id of PostgreSQL's first process. */
  pid: number
  /** Whether the server ran already; then it keeps the options of the process that started it. */
  joined: boolean
  /** Gives up this use. If it was the last one of all processes, the server is down when this resolves. */
  release(): Promise<void>
}

/** Starts the server of a folder, or joins it. It needs no release: the end of the process releases it too. */
export async function startEmbedded(options: EmbeddedOptions = {}): Promise<EmbeddedServer> {
  if (process.env['NODE_ENV'] === 'production') {
    throw new StintError(
      'embedded-refused',
      'The embedded PostgreSQL is for development and tests, and NODE_ENV is production. Set DATABASE_URL to a PostgreSQL server.',
    )
  }
  const { dir = embeddedDir(), fsync = 'on', settings = {}, idleMs = 5_000 } = options
  if (!Number.isSafeInteger(idleMs) || idleMs < 0) {
    throw new StintError(
      'invalid-option',
      `Expected \`idleMs\` to be an integer from 0 up, got ${String(idleMs)}`,
    )
  }
  try {
    return await shareHold({ dir: await makeFolder(dir), fsync, settings, idleMs })
  } catch (error) {
    if (isStintError(error)) throw error
    const reason = messageOf(error)
    throw new StintError('embedded-failed', `The embedded PostgreSQL in ${dir} did not start: ${reason}`, {
      cause: error,
    })
  }
}

/** One hold per folder in this process, however often it is started. */
const shares = new Map<string, { hold: Promise<Hold>; users: number }>()

async function shareHold(options: HoldOptions): Promise<EmbeddedServer> {
  const { dir } = options
  const existing = shares.get(dir)
  const share = existing ?? { hold: Hold.take(options), users: 0 }
  shares.set(dir, share)
  share.users += 1

  const leave = (): boolean => {
    share.users -= 1
    if (share.users > 0) return false
    if (shares.get(dir) === share) shares.delete(dir)
    return true
  }
  let hold: Hold
  try {
    hold = await share.hold
  } catch (error) {
    leave()
    throw error
  }
  const { url, port, pid } = hold.server
  let released: Promise<void> | undefined
  const release = () => (released ??= leave() ? hold.release() : Promise.resolve())
  return { url, dir, port, pid, joined: existing !== undefined || hold.joined, release }
}

async function makeFolder(dir: string): Promise<string> {
  // Under root the server runs as another user, who has to pass through to `data`; see layout.ts.
  await mkdir(dir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
  // Keeps git from committing the database.
  await writeFile(join(dir, '.gitignore'), '*\n', { flag: 'wx' }).catch((error: unknown) => {
    if (!hasCode(error, 'EEXIST')) throw error
  })
  return await realpath(dir)
}

/** The default folder. */
export function embeddedDir(): string {
  let folder = process.cwd()
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) return resolve('.stint', 'postgres')
    folder = parent
  }
  return join(folder, '.stint', 'postgres')
}

/** Whether a server was ever made in this folder. */
export function hasEmbedded(dir: string): boolean {
  return ['data', 'location'].some((name) => existsSync(join(dir, name)))
}
