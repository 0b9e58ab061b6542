import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import pg, { type Client } from 'pg'
import { countRows } from './count-rows.ts'
import type { Input, PreparedWorker, Session, System, Work } from './system.ts'
import { bulkTunings } from './system.ts'

/** The parts of Stint that the benchmarks use. Written out, because bench/ must type-check before dist/ exists. */
interface StintModule {
  Stint: new (options: { connection: string }) => StintClient
  defineJob: (contract: { kind: string; queue: string }) => unknown
  defineSchedule: (definition: {
    name: string
    job: unknown
    every: string
    startsAt: Date
    input: (fireAt: Date) => Input
  }) => unknown
  defineLimit: (definition: { name: string; covers: { queue: string }[]; by: 'key'; max: number }) => unknown
  defineQueue: (definition: { name: string; maxDepth: number }) => unknown
  defineRate: (definition: { name: string; tokens: number; per: string; burst: number }) => unknown
}

interface StintClient {
  migrate(): Promise<unknown>
  enqueue(contract: unknown, input: Input, options?: { tx: Client }): Promise<unknown>
  enqueueMany(
    contract: unknown,
    inputs: readonly Input[],
    options?: { each: (input: Input) => { key: string } },
  ): Promise<unknown>
  limit(name: string): { take(tokens: number): Promise<void> }
  close(): Promise<void>
}

interface WorkerModule {
  Worker: new (options: {
    connection: string
    queues: Record<string, { concurrency: number }>
    flow?: unknown[]
    log: false
  }) => StintWorker
}

interface StintWorker {
  handle(contract: unknown, handler: (input: Input) => Promise<void>): unknown
  schedule(...schedules: unknown[]): unknown
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

const contract = { kind: 'bench.noop', queue: 'bench' }

/** This checkout. */
export const stint = stintAt('stint', new URL('../../../', import.meta.url))

/**
 * Another built checkout, whose folder STINT_BEFORE names: so that a change is measured in turns with the code before it.
 */
export const stintBefore = stintAt('stint-before', folderUrl(process.env['STINT_BEFORE']))

function folderUrl(folder: string | undefined): URL | undefined {
  return folder === undefined ? undefined : pathToFileURL(`${resolve(folder)}/`)
}

/** The built package and not the sources: the measured code is the published code. */
function stintAt(name: string, root: URL | undefined): System {
  const fileOf = (path: string): URL => new URL(path, root ?? import.meta.url)
  const manifest = fileOf('package.json')
  const { version, exports: subpaths } = readManifest(manifest)
  const entry = fileOf(subpaths['.'])
  const workerEntry = fileOf(subpaths['./worker'])
  const isBuilt = existsSync(entry)
  return {
    name,
    version: isBuilt ? version : '',
    store: 'postgres',
    settings: {
      enqueue:
        '`enqueue`, `enqueueMany`, `enqueue` with `{ tx }`, all as they come; a contract without a schema.',
      work: 'One `Worker` with one queue and nothing set but its `concurrency`. Finished jobs are kept.',
    },
    tunings: { single: [{}], bulk: bulkTunings, drain: [{}], latency: [{}] },
    hasInTx: true,
    missing: isBuilt
      ? undefined
      : root === undefined
        ? 'STINT_BEFORE does not name a checkout'
        : 'It is not built (npm run build)',
    missingWorker: existsSync(workerEntry) ? undefined : 'no worker in this build',
    setup: (url) => setup({ entry, workerEntry }, url),
    prepareWorker: (url, _tuning, work) => prepareWorker({ entry, workerEntry }, url, work),
  }
}

interface Manifest {
  version: string
  exports: { '.': string; './worker': string }
}

function readManifest(file: URL): Manifest {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Manifest
  return { version: '', exports: { '.': 'missing', './worker': 'missing' } }
}

interface Entries {
  entry: URL
  workerEntry: URL
}

async function setup(entries: Entries, url: string): Promise<Session> {
  const { entry } = entries
  const { Stint, defineJob } = (await import(entry.href)) as StintModule
  const client = new Stint({ connection: url })
  await client.migrate()
  const noop = defineJob(contract)
  return {
    enqueueOne: (input) => client.enqueue(noop, input),
    enqueueBulk: (inputs) => client.enqueueMany(noop, inputs),
    enqueueKeyed: (inputs, keys) =>
      client.enqueueMany(noop, inputs, { each: ({ n }) => ({ key: `key-${n % keys}` }) }),
    storeRate: ({ name, perSecond: tokens, burst }) =>
      storeRule(entries, url, ({ defineRate }) => defineRate({ name, tokens, per: '1s', burst })),
    takeToken: (name) => client.limit(name).take(1),
    limitDepth: (maxDepth) =>
      storeRule(entries, url, ({ defineQueue }) => defineQueue({ name: contract.queue, maxDepth })),
    limitKeys: (max) => storeLimit(entries, url, max),
    pause: () => runSql(url, "insert into stint.queue (name, paused_until) values ('bench', 'infinity')"),
    enqueueInTx: (tx, input) => client.enqueue(noop, input, { tx }),
    count: () => countRows(url, 'stint.job'),
    unfinished: () => countRows(url, 'stint.job'),
    finished: () => countRows(url, "stint.finished where state = 'succeeded'"),
    teardown: () => client.close(),
  }
}

/** For its first seconds a new limit costs more than later. */
async function storeLimit(entries: Entries, url: string, max: number): Promise<void> {
  await storeRule(entries, url, ({ defineLimit }) => defineLimit(perKey(max)))
  await runSql(url, "update stint.limit_cover set since = since - interval '1 hour'")
}

/** A worker stores the rules of its code when it starts. */
async function storeRule(
  { entry, workerEntry }: Entries,
  url: string,
  define: (module: StintModule) => unknown,
): Promise<void> {
  const module = (await import(entry.href)) as StintModule
  const { Worker } = (await import(workerEntry.href)) as WorkerModule
  const queues = { [contract.queue]: { concurrency: 1 } }
  const worker = new Worker({ connection: url, queues, flow: [define(module)], log: false })
  worker.handle(module.defineJob(contract), () => Promise.resolve())
  await worker.start()
  await worker.stop()
}

function perKey(max: number) {
  return { name: 'per-key', covers: [{ queue: contract.queue }], by: 'key' as const, max }
}

async function runSql(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

async function prepareWorker(
  { entry, workerEntry }: Entries,
  url: string,
  work: Work,
): Promise<PreparedWorker> {
  const { concurrency, schedules = 0, keyLimit, jobMs, run } = work
  const { defineJob, defineSchedule, defineLimit } = (await import(entry.href)) as StintModule
  const { Worker } = (await import(workerEntry.href)) as WorkerModule
  const queues = { [contract.queue]: { concurrency } }
  const flow = keyLimit === undefined ? {} : { flow: [defineLimit(perKey(keyLimit))] }
  const worker = new Worker({ connection: url, queues, ...flow, log: false })
  const noop = defineJob(contract)
  worker.handle(noop, ({ n }) => {
    run(n)
    return jobMs === undefined ? Promise.resolve() : sleep(jobMs)
  })
  for (let place = 0; place < schedules; place++) {
    const name = `every-second-${place}`
    const startsAt = new Date((place * 1000) / schedules)
    const input = (fireAt: Date): Input => ({ n: fireAt.getTime() })
    worker.schedule(defineSchedule({ name, job: noop, every: '1s', startsAt, input }))
  }
  return { start: () => worker.start(), stop: () => worker.stop() }
}
