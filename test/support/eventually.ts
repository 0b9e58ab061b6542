import { setTimeout as pause } from 'node:timers/promises'
import { patienceMs } from './patience.ts'

/** Repeats a check until it passes: for what another process does, and no line of the ledger tells. */
export async function eventually(check: () => Promise<void>): Promise<void> {
  const giveUpAt = performance.now() + patienceMs
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
