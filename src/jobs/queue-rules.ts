import { peek } from '../core/failures/thrown.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { queueRulesSql } from './queue-rules.sql.ts'

/** The rules of flow control that hold for a queue, as its workers must know them: see stint.queue_rules(). */
export interface QueueRules {
  /** Its jobs are claimed under limits or rates. */
  readonly isLimited: boolean
  /** How long it stays paused; Infinity: until it is resumed; 0: it is not. */
  readonly pausedForMs: number
  readonly pausedKinds: readonly string[]
  readonly pausedKeys: readonly string[]
  /** When the next of these pauses ends; Infinity if none ends by itself. */
  readonly pauseEndsInMs: number
  /** Weights that people gave to keys of it, up to 1,000. */
  readonly keyWeights: Readonly<Record<string, number>>
  /** The breakers of its kinds that are not closed. */
  readonly breakers: readonly OpenBreaker[]
  readonly retryBudget: RetryBudget | undefined
  /** In each worker, instead of that in its code. */
  readonly concurrency: number | undefined
}

/** How many retries of a queue may come: see defineQueue(). */
export interface RetryBudget {
  readonly share: number
  readonly least: number
  readonly windowMs: number
}

export interface OpenBreaker {
  readonly name: string
  readonly kinds: readonly string[]
  readonly state: 'open' | 'half-open'
  /** The classes of failures that it counts. */
  readonly counts: readonly unknown[]
  /** The worker that probes it. */
  readonly probeBy: string | null
  readonly isForced: boolean
  /** When it may be probed. */
  readonly probeInMs: number
}

/** A queue without any rule. */
export const noRules: QueueRules = Object.freeze({
  isLimited: false,
  pausedForMs: 0,
  pausedKinds: [],
  pausedKeys: [],
  pauseEndsInMs: Infinity,
  keyWeights: {},
  breakers: [],
  retryBudget: undefined,
  concurrency: undefined,
})

/** As stint.queue_rules() returns it. What code or people stored as JSON is checked here. */
export type QueueRulesRow = Partial<Omit<QueueRules, 'retryBudget' | 'concurrency'>> & {
  retryBudget?: unknown
  concurrency?: unknown
}

/** Members that do not apply are left out of the row. */
export function toQueueRules(row: QueueRulesRow): QueueRules {
  const { isLimited = false, pausedForMs = 0, pausedKinds = [], pausedKeys = [] } = row
  const { pauseEndsInMs = Infinity, keyWeights = {}, breakers = [] } = row
  return {
    isLimited,
    // As the function says "until someone ends it".
    pausedForMs: pausedForMs === -1 ? Infinity : pausedForMs,
    pausedKinds,
    pausedKeys,
    pauseEndsInMs,
    keyWeights,
    breakers: breakers.map((breaker) => ({
      ...breaker,
      kinds: (breaker.kinds as readonly string[] | null) ?? [],
      counts: (breaker.counts as readonly unknown[] | null) ?? [],
      probeBy: breaker.probeBy ?? null,
      probeInMs: (breaker.probeInMs as number | null) ?? 0,
    })),
    retryBudget: toRetryBudget(row.retryBudget),
    concurrency:
      isBetween(row.concurrency, 1, 10_000) && Number.isInteger(row.concurrency)
        ? row.concurrency
        : undefined,
  }
}

/** Undefined where the row was written by hand and has something else in it: then retries come at their own times. */
function toRetryBudget(stored: unknown): RetryBudget | undefined {
  const [share, least, windowMs] = [peek(stored, 'share'), peek(stored, 'least'), peek(stored, 'windowMs')]
  if (!isBetween(share, 0, 1) || !isBetween(least, 1, 1_000_000) || !isBetween(windowMs, 1_000, 3_600_000))
    return undefined
  return { share, least, windowMs }
}

function isBetween(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && value >= min && value <= max
}

/** The rules of those queues that have any. A survey reads them too: this is for times when a survey would cost too much. */
export async function queueRules(
  db: Queryable,
  request: { queues: readonly string[] },
): Promise<Map<string, QueueRules>> {
  type Row = { queue: string; rules: QueueRulesRow }
  const rows = await run(
    db,
    queueRulesSql,
    request,
    (row: Row) => [row.queue, toQueueRules(row.rules)] as const,
  )
  return new Map(rows)
}
