import { existsSync } from 'node:fs'
import { Stint } from '../../client/stint.ts'
import { StintError } from '../../core/errors.ts'
import type { Connected } from '../../db/connect.ts'
import { withoutPassword } from '../../db/unreachable.ts'
import { startEmbedded } from '../../embedded/start.ts'
import { helpOption, noMore, parse, UsageError } from '../arguments.ts'
import { DevWorker } from '../work/dev-worker.ts'
import { say } from '../output/output.ts'
import { watchSources } from '../output/watch.ts'

const workerFiles = ['worker', 'src/worker'].flatMap((name) =>
  ['ts', 'mts', 'js', 'mjs', 'cts', 'cjs'].map((extension) => `${name}.${extension}`),
)

const help = `stint dev [FILE]    run a worker and restart it when a file changes; on DATABASE_URL or an embedded PostgreSQL

FILE is a worker file as for \`stint work\`. Without FILE, the first of these that exists:
  ${workerFiles.join(' ')}
If none of them exists, only the database runs. Ctrl-C stops the worker and the database.

Without DATABASE_URL it runs an embedded PostgreSQL and migrates it. A second \`stint dev\`, or any process of the
project without a DATABASE_URL, joins the same server; it stops when the last of them has ended. Its data is in
.stint/postgres: delete that folder to start with an empty database.

With DATABASE_URL it uses that database, as your producers do, and migrates nothing there.

  --schema NAME         the Postgres schema (default: stint)

Examples
  stint dev
  stint dev src/jobs/worker.ts
  DATABASE_URL= stint dev    # the embedded database, if DATABASE_URL is exported`

export async function dev(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { schema: { type: 'string' }, ...helpOption })
  if (values.help) return say(help)
  const [named, ...more] = positionals
  noMore(more)
  if (named !== undefined && !existsSync(named)) throw new UsageError(`File not found: ${named}.`)
  const stopped = firstSignal()
  const database = await openDatabase(process.env['DATABASE_URL'] ?? '', values.schema)
  try {
    const file = named ?? workerFiles.find((candidate) => existsSync(candidate))
    if (file === undefined) {
      say(`No worker is running: found none of ${workerFiles.join(', ')}.\n\nPress Ctrl-C to stop.`)
      await keptAlive(stopped)
    } else await runWorker(file, database.url, stopped)
  } finally {
    await database.release()
  }
  return say('stopped')
}

/** The database of DATABASE_URL, or an embedded one, migrated. */
async function openDatabase(exported: string, schema: string | undefined): Promise<Connected> {
  if (exported !== '') {
    await mustBeMigrated(exported, schema)
    say(`Using the database of DATABASE_URL: ${withoutPassword(exported)}\n`)
    return { url: exported, release: () => Promise.resolve() }
  }
  const server = await startEmbedded()
  const stint = new Stint({ connection: server.url, schema })
  const { version } = await stint.migrate().finally(() => stint.close())
  const verb = server.joined ? 'joined' : 'started'
  say(`${verb} PostgreSQL, schema at version ${version}\n\n  DATABASE_URL=${server.url}\n`)
  return server
}

/** A database of DATABASE_URL may be shared, or the wrong one, so `stint dev` does not migrate it. */
async function mustBeMigrated(connection: string, schema: string | undefined): Promise<void> {
  const stint = new Stint({ connection, schema })
  const { pending } = await stint.migrationStatus().finally(() => stint.close())
  if (pending.length === 0) return
  throw new StintError(
    'schema-missing',
    `The database of DATABASE_URL, ${withoutPassword(connection)}, has ${pending.length} migrations that are not applied: run \`stint migrate\` first. ` +
      'Or use an embedded database: DATABASE_URL= stint dev.',
  )
}

async function runWorker(file: string, databaseUrl: string, stopped: Promise<void>): Promise<void> {
  say(`Running ${file}, restarted when a source file changes. Press Ctrl-C to stop.`)
  const worker = new DevWorker({ file, databaseUrl })
  // Watch before the start: a file may change before this process reaches its next line.
  const unwatch = watchSources(process.cwd(), (changed) => {
    worker.restart(changed)
  })
  worker.start()
  await keptAlive(stopped)
  unwatch()
  const hurry = (): void => {
    worker.hurry()
  }
  process.on('SIGINT', hurry).on('SIGTERM', hurry)
  await worker.stop()
}

/** Listened for from the start: a signal during the start of the server stops the server once it runs. */
function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve)
  })
}

/** Keeps this process alive with a timer: the connection to the embedded server alone does not. */
async function keptAlive(stopped: Promise<void>): Promise<void> {
  const alive = setInterval(() => undefined, 60_000)
  await stopped
  clearInterval(alive)
}
