import { setTimeout as pause } from 'node:timers/promises'

/** Waits until the test passes, for a limited time; `hurry` ends the wait. */
export async function until(
  test: () => boolean,
  { ms, hurry }: { ms: number; hurry?: AbortSignal | undefined },
): Promise<void> {
  const endAt = performance.now() + ms
  while (!test() && hurry?.aborted !== true && performance.now() < endAt) await pause(10)
}
