import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { StintError } from '../core/errors.ts'
import { Database } from '../db/database.ts'
import { noRules } from '../jobs/queue-rules.ts'
import { Rates } from '../limits/rates/rates.ts'
import type { Served } from '../jobs/survey.ts'
import type { ReportedClaims } from '../jobs/leases/claim-figures.ts'
import type { AboutWorker } from '../jobs/leases/lease.ts'
import { aboutWorker } from './about-worker.ts'
import type { Schedule } from '../schedules/rules/define-schedule.ts'
import { usualServices } from './upkeep/services.ts'
import { Upkeep } from './upkeep/upkeep.ts'
import { Announcer } from '../jobs/wake-up/announcer.ts'
import { Bell } from '../jobs/wake-up/bell.ts'
import { databaseKey } from '../jobs/wake-up/local.ts'
import { Poll } from '../jobs/wake-up/poll.ts'
import { Activity } from './report/activity.ts'
import { Breakers } from './breakers.ts'
import { newBegun } from './attempt/begun.ts'
import { Cancellations } from './attempt/cancellations.ts'
import { FencedTransactions } from './attempt/fenced-tx.ts'
import { giveUp } from './attempt/give-up.ts'
import type { GiveUpParts } from './attempt/give-up.ts'
import { HeldJobs } from './attempt/held-job.ts'
import type { HeldJob } from './attempt/held-job.ts'
import type { StepProbe } from './attempt/steps/probe.ts'
import { newStores } from './attempt/steps/stores.ts'
import { Notes } from './attempt/notes.ts'
import { Claiming } from './claim/claiming.ts'
import { ClaimReport } from './claim/claim-report.ts'
import { Dispatcher } from './claim/dispatcher.ts'
import { LostReplies } from './claim/lost-replies.ts'
import { FailingClaims } from './claim/failing-claims.ts'
import { Listening } from './claim/listening.ts'
import { Pools } from './claim/pools.ts'
import type { Probe } from './claim/probes.ts'
import { Scout } from './claim/scout.ts'
import { Control } from './control.ts'
import { deadlineMsOf } from './statement-deadline.ts'
import { Endings } from './report/endings.ts'
import type { Events } from './report/events.ts'
import type { Handlers } from './handlers.ts'
import { Children } from './isolate/children.ts'
import { LostLease } from './lease/lost-lease.ts'
import { Tenure } from './lease/tenure.ts'
import type { Logger } from './report/log.ts'
import { Numbers } from './report/numbers.ts'
import type { WorkerConfig } from './options.ts'
import type { Part } from './part.ts'
import { Report } from './report/report.ts'
import { Scheduler } from './scheduler.ts'
import { RetryBudgets } from './settle/retry-budgets.ts'
import { Settler } from './settle/settler.ts'
import { Recovery } from './recovery/recovery.ts'
import { Deadlines } from './watch/deadlines.ts'
import { Recycling } from './watch/recycling.ts'
import { Troubles } from './watch/troubles.ts'
import { Watchdog } from './watch/watchdog.ts'

export interface RuntimeConfig {
  worker: WorkerConfig
  /** Zero-based index of the worker within its file. */
  index: number
  url: string
  handlers: Handlers
  /** The schedules in the code of this process. */
  schedules: readonly Schedule[]
  events: Events
  log: Logger
  /**
   * Ends the worker, which cannot do its work, rather than leave it looking alive. `canDrain`: healthy jobs may end
   * first.
   */
  giveUp: (error: Error, options?: { canDrain: boolean }) => void
  /** Stops the worker in order, because a person asked for it. */
  drain: (reason: string) => void
  /** Of a test. */
  probe?: StepProbe | undefined
}

/** The parts of a worker. */
export interface Parts {
  readonly db: Database
  /** A pool of its own, so that handlers inside `ctx.tx` cannot keep other jobs from settling. */
  readonly txDb: Database
  readonly served: Served
  readonly about: AboutWorker
  readonly held: HeldJobs
  readonly pools: Pools
  readonly tenure: Tenure
  readonly troubles: Troubles
  readonly deadlines: Deadlines
  readonly notes: Notes
  readonly settler: Settler
  readonly children: Children
  readonly numbers: Numbers
  readonly rates: Rates
  readonly breakers: Breakers
  readonly scout: Scout
  readonly dispatcher: Dispatcher
  readonly recycling: Recycling
  readonly scheduler: Scheduler
  readonly recovery: Recovery
  readonly listening: Listening
  readonly claiming: Claiming
  readonly watchdog: Watchdog
  /** The services that this process runs for all processes while it leads; undefined if it never leads. */
  readonly upkeep: Upkeep | undefined
  /** The parts beside claims and attempts, in the order of their start: each may be stopped before the drain. */
  readonly beside: readonly Part[]
  readonly givingUp: GiveUpParts
}

const watchdogMs = 60_000

/** Builds a worker: each part gets the parts that it uses. */
export function assemble(config: RuntimeConfig): Parts {
  const { worker, url, handlers, schedules, events, log } = config
  const { schema, leaseMs, poolSize, txPoolSize, crashLimit } = worker
  const { graceMs } = worker.stuck
  const deadlineMs = deadlineMsOf(leaseMs)
  const connection = { url, schema, deadlineMs }
  const db = new Database({ ...connection, poolSize, applicationName: 'stint worker', isKept: true })
  const txDb = new Database({ ...connection, poolSize: txPoolSize, applicationName: 'stint ctx.tx' })
  const served = { queues: worker.queues.map(({ name }) => name), kinds: handlers.versions() }
  const about = aboutWorker(config)
  const workerId = randomUUID()

  const held = new HeldJobs()
  const bell = new Bell()
  const poll = new Poll(worker.pollFloorMs)
  const activity = new Activity()
  const lostReplies = new LostReplies()
  const probes = new Map<string, Probe>()
  const pools = new Pools(worker.queues, handlers, probes)
  const report = new Report(events, log)
  const troubles = new Troubles({ events, log, giveUp: config.giveUp })
  const numbers = new Numbers({ db, process: workerId, version: worker.version, events, log, troubles })
  const announcer = new Announcer({
    database: () => Promise.resolve(db),
    localKey: () => databaseKey(url, schema),
    notify: worker.notify,
  })
  const endings = new Endings(announcer)
  const failing = new FailingClaims(db, () => tenure.workerId, troubles)
  const claimReport = new ClaimReport({
    bell,
    poll,
    activity,
    lostReplies,
    failing,
    troubles,
    numbers,
    report,
    events,
    announcer,
    expireMs: 3 * worker.pollFloorMs + 1_000,
  })
  const recycling = new Recycling({
    afterMs: worker.stuck.recycleMs,
    giveUp: (error) => {
      config.giveUp(error, { canDrain: true })
    },
  })
  const deadlines = new Deadlines({
    held,
    graceMs,
    report,
    giveUp: (one) => {
      giveUp(one, givingUp)
    },
  })
  const tenure: Tenure = new Tenure({
    db,
    workerId,
    kinds: served.kinds,
    parked: troubles.parkedBy('claim'),
    claimReport,
    lease: {
      url,
      schema,
      leaseMs,
      graceMs,
      claims: () =>
        JSON.stringify({ ways: numbers.claimTimes.ways(), lanes: pools.lanes() } satisfies ReportedClaims),
      latestDeadline: () => deadlines.latestDeadline(),
      onDead: (why) => {
        config.giveUp(new StintError('worker-stuck', `Nothing renews the lease: ${why}.`))
      },
      onLost: () => void lostLease.lost(),
      onRisk: () => {
        lostLease.atRisk()
      },
      onSafe: () => {
        lostLease.safeAgain()
      },
      onTrouble: (message) => {
        lostLease.heartbeatFailed(message)
      },
    },
  })
  const notes = new Notes({ db, held, report, troubles })
  // Before the first survey has read the stored rules, those of this worker's code hold.
  for (const rule of worker.flow)
    if (rule.type === 'queue')
      pools.get(rule.name)?.rules.set({ ...noRules, retryBudget: rule.retryBudget ?? undefined }, 0)
  const budgets = new RetryBudgets(pools)
  const settler = new Settler({ db, held, handlers, announcer, notes, troubles, budgets })
  const children = new Children({
    children: worker.children,
    handlers,
    index: config.index,
    url,
    schema,
    leaseMs,
    deadlineMs,
    notes,
    log,
    crashLimit,
    graceMs,
    deadlines,
    announcer,
  })
  const parked = troubles.parkedBy('promote')
  const scout = new Scout({
    db,
    pools,
    served,
    bell,
    parked,
    troubles,
    report,
    workerId: () => tenure.workerId,
    onWanted: (wanted) => {
      control.hear(wanted)
    },
  })
  const transactions = new FencedTransactions(txDb, { leaseMs, graceMs })
  const rates = new Rates(() => Promise.resolve(db))
  const breakers = new Breakers({
    db,
    process: workerId,
    handlers,
    pools,
    probes,
    scout,
    tenure,
    announcer,
    events,
    log,
    troubles,
  })
  const services = {
    transactions,
    notes,
    ...{ logger: log, schema, blobs: worker.blobs, approvals: worker.approvals, probe: config.probe },
    ...{ rates, breakers: breakers.runner },
    ...newStores(db, { leaseMs, announcer }),
    isDraining: () => tenure.isClosed,
    progressed: (job: HeldJob) => {
      tenure.mayLastUntil(job.progressed())
    },
  }
  const attempts = {
    handlers,
    services,
    children,
    tenure,
    deadlines,
    notes,
    settler,
    budgets,
    scout,
    numbers,
    report,
    endings,
    activity,
    troubles,
    breakers,
  }
  const dispatcher = new Dispatcher({ worker, db, pools, held, bell, claimReport, attempts })
  const control = new Control({ tenure, dispatcher, bell, events, log, drain: config.drain })
  const givingUp = { db, held, handlers, dispatcher, recycling, report, troubles }
  const lostLease = new LostLease({
    db,
    tenure,
    held,
    dispatcher,
    bell,
    lostReplies,
    about,
    events,
    log,
    report,
    troubles,
    // However short the lease is: handlers have the usual time to end.
    graceMs: Math.max(leaseMs, graceMs),
    giveUp: config.giveUp,
  })
  const scheduler = new Scheduler({
    db,
    schedules,
    appVersion: worker.version,
    events,
    log,
    announcer,
    numbers,
    troubles,
  })
  const cancellations = new Cancellations({ db, held, tenure, dispatcher, deadlines, report, troubles })
  const listening = new Listening({
    url,
    worker,
    deadlineMs,
    tenure,
    pools,
    scout,
    scheduler,
    cancellations,
    endings,
    activity,
    troubles,
  })
  const recovery = new Recovery({
    db,
    worker,
    served,
    held,
    tenure,
    scout,
    lostReplies,
    numbers,
    report,
    troubles,
    events,
    log,
  })
  const claiming = new Claiming({
    tenure,
    pools,
    dispatcher,
    scout,
    breakers,
    bell,
    poll,
    lostReplies,
    claimReport,
    reconciling: recovery.reconciling,
    troubles,
  })
  const begun = newBegun(db, held, troubles)
  const beside = [listening, recovery, begun, failing, cancellations, scheduler]
  const watched: Part[] = [claiming, ...beside, settler, scout]
  const watchdog = new Watchdog(
    watched.flatMap(({ turns = [] }) => turns),
    { limitMs: Math.max(2 * leaseMs, watchdogMs), giveUp: config.giveUp },
  )
  const upkeep = worker.upkeep
    ? new Upkeep({
        // One for a statement that takes minutes, two for statements that must not wait for it.
        db: new Database({ ...connection, poolSize: 3, applicationName: 'stint upkeep' }),
        termMs: leaseMs,
        holder: () => tenure.workerId,
        about: { host: hostname(), pid: process.pid },
        services: usualServices({ blobs: worker.blobs?.store, stirredAt: () => activity.at, announcer }),
        onTrouble: (name, error) => {
          troubles.beside(`upkeep: ${name}`, error)
        },
      })
    : undefined
  return {
    db,
    txDb,
    served,
    about,
    held,
    pools,
    tenure,
    troubles,
    deadlines,
    notes,
    settler,
    children,
    numbers,
    rates,
    breakers,
    scout,
    dispatcher,
    recycling,
    scheduler,
    recovery,
    listening,
    claiming,
    watchdog,
    upkeep,
    beside,
    givingUp,
  }
}
