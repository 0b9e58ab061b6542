import { setTimeout as pause } from 'node:timers/promises'

/** It only says when to stop hoping; shorter than a test's own time, so that the error says what did not come. */
const longestMs = 50_000

/** Repeats a check until it passes: for what another process does, and no line of the ledger tells. */
export async function eventually(check: () => Promise<void>): Promise<void> {
  const giveUpAt = performance.now() + longestMs
  for (;;) {
    try {
      await check()
      return
    } catch (error) {
      if (performance.now() > giveUpAt) throw error
    }
    await pause(20)
  }
}
