import { randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { checkNames } from '../../src/doctor/checks.ts'
import type { CheckName } from '../../src/doctor/checks.ts'
import { examine } from '../../src/doctor/examine.ts'
import type { Finding } from '../../src/doctor/finding.ts'
import type { Limits } from '../../src/doctor/limits.ts'
import { defineJob, Stint } from '../../src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'

export const mail = defineJob({ kind: 'mail.send', queue: 'mail' })

/** A new database for each test, because the next test would find the planted problems. */
export async function newDatabase(): Promise<TestDatabase> {
  const db = await createTestDatabase()
  onTestFinished(() => db.drop())
  return db
}

/** A client of this database, closed when the test is finished. */
export function clientOf({ url }: TestDatabase, schema = 'stint'): Stint {
  const stint = new Stint({ connection: url, schema })
  onTestFinished(() => stint.close())
  return stint
}

export interface Looking {
  schema?: string
  limits?: Partial<Limits>
  only?: readonly CheckName[]
}

/** The findings of the doctor, by check. */
export async function look(
  url: string,
  { schema = 'stint', limits = {}, only = checkNames }: Looking = {},
): Promise<Record<string, Finding>> {
  const db = new Database({ url, schema, poolSize: 3, deadlineMs: 10_000, applicationName: 'doctor' })
  try {
    const { findings } = await examine(db, { only, limits })
    return Object.fromEntries(findings.map((finding) => [finding.check, finding]))
  } finally {
    await db.close()
  }
}

/** The finding of one check. */
export async function lookAt(url: string, check: CheckName, options: Looking = {}): Promise<Finding> {
  const found = await look(url, { ...options, only: [check] })
  const [finding] = Object.values(found)
  if (finding === undefined) throw new Error(`No finding of '${check}'`)
  return finding
}

export interface WorkerRow {
  queues?: Record<string, number>
  kinds?: string[]
  schedules?: string[]
  limits?: string[]
  version?: string
  stintVersion?: string
  /** How long the worker has been up. */
  up?: string
}

/** Inserts the row of a worker with a lease of an hour, without starting a worker. */
export async function plantWorker(
  db: TestDatabase,
  {
    up = '1 hour',
    queues = {},
    kinds = [],
    schedules = [],
    limits = [],
    stintVersion = '1.0.0',
    version,
  }: WorkerRow = {},
): Promise<string> {
  const id = randomUUID()
  const about = { host: 'h', pid: 1, queues, kinds, schedules, limits, stintVersion, version }
  await db.query(
    `insert into stint.worker (id, started_at, lease_until, about)
     values ($1, stint.now() - $2::interval, stint.now() + interval '1 hour', $3)`,
    [id, up, JSON.stringify(about)],
  )
  return id
}

/** Makes a worker the leader of upkeep in the database. */
export async function plantLeader(db: TestDatabase, holder: string, since: string): Promise<void> {
  await db.query(
    `insert into stint.leader (name, holder, term, since, until)
     values ('upkeep', $1, 1, stint.now() - $2::interval, stint.now() + interval '1 hour')`,
    [holder, since],
  )
}
