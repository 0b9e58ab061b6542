import type { JobState } from '../../core/job.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { factsSql } from './facts.sql.ts'
import { holdersSql } from './holders.sql.ts'
import { lastFailureSql } from './last-failure.sql.ts'
import { limitedFactsSql } from './limited-facts.sql.ts'

/** A time as jsonb prints it: ISO 8601, or `infinity`. */
type Stamp = string | null

/** Another job that stands in the way. */
export interface HolderFacts {
  id: string
  queue: string
  kind: string
  key: string | null
  state: JobState
  worker: string | null
  /** Runs since. */
  since: Stamp | Date
  leaseUntil?: Stamp | Date
  dueAt?: Stamp
}

export interface PauseFacts {
  /** The kind that is paused; null: the key. */
  kind?: string | null
  by: string | null
  reason: string | null
  until: Stamp
}

/** What a live worker of the queue wrote about itself may have any shape. */
export interface WorkerFacts {
  id: string
  slots: unknown
  batch: unknown
  handles: boolean | null
  version: unknown
  failing: unknown
  /** What a person asked it to do. */
  wanted: unknown
  /** Its slots that are reserved, and from which priority up. */
  reserve: unknown
  /** Jobs of the queue that it holds. */
  held: number
  /** Those of them that may not take reserved slots. */
  heldLow: number
}

export interface BreakerFacts {
  name: string
  state: 'open' | 'half-open'
  since: Stamp
  cause: unknown
  probeAt: Stamp
  /** Set while a person forces its state. */
  forcedBy: string | null
  forcedReason: string | null
  forcedUntil: Stamp
}

export interface BucketFacts {
  name: string
  key: string | null
  /** Tokens that jobs may take. */
  have: number
  perMs: number
  burst: number
  keep: number
  blockedUntil: Stamp
}

export interface LimitFacts {
  name: string
  byKey: boolean
  max: number
  used: number
  onLimit: string
}

/** What limits, rates and order say: a row of limited-facts.sql. All null for a queue that is not limited. */
export interface LimitedFacts {
  buckets: BucketFacts[] | null
  limits: LimitFacts[] | null
  /** The job that must start before this one. */
  head: HolderFacts | null
}

/** What decides whether a live job can be claimed. */
export interface Facts extends LimitedFacts {
  asOf: Date
  id: string
  state: JobState
  queue: string
  kind: string
  key: string | null
  runAt: Date
  version: number
  attempt: number
  maxAttempts: number
  epoch: number
  cost: number
  priority: number
  flowId: string | null
  /** What it waits for; any JSON. */
  waits: unknown
  workerId: string | null
  startedAt: Date | null
  leaseUntil: Date | null
  /** The error group of its last failure, if it retries. */
  failedWith: string | null
  queuePause: PauseFacts | null
  pauses: PauseFacts[] | null
  workers: WorkerFacts[] | null
  /** Jobs that the workers of the queue hold, of all queues, `mostHeld` at most. */
  running: number
  /** Running jobs of the queue, as the leader counted them within the last 10 s. */
  gaugedRunning: number | null
  slotHolders: HolderFacts[] | null
  lastWorker: { id: string; at: Stamp } | null
  breakers: BreakerFacts[] | null
  /** Ready jobs ahead, of higher priority and of the same, each `most` at most. */
  higher: number
  earlier: number
  /** Other keys of the queue that have ready jobs, `mostKeys` at most. */
  otherKeys: number
  pace: { started: number; runs: unknown }
  mayLock: boolean
}

/** Entries of an index that one probe reads at most: a count that reaches it is shown as 1,000+. */
export const most = 1_001
export const mostKeys = 100
export const mostHeld = 501

const unlimited: LimitedFacts = { buckets: null, limits: null, head: null }

/** Undefined for a job that is not live. */
export async function readFacts(db: Queryable, id: string): Promise<Facts | undefined> {
  type Row = Omit<Facts, 'failedWith' | keyof LimitedFacts> & { isLimited: boolean }
  const [facts] = await run(db, factsSql, { id, most, mostKeys, mostHeld }, (row: Row) => row)
  if (facts === undefined) return undefined
  const [failure] =
    facts.state === 'retrying'
      ? await run(db, lastFailureSql, { id }, (row: { fingerprint: string }) => row.fingerprint)
      : []
  const [limited = unlimited] =
    facts.isLimited && facts.state !== 'running'
      ? await run(db, limitedFactsSql, { id }, (row: LimitedFacts) => row)
      : []
  return { ...facts, ...limited, failedWith: failure ?? null }
}

/** Holders that are named at most. */
const mostHolders = 20

/** The jobs that run under a limit, the longest first. */
export function readHolders(
  db: Queryable,
  { name, key }: { name: string; key: string | null },
): Promise<HolderFacts[]> {
  return run(db, holdersSql, { name, key, limit: mostHolders }, (row: HolderFacts) => row)
}
