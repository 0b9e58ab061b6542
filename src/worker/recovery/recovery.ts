import type { Database } from '../../db/database.ts'
import { putBack } from '../../jobs/settle.ts'
import { unknownKinds } from '../../jobs/survey.ts'
import type { Served } from '../../jobs/survey.ts'
import { withPartitions } from '../../jobs/ensure-partitions.ts'
import { bury, held as heldRows } from '../../jobs/leases/lease.ts'
import type { Parked } from './parked.ts'
import { sweep } from './sweep.ts'
import type { Events } from '../report/events.ts'
import type { HeldJob, HeldJobs } from '../attempt/held-job.ts'
import { loseJob } from '../attempt/lose-job.ts'
import type { LostReplies } from '../claim/lost-replies.ts'
import type { Scout } from '../claim/scout.ts'
import type { Loop } from '../loop.ts'
import type { Tenure } from '../lease/tenure.ts'
import type { Numbers } from '../report/numbers.ts'
import type { WorkerConfig } from '../options.ts'
import { LoopPart, newLoop } from '../part.ts'
import type { Report } from '../report/report.ts'
import type { Troubles } from '../watch/troubles.ts'
import type { Logger } from '../report/log.ts'

export interface RecoveryConfig {
  db: Database
  worker: WorkerConfig
  served: Served
  held: HeldJobs
  tenure: Tenure
  scout: Scout
  lostReplies: LostReplies
  numbers: Numbers
  report: Report
  troubles: Troubles
  events: Events
  log: Logger
}

interface Sweeping extends RecoveryConfig {
  /** Jobs that could not be swept. */
  parked: Parked
  /** Tells the watchdog that a pass of many batches has come to the end of one. */
  loop: () => Loop
}

interface Reconciling extends RecoveryConfig {
  /** Jobs that could not be given back. */
  parked: Parked
}

const sweepLimit = 500
/** Ids named in one log line, at most. */
const idsTold = 20
const unknownKindsEveryMs = 30_000

/** Finds jobs that no handler works on: those of lost workers, and claims of this worker whose reply was lost. */
export class Recovery extends LoopPart {
  readonly reconciling: Loop
  readonly sweeping: Loop

  constructor(config: RecoveryConfig) {
    const { worker, held, lostReplies, troubles } = config
    const everyMs = worker.sweepEveryMs
    const parked = { sweep: troubles.parkedBy('sweep'), reconcile: troubles.parkedBy('reconcile') }
    const reconciling = newLoop(troubles, {
      name: 'reconcile',
      everyMs,
      pass: () =>
        lostReplies.isReconcileDue(held.size)
          ? reconcile({ ...config, parked: parked.reconcile })
          : Promise.resolve(),
    })
    const sweeping = newLoop(troubles, {
      name: 'sweep',
      everyMs,
      pass: () => sweepLost({ ...config, parked: parked.sweep, loop: () => sweeping }),
    })
    // Runs at the start too: a kind without a handler was most likely forgotten in a deployment.
    const unknownKinds = newLoop(troubles, {
      name: 'unknown-kinds',
      everyMs: unknownKindsEveryMs,
      isEager: true,
      pass: watchUnknownKinds(config),
    })
    super([reconciling, sweeping, unknownKinds])
    this.reconciling = reconciling
    this.sweeping = sweeping
  }
}

/** Takes back the jobs of lost workers: any worker does that for all workers. */
async function sweepLost(config: Sweeping): Promise<void> {
  const { db, worker, events, log, scout, numbers, tenure, parked } = config
  const { crashLimit } = worker
  if (!tenure.isFresh) return
  const { lost, isAnyRunning } = await bury(db)
  if (lost.length > 0) log.warn({ workers: lost }, 'workers lost: their lease ran out')
  if (!isAnyRunning) return
  for (;;) {
    const swept = await withPartitions(db, () => sweep(db, { limit: sweepLimit, crashLimit, parked }))
    const { returned, quarantined, isFull } = swept
    if (returned.length + quarantined.length === 0) return
    config.loop().noteProgress()
    numbers.swept(swept)
    events.emit('swept', { returned: returned.length, quarantined })
    log.warn({ returned: returned.length, quarantined: quarantined.length }, 'took back jobs of lost workers')
    for (const { id, kind, queue, attempt } of quarantined)
      log.error({ id, kind, queue, attempt }, 'dead: quarantined, its worker was lost too often')
    for (const { id, kind, queue, attempt } of returned)
      log.debug({ id, kind, queue, attempt }, 'ready again: its worker was lost')
    scout.returned(returned)
    scout.surveySoon()
    if (!isFull) return
  }
}

/**
 * Compares the jobs that run under this worker in the database with those that it holds, both ways. All its jobs are
 * renewed by one lease, so a claim whose reply was lost would be renewed for ever without a handler: such a job is
 * given back, and burns no attempt. A job that we hold and the database does not have under our lease is lost.
 */
async function reconcile(config: Reconciling): Promise<void> {
  const { db, held, tenure, log, scout, report, parked } = config
  const mine = held.all().filter(isRunning)
  const pending = new Set(tenure.claims.pending)
  const rows = await heldRows(db, tenure.workerId)
  for (const leaseId of tenure.claims.pending) pending.add(leaseId)
  const strays = [...rows].filter(
    ([id, leaseId]) => !pending.has(leaseId) && held.get(id)?.job.leaseId !== leaseId,
  )
  for (const one of mine) {
    // Checked again: it may have ended while the database was asked.
    if (rows.get(one.job.id) !== one.job.leaseId && isRunning(one) && held.isCurrent(one))
      loseJob(one, report)
  }
  // The reply to a claim may have arrived meanwhile: its jobs are known by now.
  const passedBy = new Set(parked.ids())
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
      worker: tenure.workerId,
      items: JSON.stringify(Object.fromEntries(items)),
    })
  }
  const back = await withPartitions(db, () => parked.without([...unknown.keys()], giveBack))
  // Only jobs that the database gave back: a job that was claimed after the query began may have ended meanwhile.
  if (back.length === 0) return
  log.warn(
    { jobs: back.length, ids: back.slice(0, idsTold) },
    'released jobs that were claimed for this worker without its knowing',
  )
  scout.surveySoon()
}

function isRunning({ phase, isCompleted }: HeldJob): boolean {
  return phase !== 'settling' && !isCompleted
}

/** Reports kinds that wait in our queues and for which we have no handler. */
function watchUnknownKinds({ db, served, events, log }: RecoveryConfig): () => Promise<void> {
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
