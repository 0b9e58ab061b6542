import { setTimeout as pause } from 'node:timers/promises'
import { patienceMs } from './patience.ts'

/** Repeats a check until it passes: for changes by another process that no line of the ledger reports. */
export async function eventually(check: () => Promise<void>): Promise<void> {
  const giveUpAt = performance.now() + patienceMs
  const wait = growingWait()
  for (;;) {
    try {
      await check()
      return
    } catch (error) {
      if (performance.now() > giveUpAt) throw error
    }
    await wait()
  }
}

/** Pauses between two checks: 10 ms at first, later 50 ms, so that a long wait does not keep a core busy. */
export function growingWait(): () => Promise<void> {
  let waitMs = 10
  return async () => {
    await pause(waitMs)
    waitMs = Math.min(1.5 * waitMs, 50)
  }
}
