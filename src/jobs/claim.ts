import type { JobProgress } from '../core/job.ts'
import type { StoredError } from '../core/failures/stored-error.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { claimLanesSql } from './claim-lanes.sql.ts'
import { claimLimitedSql } from './claim-limited.sql.ts'
import { claimTheseSql } from './claim-these.sql.ts'
import { claimSql } from './claim.sql.ts'
import { claimableKeyedSql } from './claimable-keyed.sql.ts'
import { claimableSql } from './claimable.sql.ts'
import { floorParams, isBefore } from './position.ts'
import type { Position } from './position.ts'
import { pickLimitedSql } from './pick-limited.sql.ts'
import { probeCandidatesSql } from './probe-candidates.sql.ts'
import { putAsideSql } from './put-aside.sql.ts'

/** A job that a worker holds: its row says running, under this lease. */
export interface ClaimedJob extends Position {
  readonly kind: string
  readonly queue: string
  readonly leaseId: string
  readonly epoch: number
  readonly attempt: number
  readonly maxAttempts: number
  readonly version: number
  readonly priority: number
  readonly key: string | null
  /** Null if it is in a blob store. */
  readonly input: unknown
  /** Values that few jobs have; null for the other jobs, so that reading those costs nothing. */
  readonly more: ClaimedDetails | null
}

export interface ClaimedDetails {
  correlationId: string | null
  traceparent: string | null
  tracestate: string | null
  parentId: string | null
  flowId: string | null
  inputBlob: string | null
  /** Whether its deadline has passed, so that it must not start. Null if it has none. */
  isExpired: boolean | null
  timeoutMs: number | null
  /** Failures so far, by class. */
  failures: Record<string, number> | null
  attemptsBefore: number | null
  progress: JobProgress | null
  /** How often its process ended while it surely ran. */
  crashes: number
  /** Its worker ended once, and this job may be the cause. */
  suspect: boolean
  /** Crashes after which it is put aside, if its contract sets a limit; otherwise the worker's limit applies. */
  crashLimit: number | null
  /** The scheduled time that it is for, as ISO 8601; null if no schedule made it. */
  fireAt: string | null
  /** Its input names outputs of other jobs of its flow, which have to be put in. */
  hasReferences: boolean | null
  /** It was asked to stop during its last attempt and has not ended since: it must not start again. */
  isCancelled: boolean
  cancelReason: string | null
}

export interface Claimant {
  worker: string
  /** New for every claim, and never used again. */
  lease: string
  queue: string
  /** The kinds that this worker handles: JSON of kind → newest contract version it knows. */
  kinds: string
  limit: number
}

/** Jobs without a key, of one priority, from the floor on, in order. */
export async function claim(
  db: Queryable,
  { floor, ...request }: Claimant & { priority: number; floor: Position },
): Promise<ClaimedJob[]> {
  return inOrder(await run(db, claimSql, { ...request, ...floorParams(floor) }, held(request)))
}

/** A key and a priority of it, and how many jobs to take from its floor on. */
export interface Lane {
  readonly key: string
  readonly priority: number
  readonly floor: Position
  readonly take: number
}

/** Jobs with keys, some of each lane, those of a lane in order. */
export async function claimLanes(
  db: Queryable,
  { lanes, ...request }: Omit<Claimant, 'limit'> & { lanes: readonly Lane[] },
): Promise<ClaimedJob[]> {
  const takes = lanes.map(({ take }) => take)
  return inOrder(await run(db, claimLanesSql, { ...request, ...laneParams(lanes), takes }, held(request)))
}

/** A lane of a limited queue; without a key, it is a priority of jobs without one. */
export interface LimitedLane extends Omit<Lane, 'key'> {
  readonly key: string | null
  /** Its jobs start in order: only the first live one may. */
  readonly isOrdered: boolean
}

/** What kept a limited claim from taking more. */
export interface Closed {
  /** Keys whose limit is reached. */
  keys: ReadonlySet<string>
  /** Another limit or a rate kept jobs back. */
  isFull: boolean
  /** Keys of which a job was kept back that comes before one that was taken; '' for jobs without a key. */
  gaps: ReadonlySet<string>
  /** When tokens come; undefined where none are missing. */
  waitMs: number | undefined
  /** A limit that is reached does more than let jobs wait. */
  hasPolicy: boolean
  /** Nothing but a lack of tokens kept jobs back. */
  isOnlyRate: boolean
  /** Keys whose own buckets lack tokens, and for how many milliseconds. */
  dry: ReadonlyMap<string, number>
}

type LimitedRequest = Claimant & { lanes: readonly LimitedLane[] }

/** Jobs of a limited queue, as far as its limits and rates allow, those of a lane in order. */
export async function claimLimited(
  db: Queryable,
  { lanes, ...request }: LimitedRequest,
): Promise<{ jobs: ClaimedJob[]; closed: Closed }> {
  type Row = ClaimedRow & { note: ClosedRow | null; createdAt: string | null }
  const toJob = held(request)
  let note: ClosedRow = {}
  const rows = await run(db, claimLimitedSql, { ...request, ...limitedParams(lanes) }, (row: Row) => {
    if (row.note !== null) note = row.note
    else if (row.createdAt !== null) row.runAt = row.createdAt
    return row
  })
  const jobs = rows.filter((row) => row.note === null).map(toJob)
  return { jobs: inOrder(jobs), closed: toClosed(note) }
}

interface ClosedRow {
  closed?: string[]
  gaps?: string[]
  isFull?: boolean
  hasPolicy?: boolean
  waitMs?: number
  isOnlyRate?: boolean
  dry?: Record<string, number>
}

/** Members that do not apply are left out of the row. */
export function toClosed({ closed = [], gaps = [], dry = {}, ...rest }: ClosedRow): Closed {
  const { isFull = false, hasPolicy = false, isOnlyRate = false, waitMs } = rest
  return {
    keys: new Set(closed),
    gaps: new Set(gaps),
    dry: new Map(Object.entries(dry)),
    isFull,
    hasPolicy,
    isOnlyRate,
    waitMs,
  }
}

/** The ids that a limited claim would take; it holds them for the rest of the transaction. */
export async function pickLimited(
  tx: Queryable,
  { lanes, queue, kinds, limit }: LimitedRequest,
): Promise<string[]> {
  const request = { queue, kinds, limit, ...limitedParams(lanes) }
  const [picked] = await run(tx, pickLimitedSql, request, (row: { picked: string[] | null }) => row.picked)
  return picked ?? []
}

function limitedParams(lanes: readonly LimitedLane[]) {
  return {
    ...laneParams(lanes),
    takes: lanes.map(({ take }) => take),
    ordered: lanes.map(({ isOrdered }) => isOrdered),
  }
}

/** A sort in the statement, with the CTE that it needs, would cost more. */
function inOrder(jobs: ClaimedJob[]): ClaimedJob[] {
  return jobs.sort((a, b) => (isBefore(a, b) ? -1 : 1))
}

/** Lanes as the statements take them. */
export function laneParams<Key extends string | null>(
  lanes: readonly { key: Key; priority: number; floor: Position }[],
): {
  keys: Key[]
  priorities: number[]
  floorAts: string[]
  floorIds: string[]
} {
  const floors = lanes.map(({ floor }) => floorParams(floor))
  return {
    keys: lanes.map(({ key }) => key),
    priorities: lanes.map(({ priority }) => priority),
    floorAts: floors.map(({ floorAt }) => floorAt),
    floorIds: floors.map(({ floorId }) => floorId),
  }
}

type Listing = Pick<Claimant, 'queue' | 'kinds' | 'limit'> & { parked: readonly string[] }

/** Jobs that `claim` would take, without taking them: used after it has failed. */
export function claimable(
  db: Queryable,
  { floor, ...request }: Listing & { priority: number; floor: Position },
): Promise<Position[]> {
  return run(db, claimableSql, { ...request, ...floorParams(floor) }, (row: Position) => row)
}

/** Jobs that `claimLanes` would take, without taking them: used after it has failed. */
export function claimableKeyed(db: Queryable, request: Listing): Promise<{ id: string }[]> {
  return run(db, claimableKeyedSql, request, (row: { id: string }) => row)
}

/** The first jobs of some kinds, at most `limit` with a key and as many without: the probes of a breaker. */
export function probeCandidates(db: Queryable, request: Listing): Promise<ProbeCandidate[]> {
  return run(db, probeCandidatesSql, request, (row: ProbeCandidate) => row)
}

export interface ProbeCandidate {
  id: string
  key: string | null
  priority: number
}

/** Takes these jobs, of any priority and key. */
export function claimThese(
  db: Queryable,
  request: Omit<Claimant, 'limit'> & {
    ids: readonly string[]
    /** They were picked under the limits of their queue, in this transaction. */
    isPicked: boolean
  },
): Promise<ClaimedJob[]> {
  return run(db, claimTheseSql, request, held(request))
}

/** A job that was put aside because its row cannot be claimed. */
export type PutAside = Pick<
  ClaimedJob,
  'id' | 'kind' | 'queue' | 'key' | 'attempt' | 'maxAttempts' | 'epoch'
> & { correlationId: string; error: StoredError; fingerprint: string }

/** Makes a dead letter of a job that cannot be claimed; undefined if the job is gone. */
export async function putAside(
  db: Queryable,
  request: { id: string; why: string },
): Promise<PutAside | undefined> {
  const [gone] = await run(db, putAsideSql, request, (row: PutAside) => row)
  return gone
}

type ClaimedRow = { -readonly [Name in keyof ClaimedJob]: ClaimedJob[Name] }

/** Completes the row object itself: at tens of thousands of jobs a second the cost of a copy would show. */
function held({ queue, lease }: Pick<Claimant, 'queue' | 'lease'>) {
  return (row: ClaimedRow): ClaimedJob => {
    row.queue = queue
    row.leaseId = lease
    // claim.sql takes only jobs without a key, and does not return the column.
    row.key ??= null
    return row
  }
}
