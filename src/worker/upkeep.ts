import type { Database } from '../db/database.ts'
import { putBack } from '../jobs/settle.ts'
import { unknownKinds } from '../jobs/survey.ts'
import type { Served } from '../jobs/survey.ts'
import { withPartitions } from '../jobs/ensure-partitions.ts'
import { bury, held as heldRows } from '../leases/lease.ts'
import type { Parked } from '../maintenance/parked.ts'
import type { Returned } from '../maintenance/promote.ts'
import { sweep } from '../maintenance/sweep.ts'
import type { Swept } from '../maintenance/sweep.ts'
import type { Events } from './events.ts'
import type { HeldJob, HeldJobs } from './attempt/held-job.ts'
import type { Logger } from './log.ts'

export interface UpkeepConfig {
  db: Database
  crashLimit: number
  served: Served
  held: HeldJobs
  workerId: () => string
  /** Leases of claims that are on their way: their rows are not unknown, only not here yet. */
  pendingLeases: () => ReadonlySet<string>
  /** Whether our own heartbeats have had no gap lately: after one, others may only seem to be lost. */
  isLeaseFresh: () => boolean
  onReturned: (returned: readonly Returned[]) => void
  /** A job that runs here is not ours any more. */
  onLost: (held: HeldJob) => void
  /** Jobs of lost workers were taken back, here and by nobody else. */
  onSwept: (swept: Swept) => void
  /** Jobs that could not be swept, or given back. */
  parked: { readonly sweep: Parked; readonly reconcile: Parked }
  events: Events
  log: Logger
}

const sweepLimit = 500
/** Ids named in one line of log, at most. */
const idsTold = 20

/** What any worker does for all: takes back the jobs of lost workers. */
export async function sweepLost(config: UpkeepConfig): Promise<void> {
  const { db, crashLimit, events, log, onReturned, onSwept, isLeaseFresh, parked } = config
  if (!isLeaseFresh()) return
  const { lost, isAnyRunning } = await bury(db)
  if (lost.length > 0) log.warn({ workers: lost }, 'workers lost: their lease ran out')
  if (!isAnyRunning) return
  for (;;) {
    const swept = await withPartitions(db, () =>
      sweep(db, { limit: sweepLimit, crashLimit, parked: parked.sweep }),
    )
    const { returned, quarantined, isFull } = swept
    if (returned.length + quarantined.length === 0) return
    onSwept(swept)
    events.emit('swept', { returned: returned.length, quarantined })
    log.warn({ returned: returned.length, quarantined: quarantined.length }, 'took back jobs of lost workers')
    for (const { id, kind, queue, attempt } of quarantined)
      log.error({ id, kind, queue, attempt }, 'dead: quarantined, its worker was lost too often')
    for (const { id, kind, queue, attempt } of returned)
      log.debug({ id, kind, queue, attempt }, 'ready again: its worker was lost')
    onReturned(returned)
    if (!isFull) return
  }
}

/**
 * Compares what runs under this worker with what it knows of, both ways. One lease for all jobs means that a claim
 * whose reply was lost would be renewed for ever with nobody at it: such a job is given back, nothing burned. One that
 * we hold and the database does not is lost.
 */
export async function reconcile(config: UpkeepConfig): Promise<void> {
  const { db, held, workerId, pendingLeases, log, onReturned, onLost, parked } = config
  const mine = held.all().filter(isRunning)
  const pending = new Set(pendingLeases())
  const rows = await heldRows(db, workerId())
  for (const leaseId of pendingLeases()) pending.add(leaseId)
  const strays = [...rows].filter(
    ([id, leaseId]) => !pending.has(leaseId) && held.get(id)?.job.leaseId !== leaseId,
  )
  for (const one of mine) {
    // Asked again: it may have ended while the database was asked.
    if (rows.get(one.job.id) !== one.job.leaseId && isRunning(one) && held.isCurrent(one)) onLost(one)
  }
  // A claim's answer may have come while we asked: those are known by now.
  const passedBy = new Set(parked.reconcile.ids())
  const unknown = new Map(
    strays.filter(([id, leaseId]) => held.get(id)?.job.leaseId !== leaseId && !passedBy.has(id)),
  )
  if (unknown.size === 0) return
  const giveBack = (ids: readonly string[]): Promise<string[]> => {
    const said = { ranMs: 0, outcome: 'released', reason: 'the reply to its claim was lost' }
    const items = ids.map((id) => [id, { lease: unknown.get(id), ...said }])
    return putBack(db, {
      ids: [...ids],
      leaseIds: [...new Set(ids.flatMap((id) => unknown.get(id) ?? []))],
      lockMs: db.lockWaitMs,
      worker: workerId(),
      items: JSON.stringify(Object.fromEntries(items)),
    })
  }
  const back = await withPartitions(db, () => parked.reconcile.without([...unknown.keys()], giveBack))
  // A job that was claimed after the question was put may have ended before the answer was read: it is not among them.
  if (back.length === 0) return
  log.warn(
    { jobs: back.length, ids: back.slice(0, idsTold) },
    'released jobs that were claimed for this worker without its knowing',
  )
  onReturned([])
}

function isRunning({ phase, isCompleted }: HeldJob): boolean {
  return phase !== 'settling' && !isCompleted
}

/** Tells which kinds wait in our queues that we have no handler for. */
export function watchUnknownKinds({ db, served, events, log }: UpkeepConfig): () => Promise<void> {
  const told = new Set<string>()
  return async () => {
    const found = await unknownKinds(db, served)
    if (found.length > 0) events.emit('unknownKinds', found)
    for (const { queue, kind, jobs } of found) {
      if (told.has(`${queue} ${kind}`)) continue
      told.add(`${queue} ${kind}`)
      log.warn(
        { queue, kind, jobs },
        'jobs wait here that this worker has no handler for; they are left to others',
      )
    }
  }
}
