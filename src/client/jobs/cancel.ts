import { setTimeout as pause } from 'node:timers/promises'
import type { Duration } from '../../core/duration.ts'
import type { Job } from '../../core/job.ts'
import { durationOption, rejectUnknown } from '../../core/options.ts'
import { keyText } from '../../jobs/new/enqueue-options.ts'
import { cancel } from '../../jobs/cancel.ts'
import { askCancel } from '../../jobs/attempt/while-running.ts'
import type { Calls } from '../calls.ts'

export interface CancelOptions {
  /** The reason, for people; 1 to 1,024 bytes. */
  reason?: string | null | undefined
  /** How long to wait for a running job to end. With 0, the call returns once the job was asked to stop. @default 0 */
  wait?: Duration | undefined
}

export interface Cancel {
  id: string
  reason: string | null
  waitMs: number
}

export function resolveCancel(id: string, options: CancelOptions = {}): Cancel {
  const { reason = null, wait = 0, ...rest } = options
  rejectUnknown('cancel', rest, ['reason', 'wait'])
  return {
    id,
    reason: reason === null ? null : (keyText('reason', reason, 1024) ?? null),
    waitMs: durationOption('wait', wait),
  }
}

const lookEveryMs = 150
/** A handler inside ctx.tx keeps its row locked; the call tries again for this long. */
const lockedForMs = 2_000

/**
 * Cancels a waiting job; asks a running job to stop, and polls up to `waitMs` until it has ended. `onAsked` gets the id of
 * its worker.
 */
export async function cancelJob(
  calls: Calls,
  { id, reason, waitMs }: Cancel,
  onAsked: (worker: string) => void,
): Promise<Job> {
  const startedAt = performance.now()
  let isAsked = false
  for (;;) {
    // The state may have changed since we read it: both statements are tried, and the one that does not fit does nothing.
    const isDone = await calls.write((db) => cancel(db, { id, reason }), { isDone: Boolean })
    if (isDone) return calls.changed(id, true)
    if (!isAsked) {
      const worker = await calls.write((db) => askCancel(db, { id, reason }), { isDone: Boolean })
      isAsked = worker !== undefined
      if (worker !== undefined) onAsked(worker)
    }
    const waitedMs = performance.now() - startedAt
    const job = await calls.find(id)
    if (job.state !== 'running') {
      const isLive = job.finishedAt === null
      // A job that ended by itself after it was asked to stop is a normal result, not an error.
      if (!isLive) return calls.changed(id, isAsked, ({ state }) => state === 'cancelled')
    } else if (isAsked ? waitedMs >= waitMs : waitedMs >= lockedForMs)
      return calls.changed(id, isAsked, ({ cancelRequestedAt }) => cancelRequestedAt !== null)
    await pause(lookEveryMs)
  }
}
