import { setTimeout as pause } from 'node:timers/promises'
import { choose, helpOption, noMore, parse, UsageError } from '../arguments.ts'
import { report } from '../output/errors.ts'
import { say } from '../output/output.ts'
import { endWithParent, tellParent } from '../work/parent.ts'
import { supervise } from '../work/supervise.ts'
import { loadWorkerFile, workersOf } from '../work/worker-file.ts'
import type { RunnableWorker } from '../work/worker-file.ts'

const help = `stint work FILE    run the workers that a file exports, until SIGTERM or Ctrl-C

The file is TypeScript or JavaScript and needs no build. Every worker that it exports runs, under any name. The
first signal drains: running jobs finish, and no new jobs start. The second signal shortens the drain.

  --processes N         run the file in N processes, 1 to 256, or auto: one per CPU; under a supervisor
  --health [HOST:]PORT  with --processes: answer /healthz and /readyz for all of them (default host: 127.0.0.1)
  --log-format FORMAT   pretty or json (default: pretty in a terminal, else json; or what STINT_LOG says)

The supervisor of --processes
  restarts a process that ends by itself, after a pause that grows (0.2 to 30 s) while processes end early. Other
    workers take its jobs at once, because the supervisor reports its end. If no process starts in three tries
    each, the supervisor gives up with exit code 1.
  SIGTERM, Ctrl-C   all processes drain; a second signal shortens the drain. Exit code 0 if all ended in order, else 1.
                    A process that has not ended 10 s after its drain is killed.
  SIGHUP            rolling restart, for new code or settings in a file: one process after the other, each replaced only
                    when its successor is ready. If a successor is not ready within 60 s, the restart ends and the old process stays.

Examples
  stint work worker.ts
  DATABASE_URL=postgres://… stint work dist/worker.js --log-format json
  stint work worker.ts --processes auto
  stint work dist/worker.js --processes 4 --health 0.0.0.0:8080
  kill -HUP $PID        # of the supervisor: a rolling restart`

const options = {
  processes: { type: 'string' },
  health: { type: 'string' },
  'log-format': { type: 'string' },
  ...helpOption,
} as const

export async function work(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options)
  if (values.help) return say(help)
  const [file, ...more] = positionals
  if (file === undefined)
    throw new UsageError('Missing argument: the worker file, as in stint work worker.ts')
  noMore(more)
  // Set before the file is loaded: a worker reads it when it is created.
  process.env['STINT_LOG'] = logFormat(values['log-format'])
  const { processes, health } = values
  if (processes !== undefined) return ended(await supervise(file, { processes, health }))
  if (health !== undefined)
    throw new UsageError(
      '--health needs --processes. For a single process, use the `health` option of the worker.',
    )
  endWithParent()
  const parent = tellParent()
  const signals = countSignals()
  const exported = await loadWorkerFile(file)
  // If the file itself awaits its worker, loading ends only after the worker has stopped.
  if (signals.count() > 0) return ended(0)
  const workers = workersOf(file, exported)
  parent.expect(workers.length)
  signals.forget()
  return ended(await runAll(workers))
}

function logFormat(option: string | undefined): string {
  if (option !== undefined) return choose('log format', option, ['pretty', 'json'])
  const wish = process.env['STINT_LOG']
  if (wish !== undefined && wish !== '') return wish
  return process.stdout.isTTY ? 'pretty' : 'json'
}

/** Runs the workers side by side. If one fails, the others drain and stop too. */
async function runAll(workers: readonly RunnableWorker[]): Promise<number> {
  const failures: unknown[] = []
  const runOne = async (worker: RunnableWorker): Promise<void> => {
    try {
      await worker.run()
    } catch (error) {
      failures.push(error)
      const others = workers.filter((other) => other !== worker)
      await Promise.allSettled(others.map((other) => other.stop()))
    }
  }
  await Promise.all(workers.map(runOne))
  for (const failure of failures) report(failure)
  return failures.length === 0 ? 0 : 1
}

/** Counts signals during the load of the file: without a listener they would end the process at once. */
function countSignals(): { count: () => number; forget: () => void } {
  let count = 0
  const heard = (): void => {
    count++
  }
  process.on('SIGTERM', heard).on('SIGINT', heard)
  return {
    count: () => count,
    forget: () => {
      process.off('SIGTERM', heard).off('SIGINT', heard)
    },
  }
}

/** The workers have stopped, so the process ends, even if the file left handles open. */
function ended(code: number): number {
  void pause(1_000, undefined, { ref: false }).then(() => process.exit(code))
  return code
}
