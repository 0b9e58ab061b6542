import { randomInt } from 'node:crypto'
import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { initialise, readPassword } from '../../src/embedded/initialise.ts'
import { findNative } from '../../src/embedded/native.ts'
import { chooseLayout } from '../../src/embedded/layout.ts'
import { startServer } from '../../src/embedded/server.ts'
import type { RunningServer } from '../../src/embedded/server.ts'
import { Stint } from '../../src/index.ts'
import type { TestDatabase } from './database.ts'

/** A PostgreSQL that one test may stop and kill. */
export interface OwnServer {
  /** Its one database, migrated. A query is repeated while the server is down. */
  db: TestDatabase
  /** `fast` ends every session first, `immediate` just ends: the next start recovers. Resolves when the server has ended. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  /** Starts the server on the same port, with the same data. */
  start(): Promise<void>
  /** Kills one session of Stint by SIGKILL: the server ends all others and recovers. */
  killBackend(): Promise<void>
}

/** How long the server may be down, even on a busy machine. */
const longestMs = 60_000

export interface OwnServerOptions {
  /** Safe against crashes of the machine, and slower. @default 'off' */
  fsync?: 'on' | 'off'
  /** Settings of the server; they override the defaults. */
  settings?: Record<string, string>
}

/** A server that ends with the test. */
export async function startOwnServer(options: OwnServerOptions = {}): Promise<OwnServer> {
  const server = await openOwnServer(options)
  onTestFinished(() => server.db.drop())
  // drop() does nothing here: a test that drops its database must not end the server while processes still stop.
  return { ...server, db: { ...server.db, drop: () => Promise.resolve() } }
}

/** A server that ends when its database is dropped. */
export async function openOwnServer({
  fsync = 'off',
  settings = {},
}: OwnServerOptions = {}): Promise<OwnServer> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'stint-own-')))
  // As root, the server runs as another user, who has to enter this folder.
  await chmod(dir, 0o755)
  // Below the range of ephemeral ports, so that no other process gets the port while the server is down.
  await writeFile(join(dir, 'port'), String(randomInt(20_000, 32_000)))
  const { native, version } = findNative()
  const config = {
    dir,
    native,
    version,
    idleMs: 0,
    fsync,
    settings: {
      max_connections: '200',
      // The machine survives these crashes, so written data is safe; but acknowledged commits have to be written.
      ...(fsync === 'off'
        ? { synchronous_commit: 'on', full_page_writes: 'on', autovacuum: 'off' }
        : undefined),
      ...settings,
    },
  }
  const log = join(dir, 'postgres.log')
  const layout = await chooseLayout(config)
  await initialise({ layout, log, sync: false })
  let running: RunningServer | undefined
  const signal = (name: NodeJS.Signals): void => {
    if (running !== undefined) process.kill(running.pid, name)
  }
  const end = async (name: NodeJS.Signals): Promise<void> => {
    signal(name)
    await running?.ended
    running = undefined
  }
  const start = async (): Promise<RunningServer> => (running = await startServer({ config, layout, log }))
  const atExit = (): void => {
    signal('SIGQUIT')
  }
  process.once('exit', atExit)
  const { port } = await start()
  const url = `postgres://app:${await readPassword(layout)}@127.0.0.1:${port}/app`
  const pool = new pg.Pool({ connectionString: url, max: 4, allowExitOnIdle: true })
  pool.on('error', () => undefined)
  const drop = async (): Promise<void> => {
    await pool.end()
    await end('SIGQUIT')
    process.off('exit', atExit)
    await rm(dir, { recursive: true, force: true })
  }
  const stint = new Stint({ connection: url })
  await stint.migrate()
  await stint.close()

  const query: TestDatabase['query'] = async <Row extends pg.QueryResultRow>(
    text: string,
    values: unknown[] = [],
  ) => {
    const giveUpAt = performance.now() + longestMs
    for (;;) {
      try {
        return (await pool.query<Row>(text, values)).rows
      } catch (error) {
        const isRefused = error instanceof pg.DatabaseError && !error.code?.startsWith('57P')
        if (isRefused || performance.now() > giveUpAt) throw error
        await pause(50)
      }
    }
  }
  return {
    db: { url, query, drop },
    stop: (mode) => end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT'),
    start: async () => {
      await start()
    },
    killBackend: async () => {
      const witness = new pg.Client(url)
      witness.on('error', () => undefined)
      await witness.connect()
      const crashed = new Promise<true>((resolve) => {
        witness.once('end', () => {
          resolve(true)
        })
      })
      // Killing a session that is just ending has no effect: then another one is killed.
      do {
        const [row] = await query<{ pid: number }>(
          `select pid from pg_stat_activity
            where backend_type = 'client backend' and application_name = 'stint worker'
            order by random() limit 1`,
        )
        if (row === undefined) throw new Error('No worker is connected')
        try {
          process.kill(row.pid, 'SIGKILL')
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
        }
      } while (!(await Promise.race([crashed, pause(5_000, false)])))
    },
  }
}
