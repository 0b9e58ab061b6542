import { once } from 'node:events'
import { Stint } from '../../client/stint.ts'
import { startEmbedded } from '../../embedded/start.ts'
import { parse, say } from '../output.ts'

const help = `stint dev    start the embedded PostgreSQL of this project, migrate it, stay until Ctrl-C

A second one, or any process of the project without a DATABASE_URL, joins the same server; it stops when the last
of them is gone. Its data is in .stint/postgres: delete that folder to begin anew.

  --schema NAME         the Postgres schema (default: stint)`

const options = { schema: { type: 'string' }, help: { type: 'boolean', short: 'h', default: false } } as const

export async function dev(args: readonly string[]): Promise<number> {
  const { values } = parse(args, options)
  if (values.help) return say(help)
  const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  const server = await startEmbedded()
  try {
    const stint = new Stint({ connection: server.url, schema: values.schema })
    const { version } = await stint.migrate().finally(() => stint.close())
    say(
      `${server.joined ? 'joined' : 'started'} PostgreSQL, schema at version ${version}\n\n  DATABASE_URL=${server.url}\n\nCtrl-C stops it.`,
    )
    // Nothing else keeps this process alive: a hold on the server does not.
    const alive = setInterval(() => undefined, 60_000)
    await stopped
    clearInterval(alive)
  } finally {
    await server.release()
  }
  return say('stopped')
}
