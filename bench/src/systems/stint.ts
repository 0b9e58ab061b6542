import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Client } from 'pg'
import { countRows } from './count-rows.ts'
import type { Input, Session, System } from './system.ts'
import { bulkTunings } from './system.ts'

// The built package and not the sources: what is measured is what gets published.
const entry = new URL('../../../dist/entry/index.js', import.meta.url)
const manifest = fileURLToPath(new URL('../../../package.json', import.meta.url))

/** What the benchmarks use of Stint. Written out, because bench/ must type-check before dist/ exists. */
interface StintModule {
  Stint: new (options: { connection: string }) => StintClient
  defineJob(contract: { kind: string; queue: string }): unknown
}

interface StintClient {
  migrate(): Promise<unknown>
  enqueue(contract: unknown, input: Input, options?: { tx: Client }): Promise<unknown>
  enqueueMany(contract: unknown, inputs: readonly Input[]): Promise<unknown>
  close(): Promise<void>
}

export const stint: System = {
  name: 'stint',
  version: (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version,
  store: 'postgres',
  settings:
    '`enqueue`, `enqueueMany`, `enqueue` with `{ tx }`, all as they come; a contract without a schema.',
  tunings: { single: [{}], bulk: bulkTunings },
  hasInTx: true,
  missing: existsSync(entry) ? undefined : 'dist/entry/index.js is not built (npm run build)',
  setup,
}

async function setup(url: string): Promise<Session> {
  const { Stint, defineJob } = (await import(entry.href)) as StintModule
  const client = new Stint({ connection: url })
  await client.migrate()
  const noop = defineJob({ kind: 'bench.noop', queue: 'bench' })
  return {
    enqueueOne: (input) => client.enqueue(noop, input),
    enqueueBulk: (inputs) => client.enqueueMany(noop, inputs),
    enqueueInTx: (tx, input) => client.enqueue(noop, input, { tx }),
    count: () => countRows(url, 'stint.job'),
    teardown: () => client.close(),
  }
}
