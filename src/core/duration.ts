/** A span of time: `'500ms'`, `'30s'`, `'5m'`, `'2h'`, `'7d'`, or a number of milliseconds. */
export type Duration = number | string

export const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const
/** The longest delay of a Node timer; one with a longer delay fires at once. */
export const longestTimerMs = 2 ** 31 - 1

const pattern = /^(\d{1,15}(?:\.\d{1,6})?)(ms|s|m|h|d|w)$/

/** Milliseconds, or undefined if the value is no duration, so that the caller can throw its own error. */
export function durationMs(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined
  if (typeof value !== 'string') return undefined
  const [, amount, unit] = pattern.exec(value) ?? []
  if (amount === undefined || unit === undefined) return undefined
  return Number(amount) * unitMs[unit as keyof typeof unitMs]
}
