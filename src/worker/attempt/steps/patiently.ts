import { setTimeout as pause } from 'node:timers/promises'
import { classify } from '../../../db/classify.ts'
import { rejected } from '../../../db/rejected.ts'
import { ownTrouble } from '../fenced-tx.ts'

/**
 * Sends again what may be repeated, while the database does not answer: for the time of a lease. Then its attempt ends, and that
 * counts as no failure of the handler.
 */
export async function patiently<Result>(
  send: (isRepeat: boolean) => Promise<Result>,
  { schema, forMs }: { schema: string; forMs: number },
): Promise<Result> {
  const giveUpAt = performance.now() + forMs
  for (let tries = 1; ; tries++) {
    try {
      return await send(tries > 1)
    } catch (error) {
      const trouble = classify(error)
      const mayPass = trouble === 'unknown' || trouble === 'wait' || trouble === 'again'
      if (!mayPass) throw rejected(error, schema)
      if (performance.now() > giveUpAt) throw ownTrouble(error)
      await pause(Math.random() * Math.min(1_000, 20 * 2 ** tries))
    }
  }
}
