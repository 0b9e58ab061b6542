// The measuring process: one order in, one answer out. Each measurement gets a process of its own, so that no
// system inherits another's heap, compiled code or timers, and so that one that hangs can be killed.
import { measureBulk } from './measures/bulk.ts'
import { measureCallers } from './measures/callers.ts'
import { measureDrainPart } from './measures/drain-part.ts'
import { measureDrain } from './measures/drain.ts'
import { fill } from './measures/fill.ts'
import { measureFires } from './measures/fires.ts'
import { measureIdle } from './measures/idle.ts'
import { measureLatency } from './measures/latency.ts'
import type { Answer, Measure, Order, Sample } from './measures/order.ts'
import { measureSteady } from './measures/steady.ts'
import { measureTokens } from './measures/tokens.ts'
import { measureTransactions } from './measures/transactions.ts'
import { systemNamed } from './systems/all.ts'
import type { Session, Tuning } from './systems/system.ts'

process.once('message', (order: Order) => void answer(order))
// The parent is gone, so no process reads the answer.
process.once('disconnect', () => process.exit(1))

async function answer(order: Order): Promise<void> {
  const reply = await carryOut(order).then(
    (sample): Answer => ({ type: 'sample', sample }),
    (error: unknown): Answer => ({
      type: 'error',
      message: error instanceof Error ? error.message : String(error),
    }),
  )
  // Does not wait for handles that a library left open: nothing here is worth another second.
  process.send?.(reply, undefined, undefined, () => process.exit(0))
}

async function carryOut(order: Order): Promise<Sample> {
  const { measure: asked } = order
  const session = await systemNamed(order.system).setup(order.url, { ...producing(asked), ...order.tuning })
  if (asked.type === 'idle') {
    if (asked.paused !== undefined) {
      await fill(session, { type: 'fill', table: 'stint.job', rows: asked.paused }, order)
      await session.pause?.()
    }
    // The store is ready; from here on only the worker may be connected.
    await session.teardown()
    return measureIdle(asked, order)
  }
  try {
    return await measure(session, asked, order)
  } finally {
    await session.teardown()
  }
}

/** Where a worker is measured, the producer gets enough connections not to slow it down. */
function producing({ type }: Measure): Tuning {
  const isAboutEnqueueing = type === 'callers' || type === 'bulk' || type === 'transactions'
  return isAboutEnqueueing ? {} : { connections: 10, viaSql: true }
}

function measure(session: Session, asked: Exclude<Measure, { type: 'idle' }>, order: Order): Promise<Sample> {
  switch (asked.type) {
    case 'callers':
      return measureCallers(session, asked)
    case 'bulk':
      return measureBulk(session, asked, order.tuning)
    case 'transactions':
      return measureTransactions(session, asked, order.url)
    case 'fill':
      return fill(session, asked, order)
    case 'drain':
      return measureDrain(session, asked, order)
    case 'drain-part':
      return measureDrainPart(session, asked, order)
    case 'latency':
      return measureLatency(session, asked, order)
    case 'steady':
      return measureSteady(session, asked, order)
    case 'fires':
      return measureFires(session, asked, order)
    case 'tokens':
      return measureTokens(session, asked, order)
    default:
      return asked satisfies never
  }
}
