import { numbersIn } from '../../core/json/stored-json.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import type { Pressure } from '../rules/define-queue.ts'
import { drainSql } from './drain.sql.ts'
import { noteRefusedSql } from './note-refused.sql.ts'
import { openSql } from './open.sql.ts'
import { pressureOfSql } from './pressure-of.sql.ts'

/** How full a queue was when it was last counted. */
export interface Count {
  /** Jobs that wait: ready, scheduled, retrying and waiting ones. */
  readonly depth: number
  readonly isEstimate: boolean
  /** The age of the oldest ready job. */
  readonly oldestMs: number | null
  /** By key, the 1,000 deepest; empty unless the rule has a maximum for each key. */
  readonly keys: ReadonlyMap<string, number>
  readonly countedAt: Date
  /** How long ago, by the database's clock. */
  readonly agoMs: number
}

/** What holds for enqueues into a queue. */
export interface QueuePressure {
  readonly queue: string
  /** False: it drains, and enqueues are refused. */
  readonly takesJobs: boolean
  readonly closedAt: Date | null
  readonly closeReason: string | null
  /** Null: it has none, or a broken one. */
  readonly rule: Pressure | null
  /** The stored rule cannot be read; it refuses nothing. */
  readonly isBroken: boolean
  /** Undefined for a queue that was not asked for, and for one that was never counted. */
  readonly count: Count | undefined
  /** Jobs that were refused, since the queue has a rule. */
  readonly refused: number
}

interface Row {
  queue: string
  takesJobs: boolean
  closedAt: Date | null
  closeReason: string | null
  maxDepth: number | null
  maxAgeMs: number | null
  keyMaxDepth: number | null
  whenFull: Pressure['whenFull'] | null
  isBroken: boolean
  depth: number | null
  isEstimate: boolean | null
  oldestMs: number | null
  keys: unknown
  countedAt: Date | null
  countedAgoMs: number | null
  refused: number
}

/** Every queue that has a rule or is closed, and how full the asked ones are: at most 2 s old. */
export function readPressure(db: Queryable, queues: readonly string[]): Promise<QueuePressure[]> {
  return run(db, pressureOfSql, { queues }, toPressure)
}

function toPressure(row: Row): QueuePressure {
  const { queue, takesJobs, closedAt, closeReason, isBroken, refused } = row
  const { maxDepth, maxAgeMs, keyMaxDepth, whenFull } = row
  return {
    queue,
    takesJobs,
    closedAt,
    closeReason,
    rule: whenFull === null ? null : { maxDepth, maxAgeMs, keyMaxDepth, whenFull },
    isBroken,
    count: toCount(row),
    refused,
  }
}

function toCount({ depth, isEstimate, oldestMs, keys, countedAt, countedAgoMs }: Row): Count | undefined {
  if (depth === null || countedAt === null) return undefined
  return {
    depth,
    isEstimate: isEstimate === true,
    oldestMs: oldestMs === null ? null : Math.max(0, oldestMs),
    keys: new Map(Object.entries(numbersIn(keys))),
    countedAt,
    agoMs: Math.max(0, countedAgoMs ?? 0),
  }
}

/** Adds to the totals of refused jobs. */
export async function noteRefused(db: Queryable, refused: ReadonlyMap<string, number>): Promise<void> {
  await run(db, noteRefusedSql, { refused: JSON.stringify(Object.fromEntries(refused)) }, () => undefined)
}

/** Closes a queue for enqueues. */
export async function closeQueue(db: Queryable, name: string, reason: string | null): Promise<void> {
  await run(db, drainSql, { name, reason }, () => undefined)
}

/** Lets a closed queue take jobs again. */
export async function openQueue(db: Queryable, name: string): Promise<void> {
  await run(db, openSql, { name }, () => undefined)
}
