import { choose } from './arguments.ts'
import { stintVersion } from '../node/version.ts'
import { report } from './output/errors.ts'
import { say } from './output/output.ts'
import type { Command } from './verbs.ts'

const help = `Stint: background jobs on PostgreSQL

Look
  stint status              job counts by queue and state, live workers, upkeep
  stint stats               recent rates, failures, and percentiles of wait and run time
  stint doctor              problems with the database and the workers, and how to fix them
  stint job list            jobs, newest first
  stint job get ID          details of one job: input, attempts, log

Repair
  stint job cancel ID…      cancel jobs; also run-now, reschedule, reprioritize, edit
  stint dead list           dead letters: jobs that failed for good
  stint dead groups         dead letters grouped by error
  stint dead get ID         details of a dead letter, with every attempt
  stint dead replay ID…     run dead letters again
  stint dead discard ID…    move dead letters to the trash for 24 hours
  stint dead restore ID…    take dead letters out of the trash
  stint op list             operations on many jobs (--where); also get, pause, resume, pace, abort
  stint audit list          actions that people took, and actions that were refused
  stint error list          groups of the same error; also get, resolve, ignore, reopen

Keep
  stint queue list          how long each queue keeps its jobs
  stint queue set NAME      change how long a queue keeps its jobs
  stint queue concurrency   change how many of its jobs running workers run at once
  stint worker list         live workers; pause, resume and drain them

Limits
  stint limit list          concurrency limits and rates; also get, set, clear, keys, key, penalise, delete
  stint breaker list        breakers of failing downstreams; also get, probe, open, close, reset

Flows
  stint flow list           jobs that start after other jobs; also get, graph, cancel, replay

Schedule
  stint schedule list       schedules that enqueue jobs, and when each fires next
  stint schedule get NAME   details of a schedule, with its last fires
  stint schedule set NAME   create or change a schedule
  stint schedule next|run|pause|resume|backfill|delete NAME

Run
  stint work FILE           run the workers that a TypeScript or JavaScript file exports
  stint dev [FILE]          run a worker, restart it when a file changes; embedded PostgreSQL without DATABASE_URL
  stint console             serve the HTTP API and the dashboard
  stint token new           create a token for the console
  stint openapi             print the OpenAPI 3.1 document of the HTTP API
  stint migrate             create or upgrade the tables
  stint migrate status      list applied and pending migrations

  stint <command> --help    options and examples
  stint --version

The database is DATABASE_URL, or --database-url; without one, outside production, the embedded PostgreSQL.
Data goes to standard output, prose to standard error. Exit codes: 0 done, 1 failed, 2 called wrongly, 3 not found,
4 refused (the job is in another state, or another has its unique key), 5 done for some of several, 7 the doctor found a problem.`

/** Each command is loaded when it is called, so that the others start faster. */
const commands = {
  status: async (args) => (await import('./commands/status.ts')).status(args),
  stats: async (args) => (await import('./commands/stats.ts')).stats(args),
  doctor: async (args) => (await import('./commands/doctor.ts')).doctor(args),
  job: async (args) => (await import('./commands/job.ts')).job(args),
  dead: async (args) => (await import('./commands/dead.ts')).dead(args),
  error: async (args) => (await import('./commands/error.ts')).error(args),
  op: async (args) => (await import('./commands/op.ts')).op(args),
  audit: async (args) => (await import('./commands/audit.ts')).audit(args),
  worker: async (args) => (await import('./commands/worker.ts')).worker(args),
  queue: async (args) => (await import('./commands/queue.ts')).queue(args),
  limit: async (args) => (await import('./commands/limit.ts')).limit(args),
  breaker: async (args) => (await import('./commands/breaker.ts')).breaker(args),
  flow: async (args) => (await import('./commands/flow.ts')).flow(args),
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
