import type { Duration } from '../core/duration.ts'
import { durationOption, invalidOption } from '../core/options.ts'
import { instant } from '../schedules/rules/rule.ts'

/** When a change ends by itself. */
export interface EndOptions {
  /** A time in the future. */
  until?: Date | string | undefined
  /** How long it lasts, instead of `until`. */
  for?: Duration | undefined
}

/** A moment in ISO 8601, or a time from now on, which the database's clock measures. */
export type End = { until: string } | { forMs: number }

/** Undefined if the options name no end. */
export function endOption(
  { until, for: span }: EndOptions,
  range: { minMs: number; maxMs?: number } = { minMs: 1 },
): End | undefined {
  if (until !== undefined && span !== undefined)
    throw invalidOption('until', 'left out if `for` is given', until)
  if (span !== undefined) return { forMs: durationOption('for', span, range) }
  if (until === undefined) return undefined
  const atMs = instant('until', until)
  if (atMs <= Date.now()) throw invalidOption('until', 'in the future', until)
  return { until: new Date(atMs).toISOString() }
}

export function endAt(end: End, nowMs: number): Date {
  return new Date('until' in end ? end.until : nowMs + end.forMs)
}
