import { setTimeout as pause } from 'node:timers/promises'

/**
 * How long to wait after so many failures in a row before the database is tried again: longer each time up to half a
 * minute, and anywhere below that, so that a fleet does not come back together.
 */
export function waitAfterMs(failures: number): number {
  return Math.random() * Math.min(30_000, 200 * 2 ** Math.min(failures, 8))
}

/** Waits for it, but no longer than this. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  await Promise.race([work, pause(ms, undefined, { ref: false })])
}
