// A process that takes tokens: told which bucket, it answers when it is connected; told to start, it takes for so long and
// answers when it got each token. measures/tokens.ts starts several.
import { now } from './clock.ts'
import type { TakeOrder, Takings } from './measures/tokens.ts'
import { systemNamed } from './systems/all.ts'

process.once('disconnect', () => process.exit(1))
process.once('message', (order: TakeOrder) => void carryOut(order))

async function carryOut({ system, url, name, callers, durationMs }: TakeOrder): Promise<void> {
  try {
    const session = await systemNamed(system).setup(url, {})
    const take = session.takeToken?.bind(session)
    if (take === undefined) throw new Error('this system has no token buckets')
    process.once('message', () => {
      const takings: Takings = { startedAt: now(), endedAt: 0, grantedAt: [] }
      const endsAt = takings.startedAt + durationMs
      const caller = async (): Promise<void> => {
        while (now() < endsAt) {
          await take(name)
          takings.grantedAt.push(now())
        }
      }
      Promise.all(Array.from({ length: callers }, caller)).then(
        () => process.send?.({ ...takings, endedAt: endsAt }),
        (error: unknown) => process.send?.({ error: String(error) }),
      )
    })
    process.send?.('ready')
  } catch (error) {
    console.error(error)
    process.exit(1)
  }
}
