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
  /** URL of the database, or of a proxy in front of it. */
  connection?: string
  /** How long it tries to store one job. */
  timeout?: string
  /** 0: it enqueues only when it is told to. */
  perSecond: number
  /** Whether it notifies workers, which is a separate statement. @default true */
  notify?: boolean
  /** The number of its first job; producers of one scene must not share numbers. */
  from?: number
  /** Used in turn. */
  inputs: readonly Record<string, unknown>[]
}

/** What every experiment needs: a database, a ledger outside of it, processes, and one kind of job. */
export interface Scene {
  db: TestDatabase
  ledger: Ledger
  stint: Stint
  contract: JobContract
  /** The setup of a worker, for the queue of the scene unless the options say otherwise. */
  setup: (name: string, options?: WorkerOptions, more?: Partial<WorkerSetup>) => WorkerSetup
  worker: (name: string, options?: WorkerOptions, more?: Partial<WorkerSetup>) => Promise<WorkerProcess>
  producer: (setup: ProducerSetup) => Promise<WorkerProcess>
}

/** Options of a worker that does little beside its jobs: it looks for lost workers and strays once an hour. */
export const calm = { lease: '30s', sweepEvery: '1h' } as const

/** Options of a worker that runs no job and only takes back the jobs of lost workers. */
export const sweeper = { lease: '30s', sweepEvery: '50ms', queues: { elsewhere: 1 } } as const

const queue = 'work'
const job: ProgramJob = { kind: 'work', queue }

export async function createScene({ root }: Build = ownBuild, database?: TestDatabase): Promise<Scene> {
  const db = database ?? (await createTestDatabase())
  onTestFinished(() => db.drop())
  const [server] = await db.query<{ server_version: string }>('show server_version')
  version = server?.server_version ?? version
  // Without a unique index, so that an effect that happens twice is visible twice.
  await db.query('create table effect (job uuid not null, by text not null, lease uuid)')
  const stint = new Stint({ connection: db.url })
  onTestFinished(() => stint.close())
  const ledger = await createLedger()
  const setup: Scene['setup'] = (name, options = {}, more = {}) => ({
    name,
    jobs: [job],
    root,
    // Quarantine would hide lost jobs, so the limit is high.
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

/** The version of the PostgreSQL of the last scene. */
export function serverVersion(): string {
  return version
}

/** Stops a producer, and waits until all its enqueues are answered. */
export async function endOf(producer: WorkerProcess): Promise<void> {
  producer.tell('stop')
  await producer.exited
}
