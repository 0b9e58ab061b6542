import type { Queryable } from '../db/statement.ts'
import { cancellations } from '../jobs/while-running.ts'
import { CancelledError } from './execute.ts'
import type { HeldJob, HeldJobs } from './held-job.ts'

export interface CancellationsConfig {
  db: Queryable
  held: HeldJobs
  workerId: () => string
  /** It has not begun: it need not. */
  onWaiting: (held: HeldJob, reason: string | null) => void
  /** It was told to end. */
  onAborted: (held: HeldJob) => void
}

/** Tells the jobs in hand that somebody asked for their end. */
export async function tellCancelled(config: CancellationsConfig): Promise<void> {
  const { db, held, workerId, onWaiting, onAborted } = config
  for (const { id, leaseId, reason } of await cancellations(db, workerId())) {
    const one = held.get(id)
    if (one?.job.leaseId !== leaseId || one.abortedFor !== undefined) continue
    if (one.phase === 'waiting') onWaiting(one, reason)
    else if (one.phase === 'running') {
      one.abort('cancel', new CancelledError(reason))
      onAborted(one)
    }
  }
}
