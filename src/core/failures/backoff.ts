import { durationMs } from '../duration.ts'
import type { Duration } from '../duration.ts'
import { longestMs } from '../options.ts'

/**
 * How long to wait before each retry: one duration per retry (the last repeats), a growing one (`factor` is 2 and
 * `max` a day unless you say otherwise), or your own rule, which gets the number of failures so far.
 */
export type Backoff = readonly Duration[] | GrowingBackoff | ((failures: number, error: unknown) => Duration)

interface GrowingBackoff {
  base: Duration
  factor?: number | undefined
  max?: Duration | undefined
}

export const defaultBackoff: readonly Duration[] = Object.freeze(['30s', '5m', '30m', '2h'])

const dayMs = 86_400_000

/**
 * Milliseconds until the next try, after `failures` failures, the last one included.
 *
 * A list is read by people, so its jitter is a quarter to either side: enough to separate jobs that failed together,
 * and '5m' still means about five minutes. A growing backoff is for many failures at once, so it has full jitter:
 * anything from zero to its value, which spreads a retry storm best. The result of your own rule has no jitter.
 */
export function retryDelayMs(
  backoff: Backoff,
  failures: number,
  error: unknown,
  random: () => number,
): number {
  const ms =
    typeof backoff === 'function'
      ? ownRuleMs(backoff, failures, error)
      : isList(backoff)
        ? listMs(backoff, failures, random)
        : growingMs(backoff, failures, random)
  return Math.round(Math.min(ms ?? listMs(defaultBackoff, failures, random) ?? 0, longestMs))
}

/** Array.isArray does not narrow a readonly array out of a union. */
export function isList(backoff: readonly Duration[] | GrowingBackoff): backoff is readonly Duration[] {
  return Array.isArray(backoff)
}

function listMs(list: readonly Duration[], failures: number, random: () => number): number | undefined {
  const ms = durationMs(list[Math.min(Math.max(failures, 1), list.length) - 1])
  return ms === undefined ? undefined : ms * (0.75 + 0.5 * random())
}

function growingMs(
  { base, factor = 2, max }: GrowingBackoff,
  failures: number,
  random: () => number,
): number | undefined {
  const baseMs = durationMs(base)
  if (baseMs === undefined) return undefined
  const maxMs = durationMs(max) ?? Math.max(baseMs, dayMs)
  // The growth stays finite, because a base of 0 times Infinity is NaN.
  const growth = Math.min(factor ** (Math.max(failures, 1) - 1), Number.MAX_VALUE)
  return random() * Math.min(baseMs * growth, maxMs)
}

/** Undefined if the rule throws or returns no duration: a mistake in a backoff must not leave its job stuck. */
function ownRuleMs(
  rule: (failures: number, error: unknown) => Duration,
  failures: number,
  error: unknown,
): number | undefined {
  try {
    return durationMs(rule(failures, error))
  } catch {
    return undefined
  }
}
