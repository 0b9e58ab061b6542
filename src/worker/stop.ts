import { atMost } from '../db/wait.ts'
import type { Parts } from './assembly.ts'
import { longestDeadlineMs } from './statement-deadline.ts'
import { until } from './until.ts'

export interface StopOptions {
  /** How long running jobs may go on. */
  drainMs: number
  /** Ends the drain. */
  hurry: AbortSignal
  leaseMs: number
  /** As if the process was killed: handlers are not told to end, and nothing is given back. Others have its jobs already. */
  isCut?: boolean | undefined
}

/**
 * How long a stop waits for the last notes and numbers to be written, and for connections to close: they are not worth
 * more.
 */
const lastWritesMs = 5_000
/** How long handlers have to end once they are told that the worker stops. */
const abortedMs = 1_000

/**
 * Stops claiming at once, gives back jobs that have not started, lets running ones go on for the drain, then aborts
 * those and gives them back too. Heartbeats go on to the end.
 *
 * Every wait has a limit: a part that hangs may be the very reason to stop.
 */
export async function stop(
  parts: Parts,
  { drainMs, hurry, leaseMs, isCut = false }: StopOptions,
): Promise<void> {
  const { tenure, dispatcher, children, pools, db } = parts
  tenure.close()
  parts.watchdog.stop()
  parts.scheduler.close()
  parts.recycling.stop()
  // Another worker can lead from now on, however long it takes to drain.
  const handedOver = parts.upkeep?.stop()
  await parts.claiming.stop()
  const answered = until(() => !pools.isAnyClaiming, { ms: longestDeadlineMs })
  await atMost(longestDeadlineMs, Promise.all([...parts.beside.map((part) => part.stop?.()), answered]))
  parts.listening.close()
  if (!isCut) dispatcher.releaseAll('the worker stopped before it was started')
  children.releaseWaiting()
  await until(() => dispatcher.running === 0, { ms: drainMs, hurry })
  if (!isCut) await endRunning(parts)
  const childrenEnded = children.close()
  // An unreachable database must not keep the process alive for ever: after a lease others take over anyway.
  await atMost(leaseMs, parts.settler.stop())
  await atMost(lastWritesMs, parts.notes.stop())
  await atMost(lastWritesMs, Promise.all([parts.numbers.stop(), parts.rates.close(), parts.breakers.stop()]))
  await childrenEnded
  parts.deadlines.stop()
  await tenure.stop().catch((error: unknown) => {
    parts.troubles.of('retire', error)
  })
  await handedOver
  const isClosed = parts.txDb.close()
  // A handler that never ends, or a turn that hangs, would keep its connection for ever.
  await atMost(lastWritesMs, Promise.all([db.close(), hasRunaways(parts) ? undefined : isClosed]))
  db.abandon()
}

/** After the drain: tells handlers to stop, waits a moment, and gives back the jobs of those that do not. */
async function endRunning(parts: Parts): Promise<void> {
  const { held, dispatcher, txDb } = parts
  for (const one of held.all()) if (one.phase === 'running') one.abort('shutdown', stopError())
  await until(() => dispatcher.running === 0, { ms: abortedMs })
  // A transaction that such a handler has open under ctx.tx locks its row, and must not be stored any more.
  if (hasRunaways(parts)) txDb.abandon()
  dispatcher.releaseRunning('the worker stopped while it ran')
}

/** Whether there are handlers that do not end, and may never release a connection. */
function hasRunaways({ dispatcher }: Parts): boolean {
  return dispatcher.running > 0 || dispatcher.stuck > 0
}

function stopError(): Error {
  const error = new Error('The worker is stopping')
  error.name = 'AbortError'
  return error
}
