import type { ClockSkew } from '../../db/clock-skew.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { burySql } from './bury.sql.ts'
import { heldSql } from './held.sql.ts'
import { registerSql } from './register.sql.ts'
import { renewSql } from './renew.sql.ts'
import { reportDeathSql } from './report-death.sql.ts'
import { retireSql } from './retire.sql.ts'
import { tellFailingSql } from './tell-failing.sql.ts'

/** What a worker reports about itself; stored with its lease, for people. */
export interface AboutWorker {
  host: string
  pid: number
  /** The version of the app, if it has one. */
  version: string | null
  stintVersion: string
  /** Queue → jobs at once. */
  queues: Readonly<Record<string, number>>
  kinds: readonly string[]
  /** Kind → newest contract version that it handles. */
  versions: Readonly<Record<string, number>>
  /** Queue → jobs that one slot may take at once, where that is more than one. */
  batches: Readonly<Record<string, number>>
  /** Queue → slots that only jobs from a priority up may take, where some are reserved. */
  reserves: Readonly<Record<string, { slots: number; priority: number }>>
  /** Schedules in its code. */
  schedules: readonly string[]
  /** Limits and rates that its code declares or uses. */
  limits: readonly string[]
  /** It knows flows: it tells how their jobs ended. */
  flows: true
}

/** Registers a new worker and begins its lease. Returns the database's time, in ms since 1970. */
export async function register(
  db: Queryable,
  { worker, leaseMs, about }: { worker: string; leaseMs: number; about: AboutWorker },
): Promise<number | undefined> {
  const [now] = await run(db, registerSql, { worker, leaseMs, about: JSON.stringify(about) }, toNow)
  return now
}

/** Returns the database's time, in ms since 1970; undefined if the worker is lost for good. */
export async function renew(
  db: Queryable,
  {
    skew,
    ...request
  }: {
    worker: string
    leaseMs: number
    rssBytes: number
    /** JSON of `ReportedClaims`. */
    claims: string
    skew: ClockSkew | undefined
  },
): Promise<number | undefined> {
  const { aheadMs = null, errorMs = null } = skew ?? {}
  const [now] = await run(db, renewSql, { ...request, aheadMs, errorMs }, toNow)
  return now
}

function toNow({ now }: { now: number }): number {
  return now
}

/** Ends a lease, so that others need not wait until it runs out. */
export async function retire(db: Queryable, worker: string): Promise<void> {
  await run(db, retireSql, { worker }, () => undefined)
}

/** A queue that a worker cannot claim from. */
export interface FailingClaim {
  queue: string
  /** ISO 8601, by the worker's clock. */
  since: string
  error: string
}

/** Notes with a worker which of its queues it cannot claim from. */
export async function tellFailing(
  db: Queryable,
  { worker, failing }: { worker: string; failing: readonly FailingClaim[] },
): Promise<void> {
  await run(db, tellFailingSql, { worker, failing: JSON.stringify(failing) }, () => undefined)
}

/** Ends the leases of workers whose process has ended, or is about to; `story` tells people how. */
export async function reportDeath(
  db: Queryable,
  request: { workers: readonly string[]; story: string },
): Promise<void> {
  await run(db, reportDeathSql, request, () => undefined)
}

/** Marks workers whose lease ran out as lost and returns their ids; none within one lease of the server's start. */
export async function bury(db: Queryable): Promise<{ lost: string[]; isAnyRunning: boolean }> {
  const [found] = await run(db, burySql, {}, (row: { lost: string[]; isAnyRunning: boolean }) => row)
  return found ?? { lost: [], isAnyRunning: true }
}

/** The jobs that run under a worker according to the database: job id → lease. */
export async function held(db: Queryable, worker: string): Promise<Map<string, string>> {
  const rows = await run(db, heldSql, { worker }, (row: { id: string; lease_id: string }) => row)
  return new Map(rows.map(({ id, lease_id: lease }) => [id, lease]))
}
