import { setTimeout as pause } from 'node:timers/promises'

/**
 * How long to wait before the next try, after `failures` failures in a row: a limit that grows up to half a minute, and
 * a random time below it, so that many processes do not come back at once.
 */
export function waitAfterMs(failures: number): number {
  return Math.random() * Math.min(30_000, 200 * 2 ** Math.min(failures, 8))
}

/** Waits for the promise, but no longer than this. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  await Promise.race([work, pause(ms, undefined, { ref: false })])
}
