import { existsSync } from 'node:fs'
import { Stint } from '../../client/stint.ts'
import { startEmbedded } from '../../embedded/start.ts'
import type { EmbeddedServer } from '../../embedded/start.ts'
import { helpOption, noMore, parse, UsageError } from '../arguments.ts'
import { DevWorker } from '../dev-worker.ts'
import { say } from '../output.ts'
import { watchSources } from '../watch.ts'

const workerFiles = ['worker', 'src/worker'].flatMap((name) =>
  ['ts', 'mts', 'js', 'mjs', 'cts', 'cjs'].map((extension) => `${name}.${extension}`),
)

const help = `stint dev [FILE]    embedded PostgreSQL, migrated, and your worker, reloaded when a file changes

FILE is what \`stint work\` runs; without one, the first of these that is there:
  ${workerFiles.join(' ')}
With none of them, only the database runs. Ctrl-C stops it all.

A second one, or any process of the project without a DATABASE_URL, joins the same server; it stops when the last
of them is gone. Its data is in .stint/postgres: delete that folder to begin anew.

  --schema NAME         the Postgres schema that is migrated (default: stint)

Examples
  stint dev
  stint dev src/jobs/worker.ts`

export async function dev(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { schema: { type: 'string' }, ...helpOption })
  if (values.help) return say(help)
  const [named, ...more] = positionals
  noMore(more)
  if (named !== undefined && !existsSync(named)) throw new UsageError(`There is no file ${named}.`)
  const stopped = firstSignal()
  const server = await startEmbedded()
  try {
    await announce(server, values.schema)
    const file = named ?? workerFiles.find((candidate) => existsSync(candidate))
    if (file === undefined) {
      say(`No worker is run: found none of ${workerFiles.join(', ')}.\n\nCtrl-C stops it.`)
      await keptAlive(stopped)
    } else await runWorker(file, server.url, stopped)
  } finally {
    await server.release()
  }
  return say('stopped')
}

async function announce(server: EmbeddedServer, schema: string | undefined): Promise<void> {
  const stint = new Stint({ connection: server.url, schema })
  const { version } = await stint.migrate().finally(() => stint.close())
  const verb = server.joined ? 'joined' : 'started'
  say(`${verb} PostgreSQL, schema at version ${version}\n\n  DATABASE_URL=${server.url}\n`)
}

async function runWorker(file: string, databaseUrl: string, stopped: Promise<void>): Promise<void> {
  say(`Running ${file}, again whenever a source file changes. Ctrl-C stops it.`)
  const worker = new DevWorker({ file, databaseUrl })
  // Watched before it is started: it may be up, and be changed, before this process comes to its next line.
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

/** Heard from the start: one that comes while the server starts stops it once it is up. */
function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve)
  })
}

/** Nothing else may keep this process alive: a hold on the server does not. */
async function keptAlive(stopped: Promise<void>): Promise<void> {
  const alive = setInterval(() => undefined, 60_000)
  await stopped
  clearInterval(alive)
}
