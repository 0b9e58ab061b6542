import { passedBy, reachedShare, retryAfterMs, shedShare } from './fullness.ts'
import type { QueuePressure } from './read-pressure.ts'

/**
 * `open`: an enqueue is stored. `warn`: a maximum is reached, and `whenFull` is 'warn'; or it is 'shed', and enqueues of the
 * lowest priority are refused. `full`: a maximum is reached, and enqueues are refused. `closed`: the queue drains.
 */
export type PressureState = 'open' | 'warn' | 'full' | 'closed'

/** How full a queue, or one key of it, is. */
export interface PressureReport {
  queue: string
  key: string | null
  state: PressureState
  /** Jobs that wait: ready, scheduled, retrying and waiting ones. Null: not known. */
  depth: number | null
  maxDepth: number | null
  /** The age of the oldest ready job of the queue. */
  oldestMs: number | null
  maxAgeMs: number | null
  /** What happens when it is full; null: it has no rule. */
  whenFull: 'reject' | 'shed' | 'warn' | null
  /** The stored rule cannot be read, and is ignored. */
  isBroken: boolean
  /** `depth` is an estimate: there are more jobs than are counted. */
  isEstimate: boolean
  /** When to try again; null unless enqueues are refused. */
  retryAfterMs: number | null
  /** The share of the maximum that is reached, the largest of depth and age; null without a maximum. */
  share: number | null
  closedAt: Date | null
  closeReason: string | null
  /** Jobs that producers were refused, in all. */
  refused: number
  /** When the jobs were counted; null: never. */
  asOf: Date | null
}

/** What `stint.pressure()` answers. */
export function reportOf(pressure: QueuePressure, key: string | null = null): PressureReport {
  const { queue, rule, count, isBroken, takesJobs, closedAt, closeReason, refused } = pressure
  const keyDepth = key === null || count === undefined ? undefined : (count.keys.get(key) ?? 0)
  const isOfKey = key !== null && (rule?.keyMaxDepth ?? null) !== null
  const state = stateOf(pressure, keyDepth)
  return {
    queue,
    key,
    state,
    depth: (isOfKey ? keyDepth : count?.depth) ?? null,
    maxDepth: (isOfKey ? rule?.keyMaxDepth : rule?.maxDepth) ?? null,
    oldestMs: count?.oldestMs ?? null,
    maxAgeMs: rule?.maxAgeMs ?? null,
    whenFull: rule?.whenFull ?? null,
    isBroken,
    isEstimate: count?.isEstimate ?? false,
    retryAfterMs: state === 'full' ? retryAfterMs() : null,
    share: rule === null || count === undefined ? null : reachedShare(rule, count),
    closedAt,
    closeReason: takesJobs ? null : closeReason,
    refused,
    asOf: count?.countedAt ?? null,
  }
}

function stateOf({ takesJobs, rule, count }: QueuePressure, keyDepth: number | undefined): PressureState {
  if (!takesJobs) return 'closed'
  if (rule === null || count === undefined) return 'open'
  const level = { ...count, keyDepth }
  if (passedBy(rule, level, { jobs: 1, share: 1 }) !== undefined)
    return rule.whenFull === 'warn' ? 'warn' : 'full'
  const isShedding =
    rule.whenFull === 'shed' && passedBy(rule, level, { jobs: 1, share: shedShare(-100) }) !== undefined
  return isShedding ? 'warn' : 'open'
}
