import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { defineJob, Stint } from '../../../src/index.ts'
import type { JobContract } from '../../../src/index.ts'
import type { WorkerOptions } from '../../../src/worker.ts'
import { createTestDatabase } from '../../support/database.ts'
import type { TestDatabase } from '../../support/database.ts'
import { createLedger } from '../../support/ledger.ts'
import type { Ledger } from '../../support/ledger.ts'
import { repository, spawnProgram, startWorker } from '../../support/worker-process.ts'
import type { ProgramJob, WorkerProcess, WorkerSetup } from '../../support/worker-process.ts'

/** The package that is under test: a folder with a built `dist`. */
export interface Build {
  root: string
}

export const ownBuild: Build = { root: repository }

export interface ProducerSetup {
  name: string
  /** Of the database, or of a proxy before it. */
  connection?: string
  /** How long it tries to store one. */
  timeout?: string
  /** 0: only what it is told to. */
  perSecond: number
  /** Whether it tells workers at once, by a statement of its own. @default true */
  notify?: boolean
  /** Its first job's number; producers of one scene must not share any. */
  from?: number
  /** Taken in turn. */
  inputs: readonly Record<string, unknown>[]
}

/** What every experiment has: a database, a ledger outside of it, processes, and one kind of job. */
export interface Scene {
  db: TestDatabase
  ledger: Ledger
  stint: Stint
  contract: JobContract
  /** The setup of a worker for the scene's queue, where nothing else is said. */
  setup: (name: string, options?: WorkerOptions, more?: Partial<WorkerSetup>) => WorkerSetup
  worker: (name: string, options?: WorkerOptions, more?: Partial<WorkerSetup>) => Promise<WorkerProcess>
  producer: (setup: ProducerSetup) => Promise<WorkerProcess>
}

/** Options of a worker in which nothing but what is tested happens: it looks for lost workers and strays once an hour. */
export const calm = { lease: '30s', sweepEvery: '1h' } as const

/** Of one that runs nothing, and takes back what lost workers ran. */
export const sweeper = { lease: '30s', sweepEvery: '50ms', queues: { elsewhere: 1 } } as const

const queue = 'work'
const job: ProgramJob = { kind: 'work', queue }

export async function createScene({ root }: Build = ownBuild, database?: TestDatabase): Promise<Scene> {
  const db = database ?? (await createTestDatabase())
  onTestFinished(() => db.drop())
  const [server] = await db.query<{ server_version: string }>('show server_version')
  version = server?.server_version ?? version
  // Without a unique index: an effect that happens twice shall be seen twice.
  await db.query('create table effect (job uuid not null, by text not null, lease uuid)')
  const stint = new Stint({ connection: db.url })
  onTestFinished(() => stint.close())
  const ledger = await createLedger()
  const setup: Scene['setup'] = (name, options = {}, more = {}) => ({
    name,
    jobs: [job],
    root,
    // Storms are about losing jobs, and putting them aside would hide it.
    options: { connection: db.url, queues: { [queue]: 10 }, crashLimit: 100, log: false, ...options },
    ...more,
  })
  return {
    db,
    ledger,
    stint,
    setup,
    contract: defineJob(job),
    worker: (name, options, more) => startWorker(ledger, setup(name, options, more)),
    producer: async ({ name, connection = db.url, timeout = '20s', from = 0, notify = true, ...rest }) => {
      const program = join(root, 'test/guarantees/programs/producer.mjs')
      const facts = { name, ledger: ledger.file, connection, timeout, notify, from, job, ...rest }
      const producer = spawnProgram(program, facts)
      await ledger.wrote({ type: 'ready', worker: name })
      return producer
    },
  }
}

let version = 'unknown'

/** Of the PostgreSQL that the last scene was on. */
export function serverVersion(): string {
  return version
}

/** Ends a stream of jobs, and waits until all of it is answered. */
export async function endOf(producer: WorkerProcess): Promise<void> {
  producer.tell('stop')
  await producer.exited
}
