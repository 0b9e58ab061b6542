/** The longest deadline of one statement. */
export const longestDeadlineMs = 10_000

/** The deadline of one statement: several fit into a lease. */
export function deadlineMsOf(leaseMs: number): number {
  return Math.max(500, Math.min(longestDeadlineMs, leaseMs / 3))
}
