import type { Operation } from '../../core/operation.ts'
import type { Database } from '../../db/database.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { readFailingClaims } from './fleet/failing-claims.ts'
import type { FailingClaim } from './fleet/failing-claims.ts'
import { migrationStatus } from '../../schema/migrate.ts'
import { deadlyErrorsSql } from './deadly-errors.sql.ts'
import { readJobBriefs } from './briefs.ts'
import type { JobBrief } from './briefs.ts'
import { stoppedOperationsSql } from './stopped-operations.sql.ts'
import { troubledSchedulesSql } from './troubled-schedules.sql.ts'

/** An open error that jobs died of within the last hour. */
export interface DeadlyError {
  fingerprint: string
  kind: string
  name: string
  title: string
  firstSeen: Date
  lastSeen: Date
  /** When it came back after it was resolved; null if it did not. */
  regressedAt: Date | null
  deaths: number
  /** The last job that failed with this error; null if it is deleted. */
  seenWith: Pick<JobBrief, 'queue' | 'kind' | 'key'> | null
}

/** A schedule that fails to fire, or missed fires within the last day. */
export interface TroubledSchedule {
  name: string
  kind: string
  queue: string
  /** Failures to fire, in a row. */
  failures: number
  missed: number
  missedAt: Date | null
  missedReason: string | null
}

/** An operation that its own rule has stopped. */
export type StoppedOperation = Pick<Operation, 'id' | 'action' | 'note' | 'actor' | 'acted' | 'failed'>

/** Problems other than those of queues and workers. */
export interface Trouble {
  claims: FailingClaim[]
  errors: DeadlyError[]
  schedules: TroubledSchedule[]
  operations: StoppedOperation[]
  pendingMigrations: string[]
}

const most = 20
const mostOperations = 200

export async function readTrouble(db: Database): Promise<Trouble> {
  const { pending: pendingMigrations } = await migrationStatus(db)
  return db.transaction(async (tx) => ({
    claims: await readFailingClaims(tx, most),
    errors: await readDeadlyErrors(tx),
    schedules: await run(tx, troubledSchedulesSql, { limit: most }, (row: TroubledSchedule) => row),
    operations: await run(tx, stoppedOperationsSql, { seen: mostOperations }, (row: StoppedOperation) => row),
    pendingMigrations,
  }))
}

async function readDeadlyErrors(db: Queryable): Promise<DeadlyError[]> {
  type Row = Omit<DeadlyError, 'seenWith'> & { sampleJob: string }
  const rows = await run(db, deadlyErrorsSql, { limit: most }, (row: Row) => row)
  const found =
    rows.length === 0 ? [] : await readJobBriefs(db, [...new Set(rows.map(({ sampleJob }) => sampleJob))])
  const jobs = new Map(found.map((job) => [job.id, job]))
  return rows.map(({ sampleJob, ...error }) => {
    const job = jobs.get(sampleJob)
    const seenWith = job === undefined ? null : { queue: job.queue, kind: job.kind, key: job.key }
    return { ...error, seenWith }
  })
}
