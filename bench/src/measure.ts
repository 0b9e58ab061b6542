// The measuring process: one order in, one answer out. Each measurement gets a process of its own, so that no
// system inherits another's heap, compiled code or timers, and so that one that hangs can be killed.
import { measureBulk } from './measures/bulk.ts'
import { measureCallers } from './measures/callers.ts'
import { fill } from './measures/fill.ts'
import type { Answer, Order, Sample } from './measures/order.ts'
import { measureTransactions } from './measures/transactions.ts'
import { systemNamed } from './systems/all.ts'
import type { Session } from './systems/system.ts'

process.once('message', (order: Order) => void answer(order))
// The parent is gone, and with it whoever wanted to know.
process.once('disconnect', () => process.exit(1))

async function answer(order: Order): Promise<void> {
  const reply = await carryOut(order).then(
    (sample): Answer => ({ type: 'sample', sample }),
    (error: unknown): Answer => ({
      type: 'error',
      message: error instanceof Error ? error.message : String(error),
    }),
  )
  // Not waiting for what a library may have left open: nothing here is worth another second.
  process.send?.(reply, undefined, undefined, () => process.exit(0))
}

async function carryOut(order: Order): Promise<Sample> {
  const session = await systemNamed(order.system).setup(order.url, order.tuning)
  try {
    return await measure(session, order)
  } finally {
    await session.teardown()
  }
}

function measure(session: Session, { measure: asked, tuning, url }: Order): Promise<Sample> {
  switch (asked.type) {
    case 'callers':
      return measureCallers(session, asked)
    case 'bulk':
      return measureBulk(session, asked, tuning)
    case 'transactions':
      return measureTransactions(session, asked, url)
    case 'fill':
      return fill(session, asked, url)
    default:
      return asked satisfies never
  }
}
