import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Arguments, readArguments, usage } from './arguments.ts'
import { Bench, fullSizes, quickSizes } from './bench.ts'
import { killMeasurements } from './measuring-process.ts'
import { type Run, writePage } from './page.ts'
import { jsonLines, terminalReport } from './report.ts'
import { startPostgres } from './servers/postgres.ts'
import { startRedis } from './servers/redis.ts'
import { type Suite, suites } from './suites.ts'
import { describeSurroundings } from './surroundings.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
// Longer than any real run of one suite: a run that is still going then hangs.
const suiteLimitMs = { quick: 5 * 60_000, full: 90 * 60_000 }

const stops: (() => Promise<void>)[] = []
const run = { isStopping: false }

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void abort(signal))
// The channel to run.mjs: it closes when that process is gone, even by kill -9.
process.once('disconnect', () => void abort('the end of run.mjs'))

try {
  process.exitCode = await main(readArgumentsOrExit())
} catch (error) {
  // Once servers are being stopped, further failures are caused by that.
  if (!run.isStopping) console.error(error)
  process.exitCode = 1
}
if (!run.isStopping) {
  await stopAll()
  process.exit()
}

async function main(args: Arguments): Promise<number> {
  const limit = args.suites.length * (args.isQuick ? suiteLimitMs.quick : suiteLimitMs.full)
  setTimeout(() => void abort(`${limit / 60_000} minutes, its limit`), limit).unref()
  const bench = await start(args)
  const surroundings = describeSurroundings(bench)
  const load = surroundings.loadAtStart.toFixed(2)
  if (surroundings.loadAtStart > 0.5) say(`load is ${load}: others are at work here, expect noise`)
  let hasFailed = false
  for (const suite of args.suites) {
    const results = await runSuite(suite, bench, args)
    if (results.some(({ results: rows }) => rows.some(({ outcome }) => outcome === 'failed'))) {
      hasFailed = true
    } else if (args.page !== undefined) {
      const file = resolve(root, args.page)
      const isAll = args.suites.length === suites.length
      writePage(file, { suite, systems: args.systems, sizes: bench.sizes, surroundings, results, isAll })
      say(`wrote ${file}`)
    }
  }
  return hasFailed ? 1 : 0
}

async function runSuite(suite: Suite, bench: Bench, { isJson }: Arguments): Promise<Run['results']> {
  const results: Run['results'][number][] = []
  for (const workload of suite.workloads) {
    say(`${workload.name}: ${workload.title(bench.sizes)}`)
    const rows = await workload.run(bench)
    if (rows.length === 0) continue
    results.push({ workload, results: rows })
    process.stdout.write(isJson ? jsonLines(rows) : terminalReport(workload, rows, bench.sizes))
  }
  return results
}

function readArgumentsOrExit(): Arguments {
  try {
    const args = readArguments(process.argv.slice(2))
    if (args !== 'help') return args
    console.log(usage)
    process.exit()
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
    process.exit(2)
  }
}

async function start({ systems, isQuick, rounds }: Arguments): Promise<Bench> {
  const postgres = await startPostgres()
  stops.push(() => postgres.stop())
  const needsRedis = systems.some(({ store }) => store === 'redis')
  const redis = needsRedis ? await startRedis(say) : undefined
  if (redis) stops.push(() => redis.stop())
  say(
    `PostgreSQL ${postgres.version}${redis ? `, Redis ${redis.version}` : ''}, Node ${process.versions.node}`,
  )
  const sizes = isQuick ? quickSizes : fullSizes
  return new Bench({
    systems,
    sizes: {
      ...sizes,
      rounds: rounds ?? sizes.rounds,
      tuningPasses: rounds === 1 ? Math.min(1, sizes.tuningPasses) : sizes.tuningPasses,
    },
    say,
    postgres,
    redis,
  })
}

async function abort(reason: string): Promise<void> {
  if (run.isStopping) return
  run.isStopping = true
  say(`stopped by ${reason}`)
  killMeasurements()
  await stopAll()
  process.exit(130)
}

async function stopAll(): Promise<void> {
  await Promise.allSettled(stops.splice(0).map((stop) => stop()))
}

function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`)
}
