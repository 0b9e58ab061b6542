/** How far a clock is ahead of the database's; negative if it is behind. */
export interface ClockSkew {
  aheadMs: number
  /** The error of that: half the round trip, because the database read its clock at some moment within it. */
  errorMs: number
}

/** Compares the clock of this process with the time, in ms since 1970, that the database returns, if it returns one. */
export async function measureSkew(ask: () => Promise<number | undefined>): Promise<ClockSkew | undefined> {
  const sentAt = Date.now()
  const steadyAt = performance.now()
  const now = await ask()
  // The longer of the two: the steady clock stops while a machine sleeps, and the wall clock may be set back.
  const errorMs = Math.max(performance.now() - steadyAt, Date.now() - sentAt) / 2
  return now === undefined ? undefined : { aheadMs: sentAt + errorMs - now, errorMs }
}

/** The least difference of the clocks that is certain. */
export function surelyOffMs({ aheadMs, errorMs }: ClockSkew): number {
  return Math.max(0, Math.abs(aheadMs) - errorMs)
}
