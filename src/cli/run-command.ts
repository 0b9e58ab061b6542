import { choose } from './arguments.ts'
import { stintVersion } from '../version/version.ts'
import { report } from './errors.ts'
import { say } from './output.ts'
import type { Command } from './verbs.ts'

const help = `Stint: background jobs on PostgreSQL

Look
  stint status              queues with what they have in each state, and the workers that live
  stint stats               what happened lately: rates, failures, percentiles of wait and run
  stint doctor              what is wrong, or about to be, and what to do about it
  stint job list            jobs, newest first
  stint job get ID          all that is known of one: input, attempts, log

Repair
  stint job cancel ID…      end jobs; run-now, reschedule, reprioritize and edit them
  stint dead list           jobs that will not run again by themselves
  stint dead groups         the errors that they died of
  stint dead get ID         why, with every attempt
  stint dead replay ID…     bring them back
  stint dead discard ID…    put them into the trash, for 24 hours
  stint dead restore ID…    and out of it
  stint op list             actions over many jobs (--where): get, pause, resume, pace, abort
  stint audit list          what people did, and what they were refused
  stint error list          errors that are the same: how often, since when; get, resolve, ignore, reopen

Keep
  stint queue list          how long queues keep their jobs
  stint queue set NAME      and change it

Schedule
  stint schedule list       rules by which jobs come into being, and when each fires next
  stint schedule get NAME   all that is known of one, with its last fires
  stint schedule set NAME   store one
  stint schedule next|run|pause|resume|backfill|delete NAME

Run
  stint work FILE           run the workers that a file exports, TypeScript or JavaScript
  stint dev [FILE]          your worker, reloaded when a file changes, with an embedded PostgreSQL if need be
  stint console             the HTTP API and the dashboard
  stint token new           make a token for the console
  stint openapi             the HTTP API as OpenAPI 3.1
  stint migrate             create or upgrade the tables
  stint migrate status      what is applied and what is not

  stint <command> --help    options and examples
  stint --version

The database is DATABASE_URL, or --database-url; without one, outside production, the embedded PostgreSQL.
Data goes to standard output, prose to standard error. Exit codes: 0 done, 1 failed, 2 called wrongly, 3 not found,
4 refused (the job is in another state, or another has its unique key), 5 done for some of several, 7 the doctor found something.`

/** Each loaded when it is called: no other pays for a server, a worker or a schedule. */
const commands = {
  status: async (args) => (await import('./commands/status.ts')).status(args),
  stats: async (args) => (await import('./commands/stats.ts')).stats(args),
  doctor: async (args) => (await import('./commands/doctor.ts')).doctor(args),
  job: async (args) => (await import('./commands/job.ts')).job(args),
  dead: async (args) => (await import('./commands/dead.ts')).dead(args),
  error: async (args) => (await import('./commands/error.ts')).error(args),
  op: async (args) => (await import('./commands/op.ts')).op(args),
  audit: async (args) => (await import('./commands/audit.ts')).audit(args),
  queue: async (args) => (await import('./commands/queue.ts')).queue(args),
  schedule: async (args) => (await import('./commands/schedule.ts')).schedule(args),
  work: async (args) => (await import('./commands/work.ts')).work(args),
  dev: async (args) => (await import('./commands/dev.ts')).dev(args),
  migrate: async (args) => (await import('./commands/migrate.ts')).migrate(args),
  console: async (args) => (await import('./commands/console.ts')).consoleCommand(args),
  token: async (args) => (await import('./commands/token.ts')).token(args),
  openapi: async (args) => (await import('./commands/openapi.ts')).openapi(args),
} satisfies Record<string, Command>
const names = Object.keys(commands) as (keyof typeof commands)[]

/** Runs one command line and returns its exit code. */
export async function runCommand([name, ...rest]: readonly string[]): Promise<number> {
  if (name === 'help' && rest.length > 0) return runCommand([...rest, '--help'])
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') return say(help)
  if (name === '--version' || name === '-v') return say(stintVersion())
  try {
    return await commands[choose('command', name, names)](rest)
  } catch (thrown) {
    return report(
      thrown,
      names.find((known) => known === name),
    )
  }
}
