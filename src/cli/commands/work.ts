import { setTimeout as pause } from 'node:timers/promises'
import { choose, helpOption, noMore, parse, UsageError } from '../arguments.ts'
import { note, say } from '../output.ts'
import { loadWorkerFile, workersOf } from '../worker-file.ts'
import type { RunnableWorker } from '../worker-file.ts'

const help = `stint work FILE    run the workers that a file exports, until SIGTERM or Ctrl-C

The file is TypeScript or JavaScript and needs no build. Every worker that it exports is run, by whatever name. The
first signal drains: no new jobs, those that run are finished. The second one hurries.

  --log-format FORMAT   pretty or json (default: pretty in a terminal, else json; or what STINT_LOG says)

Examples
  stint work worker.ts
  DATABASE_URL=postgres://… stint work dist/worker.js --log-format json`

export async function work(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { 'log-format': { type: 'string' }, ...helpOption })
  if (values.help) return say(help)
  const [file, ...more] = positionals
  if (file === undefined) throw new UsageError('Say which file: stint work worker.ts')
  noMore(more)
  // Read by the worker when it is made, so before the file is loaded.
  process.env['STINT_LOG'] = logFormat(values['log-format'])
  endWithParent()
  const signals = countSignals()
  const exported = await loadWorkerFile(file)
  // A file that awaits its own worker is done when that has stopped.
  if (signals.count() > 0) return ended(0)
  const workers = workersOf(file, exported)
  signals.forget()
  return ended(await runAll(workers))
}

function logFormat(option: string | undefined): string {
  if (option !== undefined) return choose('log format', option, ['pretty', 'json'])
  const wish = process.env['STINT_LOG']
  if (wish !== undefined && wish !== '') return wish
  return process.stdout.isTTY ? 'pretty' : 'json'
}

/** Runs them side by side; one that gives up takes the others with it, after they have drained. */
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
  for (const failure of failures)
    note(`stint: ${failure instanceof Error ? (failure.stack ?? '') : String(failure)}`)
  return failures.length === 0 ? 0 : 1
}

/** Signals that come while the file is being loaded: without a listener they would end the process at once. */
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

/** Under `stint dev` this is a child with a channel: when that breaks, nobody is left to stop it. */
function endWithParent(): void {
  if (process.channel === undefined) return
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}

/** The worker has stopped, so the process is to end, whatever the file has left open. */
function ended(code: number): number {
  void pause(1_000, undefined, { ref: false }).then(() => process.exit(code))
  return code
}
