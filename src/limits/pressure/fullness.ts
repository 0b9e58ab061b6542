import type { Pressure } from '../rules/define-queue.ts'

/** What is known of a queue, or of one key of it, when an enqueue is decided. */
export interface Level {
  /** Jobs that wait, with those that this process stored since the count. */
  readonly depth: number
  readonly oldestMs: number | null
  /** Jobs of the key that wait; undefined without a key. */
  readonly keyDepth?: number | undefined
}

/** The maximum that an enqueue would pass. */
export interface Passed {
  readonly by: 'depth' | 'age' | 'key'
  readonly value: number
  readonly max: number
}

/**
 * The part of a maximum that jobs of a priority may fill where `whenFull` is 'shed': half at -100, three quarters at 0, all
 * at 100. The root spreads the small priorities that people use: 1 has 2.5 % of the maximum more than 0. As
 * stint.shed_share().
 */
export function shedShare(priority: number): number {
  return 0.75 + 0.25 * Math.sign(priority) * Math.sqrt(Math.min(100, Math.abs(priority)) / 100)
}

/** The maximum that so many more jobs would pass, the lowest of them of this priority; undefined if they fit. */
export function passedBy(
  rule: Pressure,
  level: Level,
  { jobs, keyJobs = jobs, share }: { jobs: number; keyJobs?: number; share: number },
): Passed | undefined {
  const { maxDepth, maxAgeMs, keyMaxDepth } = rule
  const { depth, oldestMs, keyDepth } = level
  if (maxDepth !== null && depth + jobs > Math.ceil(maxDepth * share))
    return { by: 'depth', value: depth, max: maxDepth }
  if (maxAgeMs !== null && oldestMs !== null && oldestMs > maxAgeMs * share)
    return { by: 'age', value: oldestMs, max: maxAgeMs }
  if (keyMaxDepth !== null && keyDepth !== undefined && keyDepth + keyJobs > Math.ceil(keyMaxDepth * share))
    return { by: 'key', value: keyDepth, max: keyMaxDepth }
  return undefined
}

/** The share of its maximum that a queue has reached, the largest of depth and age; null without such a maximum. */
export function reachedShare({ maxDepth, maxAgeMs }: Pressure, { depth, oldestMs }: Level): number | null {
  const shares = [
    ...(maxDepth === null ? [] : [depth / maxDepth]),
    ...(maxAgeMs === null ? [] : [(oldestMs ?? 0) / maxAgeMs]),
  ]
  return shares.length === 0 ? null : Math.max(...shares)
}

/** The next count comes within 2 s. The random part spreads callers that were refused at once. */
export function retryAfterMs(): number {
  return 2_000 + Math.round(Math.random() * 2_000)
}
