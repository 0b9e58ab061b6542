import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { StintError } from '../core/errors.ts'
import { classifyFailure } from '../core/failure.ts'
import { describeFailure } from '../core/stored-error.ts'
import { classify } from '../db/classify.ts'
import { Database } from '../db/database.ts'
import { Subscription } from '../db/subscription.ts'
import { atMost, waitAfterMs } from '../db/wait.ts'
import { withPartitions } from '../jobs/ensure-partitions.ts'
import { noteThrownLate } from '../jobs/settle.ts'
import type { Served } from '../jobs/survey.ts'
import type { AboutWorker } from '../leases/lease.ts'
import type { Parked } from '../maintenance/parked.ts'
import type { Returned } from '../maintenance/promote.ts'
import type { Swept } from '../maintenance/sweep.ts'
import { Loop } from '../upkeep/loop.ts'
import { usualServices } from '../upkeep/services.ts'
import { Upkeep } from '../upkeep/upkeep.ts'
import type { Schedule } from '../schedules/define-schedule.ts'
import { Announcer } from '../wake-up/announcer.ts'
import { Bell } from '../wake-up/bell.ts'
import { channelOf, hintsIn, saysCancel, saysSchedules } from '../wake-up/hint.ts'
import type { Hint } from '../wake-up/hint.ts'
import { listenLocally, placeOf } from '../wake-up/local.ts'
import { Poll } from '../wake-up/poll.ts'
import { begunAfterMs, noteLongRunning, noteOne } from './attempt/begun.ts'
import { Cancellations, cancelPollMs } from './attempt/cancellations.ts'
import { Claims } from './claim/claims.ts'
import { Dispatcher } from './claim/dispatcher.ts'
import { Doubt } from './claim/doubt.ts'
import type { Events } from './events.ts'
import { endedByForce, failedWith } from './attempt/execute.ts'
import { FailingClaims } from './claim/failing-claims.ts'
import { FencedTransactions, leaseLost } from './attempt/fenced-tx.ts'
import type { Handlers } from './handlers.ts'
import { HeldJobs } from './attempt/held-job.ts'
import type { HeldJob } from './attempt/held-job.ts'
import { Children } from './isolate/children.ts'
import { Lease } from './lease/lease.ts'
import type { Logger } from './log.ts'
import { Notes } from './attempt/notes.ts'
import { Numbers } from './numbers.ts'
import type { WorkerConfig } from './options.ts'
import { Recycling } from './watch/recycling.ts'
import { Report } from './report.ts'
import { Scheduler } from './scheduler.ts'
import { Scout } from './claim/scout.ts'
import type { Ending } from './attempt/outcome.ts'
import { Settler } from './settle/settler.ts'
import type { Ended } from './settle/settler.ts'
import { reconcile, sweepLost, watchUnknownKinds } from './upkeep.ts'
import { Troubles } from './watch/troubles.ts'
import { stintVersion } from '../version/version.ts'
import { Watch } from './watch/deadlines.ts'
import { Watchdog } from './watch/watchdog.ts'

export interface RuntimeConfig {
  worker: WorkerConfig
  /** Among the workers of its file. */
  place: number
  url: string
  handlers: Handlers
  /** Those in the code of this process. */
  schedules: readonly Schedule[]
  events: Events
  log: Logger
  /** It cannot go on: what ends the process rather than leave it looking alive. `canDrain`: what runs well may end first. */
  onFatal: (error: Error, options?: { canDrain: boolean }) => void
}

const prefetchTtlMs = 2_000
/** How often it is looked whether there is something new to tell of failing claims. */
const tellEveryMs = 1_000
/** Of one attempt: a timer that throws again and again is told of, and then no more. */
const mostThrownLate = 3
const watchdogMs = 60_000
const longestDeadlineMs = 10_000
/** How long a stop waits for the last notes and numbers to be written, and for connections to close: it is not worth more. */
const lastWordsMs = 5_000

/** The running parts of a worker, from the first claim to the last settle. */
export class Runtime {
  readonly #config: RuntimeConfig
  /** Claims, settles and upkeep. */
  readonly #db: Database
  /** Apart: handlers inside `ctx.tx` must not be able to keep others from settling. */
  readonly #txDb: Database
  readonly #held = new HeldJobs()
  readonly #bell = new Bell()
  readonly #poll: Poll
  readonly #served: Served
  readonly #report: Report
  readonly #numbers: Numbers
  readonly #watch: Watch
  readonly #notes: Notes
  readonly #settler: Settler
  readonly #children: Children
  readonly #dispatcher: Dispatcher
  readonly #scout: Scout
  readonly #cancellations: Cancellations
  readonly #watchdog: Watchdog
  readonly #announcer: Announcer
  readonly #subscription: Subscription | undefined
  readonly #loops: Loop[]
  /** What one process does for all; undefined where this one never does. */
  readonly #upkeep: Upkeep | undefined
  readonly #reconciling: Loop
  readonly #cancelling: Loop
  readonly #scheduler: Scheduler
  readonly #unlisten: () => void
  #lease: Lease
  #claims: Claims
  #looping: Promise<void> | undefined
  #isStopping = false
  #isOver = false
  readonly #troubles: Troubles
  readonly #parked: Record<'claim' | 'sweep' | 'promote' | 'reconcile', Parked>
  readonly #doubt = new Doubt()
  readonly #failingClaims = new FailingClaims()
  readonly #recycling: Recycling
  #lastGapAt = -Infinity
  /** When it last heard of jobs, or took or ended some. */
  #stirredAt = -Infinity

  constructor(config: RuntimeConfig) {
    this.#config = config
    const { worker, url, handlers, events, log } = config
    this.#troubles = new Troubles({
      ...{ events, log, onFatal: config.onFatal },
      sinceOkMs: (part) => this.#loops.find(({ name }) => name === part)?.ageMs,
    })
    this.#parked = {
      claim: this.#troubles.parkedBy('claim'),
      sweep: this.#troubles.parkedBy('sweep'),
      promote: this.#troubles.parkedBy('promote'),
      reconcile: this.#troubles.parkedBy('reconcile'),
    }
    this.#recycling = new Recycling({
      afterMs: worker.stuck.recycleMs,
      onDue: (error) => {
        config.onFatal(error, { canDrain: true })
      },
    })
    const { schema, leaseMs, poolSize, txPoolSize } = worker
    const deadlineMs = deadlineMsOf(leaseMs)
    const connection = { url, schema, deadlineMs }
    this.#db = new Database({ ...connection, poolSize, applicationName: 'stint worker', isKept: true })
    this.#txDb = new Database({ ...connection, poolSize: txPoolSize, applicationName: 'stint ctx.tx' })
    this.#poll = new Poll(worker.pollFloorMs)
    this.#served = { queues: worker.queues.map(({ name }) => name), kinds: handlers.versions() }
    this.#report = new Report(events, log)
    this.#watch = new Watch({
      held: this.#held,
      graceMs: worker.stuck.graceMs,
      onSlow: (held, facts) => {
        this.#report.slow(held, facts)
      },
      onStuck: (held) => {
        this.#giveUp(held)
      },
    })
    this.#notes = new Notes({
      db: this.#db,
      held: this.#held,
      onLost: this.#onLost,
      onTrouble: (error) => {
        this.#troubles.beside('notes', error)
      },
    })
    this.#announcer = new Announcer({
      database: () => Promise.resolve(this.#db),
      place: () => placeOf(url, schema),
      notify: worker.notify,
    })
    this.#settler = new Settler({
      db: this.#db,
      held: this.#held,
      onSettled: (ended) => {
        this.#settled(ended)
      },
      onRefused: (ended) => {
        this.#refused(ended)
      },
      failedWith: (held, error) => failedWith(held, handlers.get(held.job.kind).contract, error),
      onChildren: (hints) => {
        this.#announcer.stored(hints)
      },
      onCut: (cut) => {
        for (const [held, columns] of cut) {
          const message = `Too long to be stored, and cut: ${columns.join(', ')}.`
          this.#notes.log(held, { level: 'warn', message, data: undefined })
        }
        return this.#notes.flush()
      },
      onTrouble: (error, jobIds) => {
        if (jobIds === undefined) this.#troubles.of('settle', error)
        else this.#troubles.ofJobs('settle', error, jobIds)
      },
    })
    this.#children = new Children({
      ...{ children: worker.children, handlers, place: config.place, url, schema, leaseMs, deadlineMs },
      ...{ notes: this.#notes, log, crashLimit: worker.crashLimit, graceMs: worker.stuck.graceMs },
      onBegin: (held, { contract }) => {
        held.startedAt = performance.now()
        this.#watch.started(held, held.job.more?.timeoutMs ?? contract.timeoutMs)
      },
    })
    this.#dispatcher = new Dispatcher({
      worker,
      children: this.#children,
      handlers,
      held: this.#held,
      watch: this.#watch,
      services: {
        transactions: new FencedTransactions(this.#txDb, { leaseMs, graceMs: worker.stuck.graceMs }),
        notes: this.#notes,
        logger: log,
        schema,
        blobs: worker.blobs,
      },
      isOpen: () => this.#isOpen(),
      onLost: this.#onLost,
      noteBegun: (held) => noteOne(this.#db, held),
      onStarted: (held) => {
        this.#lease.mayLastUntil(held.deadlineAt)
        this.#numbers.started(held)
        this.#report.started(held)
      },
      onEnded: (ended) => {
        this.#ended(ended)
      },
      onTrouble: (error, queue) => {
        this.#claimFailed(error)
        this.#failingClaims.failed(queue, error)
        this.#troubles.of(claimOf(queue), error)
        this.#bell.ring()
      },
      onClaimed: ({ count, queue, isWell }) => {
        if (isWell) {
          this.#failingClaims.wentWell(queue)
          this.#troubles.wentWell(claimOf(queue))
        }
        if (count === 0) return
        this.#stirredAt = performance.now()
        this.#poll.found()
      },
      onAsked: () => {
        this.#bell.ring()
      },
    })
    this.#scout = new Scout({
      ...{ db: this.#db, dispatcher: this.#dispatcher, served: this.#served, bell: this.#bell },
      parked: this.#parked.promote,
      onFine: (what) => {
        this.#troubles.wentWell(what)
      },
      onTrouble: (what, error) => {
        this.#troubles.of(what, error)
      },
    })
    this.#cancellations = new Cancellations({
      ...{ db: this.#db, held: this.#held, workerId: () => this.workerId },
      onWaiting: (held, reason) => {
        if (this.#dispatcher.takeWaiting(held)) this.#endUnstarted(held, { type: 'cancelled', reason })
      },
      onAborted: (held) => {
        this.#watch.aborted(held)
        this.#report.cancelAsked(held)
      },
    })
    this.#lease = this.#newLease()
    this.#claims = this.#newClaims()
    this.#numbers = this.#newNumbers()
    this.#unlisten = listenLocally(placeOf(url, schema), (hints) => {
      this.#hear(hints)
    })
    this.#subscription = worker.notify ? this.#newSubscription(deadlineMs) : undefined
    this.#scheduler = this.#newScheduler()
    const { reconciling, cancelling, others } = this.#newLoops()
    this.#reconciling = reconciling
    this.#cancelling = cancelling
    this.#loops = [reconciling, ...others, this.#scheduler.loop]
    this.#watchdog = this.#newWatchdog()
    this.#upkeep = worker.upkeep ? this.#newUpkeep(deadlineMs) : undefined
  }

  get workerId(): string {
    return this.#lease.workerId
  }

  get running(): number {
    return this.#dispatcher.running
  }

  /** Why it could not do its work now; nothing where it can. */
  problems(): string[] {
    const { leaseMs } = this.#config.worker
    const problems: string[] = []
    if (!this.#lease.isTrusted)
      problems.push(`its lease was last renewed ${Math.round(this.#lease.ageMs)} ms ago`)
    const patienceMs = Math.max(leaseMs, 3 * this.#config.worker.sweepEveryMs, 120_000)
    problems.push(...this.#troubles.problems(patienceMs), ...this.#watchdog.problems())
    // While it drains they stand still, and that may take long: no reason to be killed.
    for (const { name, ageMs } of this.#isStopping ? [] : this.#loops) {
      if (ageMs > patienceMs) problems.push(`'${name}' has not succeeded for ${Math.round(ageMs / 1_000)} s`)
    }
    return problems
  }

  async start(): Promise<void> {
    this.#dispatcher.use(this.#claims)
    await this.#children.check()
    await this.#patiently(async (db) => {
      await this.#scheduler.synchronise(db)
      await this.#lease.begin(db, this.#about())
    })
    this.#subscription?.start()
    for (const loop of this.#loops) loop.start()
    this.#upkeep?.start()
    this.#watchdog.start()
    this.#numbers.start()
    this.#looping = this.#loop()
    const { workerId } = this
    this.#config.events.emit('ready', { workerId })
    const { queues, concurrency } = this.#config.worker
    this.#config.log.info(
      {
        workerId,
        queues: Object.fromEntries(queues.map((queue) => [queue.name, queue.concurrency])),
        concurrency,
        kinds: this.#config.handlers.kinds,
      },
      'worker ready',
    )
    for (const about of this.#config.handlers.outside(this.#served.queues))
      this.#config.log.warn(about, 'a handler waits here for jobs of a queue that this worker does not serve')
  }

  /** A start is not tried again, so it may take its time, however short the lease and with it the usual deadline. */
  async #patiently(work: (db: Database) => Promise<void>): Promise<void> {
    const { url, worker } = this.#config
    const { schema, leaseMs } = worker
    if (deadlineMsOf(leaseMs) === longestDeadlineMs) return work(this.#db)
    const deadlineMs = longestDeadlineMs
    const db = new Database({ url, schema, deadlineMs, poolSize: 1, applicationName: 'stint worker' })
    // Nobody waits for its goodbye, which a network that swallows everything would never let through.
    return work(db).finally(() => void db.close())
  }

  /** Lets go of everything after a start that failed. */
  async abandon(): Promise<void> {
    this.#isOver = this.#isStopping = true
    this.#unlisten()
    await this.#lease.abandon()
    await this.#children.close()
    await this.#upkeep?.stop()
    await Promise.all([this.#db.close(), this.#txDb.close()])
  }

  /**
   * Stops claiming at once, gives back what has not started, lets what runs go on for the drain, then aborts it and
   * gives that back too. `hurry` ends the drain. Heartbeats go on to the end.
   *
   * Nothing is waited for without a limit: what hangs may be the very reason to stop.
   */
  async stop({ drainMs, hurry }: { drainMs: number; hurry: AbortSignal }): Promise<void> {
    this.#isStopping = true
    this.#watchdog.stop()
    this.#scheduler.stop()
    this.#recycling.stop()
    this.#bell.ring()
    // Others can do that from now on, however long it takes to drain.
    const handedOver = this.#upkeep?.stop()
    await this.#looping
    const loopsEnded = [...this.#loops.map((loop) => loop.stop()), this.#subscription?.stop()]
    await atMost(longestDeadlineMs, Promise.all([...loopsEnded, this.#claimsAnswered()]))
    this.#unlisten()
    this.#releaseAll('the worker stopped before it was started')
    this.#children.sendHome()
    await this.#until(() => this.#dispatcher.running === 0, { ms: drainMs, hurry })
    await this.#endRunning()
    const childrenEnded = this.#children.close()
    const settled = this.#settler.drained()
    // A database that is gone must not keep the process for ever: after a lease others take over anyway.
    await atMost(this.#config.worker.leaseMs, settled)
    await atMost(lastWordsMs, this.#notes.flush())
    await atMost(lastWordsMs, this.#numbers.stop())
    await childrenEnded
    this.#isOver = true
    this.#watch.stop()
    await this.#lease.end(this.#db).catch((error: unknown) => {
      this.#troubles.of('retire', error)
    })
    await handedOver
    const isClosed = this.#txDb.close()
    // A handler that never ends, and a turn that hangs, would keep their connection for ever.
    await atMost(lastWordsMs, Promise.all([this.#db.close(), this.#hasRunaways ? undefined : isClosed]))
    this.#db.abandon()
  }

  /** One `while`: ask where there is room, sleep until something rings or the poll is due. */
  async #loop(): Promise<void> {
    while (!this.#isStopping) {
      const now = performance.now()
      this.#scout.turn(now)
      if (this.#doubt.isNewly()) void this.#reconciling.runOnce()
      this.#dispatcher.fill(now)
      const pollAt = now + this.#poll.waitMs()
      const wakeAt = Math.min(pollAt, this.#scout.wakeAt, this.#dispatcher.heldUntil(now))
      await this.#bell.next(Math.max(1, wakeAt - now))
      if (performance.now() >= pollAt) this.#scout.lookForYourself()
    }
  }

  #mayGoOn(): boolean {
    return !this.#isStopping
  }

  #isOpen(): boolean {
    return !this.#isStopping && this.#lease.isTrusted
  }

  #ended(ended: Ended): void {
    const { held, outcome } = ended
    if (!this.#notes.concerns(held)) {
      this.#settler.add(ended)
      return
    }
    const isOver =
      outcome.type === 'succeeded' || outcome.type === 'completed' || outcome.type === 'handed-over'
    void this.#notes.finish(held, !isOver).then(() => {
      this.#settler.add(ended)
    })
  }

  #settled(ended: Ended): void {
    this.#letGo(ended.held)
    this.#stirredAt = performance.now()
    this.#troubles.wentWell('settle')
    const { outcome, held } = ended
    if (outcome.type === 'retry' || outcome.type === 'snoozed' || outcome.type === 'crashed')
      this.#scout.dueIn(outcome.delayMs + 1)
    if (outcome.type === 'released') this.#scout.mayReturn(held.job)
    this.#numbers.settled(ended)
    this.#report.settled(ended)
  }

  #refused(ended: Ended): void {
    this.#letGo(ended.held)
    this.#numbers.refused(ended)
    this.#report.refused(ended)
  }

  /** Only now is its place free. */
  #letGo(held: HeldJob): void {
    const pool = this.#dispatcher.pool(held.job.queue)
    this.#held.remove(held)
    const letsOthers = this.#dispatcher.suspects.over(held)
    if (pool === undefined) return
    pool.held--
    if (pool.config.prefetch === 0 || letsOthers) this.#dispatcher.startAll()
    if (pool.isHungry()) this.#bell.ring()
  }

  /** Gives back jobs that wait for a slot. */
  #release(test: (held: HeldJob) => boolean, reason: string): void {
    for (const pool of this.#dispatcher.pools) {
      for (const held of pool.takeWhere(test)) {
        pool.wasInVain = true
        this.#endUnstarted(held, { type: 'released', reason })
      }
    }
  }

  #endUnstarted(held: HeldJob, outcome: Ending): void {
    held.phase = 'settling'
    this.#settler.add({ held, outcome, ranMs: 0 })
  }

  /** Suspects wait longer for their turn than others do, so they are not given back for having waited. */
  #releaseAll(reason: string): void {
    this.#release(() => true, reason)
    for (const held of this.#dispatcher.suspects.takeWhere(() => true))
      this.#endUnstarted(held, { type: 'released', reason })
  }

  /** Its handler was told to end and has not: its attempt ends without it, and its slot is given to others. */
  #giveUp(held: HeldJob): void {
    const { contract } = this.#config.handlers.get(held.job.kind)
    const ranMs = performance.now() - held.startedAt
    this.#dispatcher.giveUp(held, endedByForce(held, contract))
    if (held.abortedFor !== 'uncaught')
      this.#report.stuck(held, { ranMs, stuckSlots: this.#dispatcher.stuck })
    this.#recycling.gaveUp(held, ranMs)
  }

  /**
   * Something was thrown in the name of a job and nobody caught it: a callback of its own, a promise that it forgot. The
   * attempt has failed with that, whatever its handler still does. False where the job is not at work here.
   */
  failUncaught(jobId: string, thrown: unknown): boolean {
    const held = this.#held.get(jobId)
    if (held?.phase !== 'running') return false
    held.abort('uncaught', thrown)
    this.#giveUp(held)
    return true
  }

  /** Something was thrown in the name of a job whose attempt is over. Its ending stands; a few such errors are noted. */
  noteLate(held: HeldJob, thrown: unknown): void {
    if (++held.thrownLate > mostThrownLate) return
    const { id, kind, epoch, attempt } = held.job
    const error = describeFailure(thrown, { kind, failureClass: classifyFailure(thrown) })
    this.#report.thrownLate(held, error)
    const note = { id, epoch, attempt, worker: held.workerId, error: JSON.stringify(error) }
    const { fingerprint } = error
    void withPartitions(this.#db, () => noteThrownLate(this.#db, { ...note, fingerprint })).catch(
      (trouble: unknown) => {
        this.#troubles.beside('notes', trouble)
      },
    )
  }

  /** After the drain: tells handlers to stop, waits a moment, and gives back what will not. */
  async #endRunning(): Promise<void> {
    for (const held of this.#held.all()) {
      if (held.phase === 'running') held.abort('shutdown', stopError())
    }
    await this.#until(() => this.#dispatcher.running === 0, { ms: 1_000 })
    // What such a handler has open under ctx.tx locks its row, and is not to be stored any more.
    if (this.#hasRunaways) this.#txDb.abandon()
    for (const held of this.#held.all()) {
      if (held.phase !== 'running') continue
      held.phase = 'settling'
      held.isGivenUp = true
      const ranMs = performance.now() - held.startedAt
      this.#settler.add({
        held,
        outcome: { type: 'released', reason: 'the worker stopped while it ran' },
        ranMs,
      })
    }
  }

  /** Handlers that do not end, and may never let go of a connection. */
  get #hasRunaways(): boolean {
    return this.#dispatcher.running > 0 || this.#dispatcher.stuck > 0
  }

  async #claimsAnswered(): Promise<void> {
    const isAnswered = (): boolean => this.#dispatcher.pools.every((pool) => !pool.isClaiming)
    await this.#until(isAnswered, { ms: longestDeadlineMs })
  }

  async #until(test: () => boolean, { ms, hurry }: { ms: number; hurry?: AbortSignal }): Promise<void> {
    const endAt = performance.now() + ms
    while (!test() && hurry?.aborted !== true && performance.now() < endAt) await pause(10)
  }

  #newLease(): Lease {
    const { url, worker, log } = this.#config
    return new Lease({
      url,
      schema: worker.schema,
      leaseMs: worker.leaseMs,
      graceMs: worker.stuck.graceMs,
      latestDeadline: () => this.#watch.latestDeadline(),
      onDead: (why) => {
        this.#config.onFatal(new StintError('worker-stuck', `Nothing renews the lease: ${why}.`))
      },
      onLost: () => void this.#beginAnew(),
      onRisk: () => {
        this.#lastGapAt = performance.now()
        log.error(
          { workerId: this.workerId, ageMs: Math.round(this.#lease.ageMs) },
          'lease at risk: no heartbeat got through; handlers are aborted',
        )
        this.#abortAll(leaseAtRisk)
      },
      onSafe: () => {
        this.#lastGapAt = performance.now()
        log.info({ workerId: this.workerId }, 'lease renewed')
        this.#doubt.arise()
        this.#bell.ring()
      },
      onTrouble: (message) => {
        log.warn({ workerId: this.workerId, error: message }, 'heartbeat failed, trying again')
      },
    })
  }

  #newClaims(): Claims {
    const { workerId } = this.#lease
    return new Claims({
      ...{ db: this.#db, workerId, kinds: this.#served.kinds, parked: this.#parked.claim },
      onPutAside: (job) => {
        this.#numbers.putAside(job)
        this.#report.putAside(job)
      },
      onTrouble: (error) => {
        this.#claimFailed(error)
        this.#troubles.beside('claim', error)
      },
    })
  }

  #claimFailed(error: unknown): void {
    // It may have been done although we do not know of it.
    if (classify(error) === 'unknown') this.#doubt.arise()
  }

  #abortAll(reasonFor: (held: HeldJob) => Error): void {
    for (const held of this.#held.all()) {
      if (held.phase === 'running') this.#abortForLease(held, reasonFor(held))
    }
    this.#releaseAll('the lease was at risk')
  }

  readonly #onLost = (held: HeldJob): void => {
    this.#abortForLease(held, leaseLost(held))
  }

  /** Its job is another's, or may soon be. Told now, for its handler may take its time to end, or never do. */
  #abortForLease(held: HeldJob, reason: Error): void {
    if (held.phase === 'running' && held.abortedFor === undefined) this.#report.abortedForLease(held, reason)
    held.abort('lease', reason)
  }

  /** Others have declared this worker lost: nothing here is ours. Once its handlers have ended, it begins under a new id. */
  async #beginAnew(): Promise<void> {
    if (this.#isOver) return
    const { events, log, worker, onFatal } = this.#config
    const lostId = this.workerId
    events.emit('workerLost', { workerId: lostId })
    log.error(
      { workerId: lostId },
      'worker lost: others have taken its jobs; beginning anew under another id',
    )
    this.#abortAll(leaseLost)
    // However short the lease: handlers have the time to end that they have anywhere.
    const graceMs = Math.max(worker.leaseMs, worker.stuck.graceMs)
    await this.#until(() => this.#dispatcher.running === 0, { ms: graceMs })
    if (!this.#mayGoOn()) return
    if (this.#dispatcher.running > 0) {
      onFatal(new Error(`${this.#dispatcher.running} handlers did not end after their worker was lost`))
      return
    }
    for (let failures = 0; this.#mayGoOn(); failures++) {
      // An id for each try: one whose reply was lost may be there already, and ids are entered once.
      this.#lease = this.#newLease()
      this.#claims = this.#newClaims()
      this.#dispatcher.use(this.#claims)
      try {
        await this.#lease.begin(this.#db, this.#about())
        log.info({ workerId: this.workerId }, 'worker ready again')
        events.emit('ready', { workerId: this.workerId })
        this.#bell.ring()
        return
      } catch (error) {
        this.#troubles.of('register', error)
        await pause(waitAfterMs(failures))
      }
    }
  }

  #newSubscription(deadlineMs: number): Subscription {
    const { worker, url } = this.#config
    return new Subscription({
      url: worker.listenConnection ?? url,
      channel: channelOf(worker.schema),
      applicationName: 'stint listen',
      deadlineMs,
      probeEveryMs: 15_000,
      onPayload: (payload) => {
        this.#hear(hintsIn(payload, (queue) => this.#dispatcher.pool(queue) !== undefined))
        if (saysSchedules(payload)) this.#scheduler.wake()
        if (!saysCancel(payload, this.workerId)) return
        this.#cancellations.hint()
        void this.#cancelling.runOnce()
      },
      onConnected: () => {
        // What was said while we were deaf is found by looking.
        this.#cancellations.hint()
        this.#scout.surveySoon()
      },
      onTrouble: (error) => {
        this.#troubles.beside('listen', error)
      },
    })
  }

  #hear(hints: readonly Hint[]): void {
    if (hints.length === 0) return
    this.#stirredAt = performance.now()
    this.#scout.hear(hints)
  }

  #newScheduler(): Scheduler {
    const { schedules, worker, events, log } = this.#config
    return new Scheduler({
      ...{ db: this.#db, schedules, appVersion: worker.version, events, log },
      onReady: (hints) => {
        this.#announcer.stored(new Set(hints))
      },
      onFired: (fired) => {
        this.#numbers.fired(fired)
      },
      onAsked: (workerId) => {
        this.#announcer.askedToStop(workerId)
      },
      onTrouble: (name, error) => {
        this.#troubles.of(name, error)
      },
    })
  }

  #newLoops(): { reconciling: Loop; cancelling: Loop; others: Loop[] } {
    const { worker, events, log } = this.#config
    const config = {
      db: this.#db,
      crashLimit: worker.crashLimit,
      served: this.#served,
      held: this.#held,
      workerId: () => this.workerId,
      pendingLeases: () => this.#claims.pending,
      isLeaseFresh: () => this.#lease.isTrusted && performance.now() - this.#lastGapAt > worker.leaseMs,
      onReturned: (returned: readonly Returned[]) => {
        this.#scout.returned(returned)
        this.#scout.surveySoon()
      },
      onLost: this.#onLost,
      onSwept: (swept: Swept) => {
        sweeping.goesOn()
        this.#numbers.swept(swept)
      },
      parked: this.#parked,
      events,
      log,
    }
    const onTrouble = (name: string, error: unknown): void => {
      this.#troubles.of(name, error)
    }
    const loop = (name: string, everyMs: number, pass: () => Promise<void>): Loop =>
      new Loop({ name, everyMs, pass, onTrouble })
    const reconciling = loop('reconcile', worker.sweepEveryMs, () =>
      this.#doubt.isWorthALook(this.#held.size) ? reconcile(config) : Promise.resolve(),
    )
    const sweeping = loop('sweep', worker.sweepEveryMs, () => sweepLost(config))
    const others = [
      sweeping,
      loop('begun', begunAfterMs, () => noteLongRunning(this.#db, this.#held)),
      loop('prefetch', prefetchTtlMs / 4, () => {
        const oldest = performance.now() - prefetchTtlMs
        this.#release(({ heldSince }) => heldSince < oldest, 'it waited too long for a slot')
        return Promise.resolve()
      }),
      loop('tell', tellEveryMs, () => this.#failingClaims.tell(this.#db, this.workerId)),
      // With the start already: a kind that nobody handles is most likely one that was forgotten in a deployment.
      new Loop({
        ...{ name: 'unknown-kinds', everyMs: 30_000, isEager: true, onTrouble },
        pass: watchUnknownKinds(config),
      }),
    ]
    const cancelling = loop('cancel', cancelPollMs, () => this.#cancellations.look())
    return { reconciling, cancelling, others: [...others, cancelling] }
  }

  #newUpkeep(deadlineMs: number): Upkeep {
    const { worker, url } = this.#config
    const { schema, leaseMs } = worker
    return new Upkeep({
      // One for a statement that takes minutes, two for all that must not wait for it.
      db: new Database({ url, schema, deadlineMs, poolSize: 3, applicationName: 'stint upkeep' }),
      termMs: leaseMs,
      holder: () => this.workerId,
      about: { host: hostname(), pid: process.pid },
      services: usualServices({ blobs: worker.blobs?.store, stirredAt: () => this.#stirredAt }),
      onTrouble: (name, error) => {
        this.#troubles.beside(`upkeep: ${name}`, error)
      },
    })
  }

  #newNumbers(): Numbers {
    const { worker, events, log } = this.#config
    return new Numbers({
      ...{ db: this.#db, process: this.workerId, version: worker.version, events, log },
      onTrouble: (name, error) => {
        this.#troubles.beside(`numbers: ${name}`, error)
      },
    })
  }

  #newWatchdog(): Watchdog {
    const { worker, onFatal } = this.#config
    const pools = this.#dispatcher.pools.map(({ config: { name } }) => ({
      name: claimOf(name),
      since: () => this.#dispatcher.pool(name)?.claimingSince,
    }))
    const watched = [
      ...pools,
      ...this.#loops.map((one) => ({ name: one.name, since: () => one.since })),
      { name: 'settle', since: () => this.#settler.since },
      { name: 'survey', since: () => this.#scout.since.survey },
      { name: 'promote', since: () => this.#scout.since.promote },
      { name: 'listen', since: () => this.#subscription?.since },
    ]
    return new Watchdog(watched, {
      limitMs: Math.max(2 * worker.leaseMs, watchdogMs),
      onStuck: (name, forMs) => {
        const message = `'${name}' has come to no answer for ${Math.round(forMs / 1_000)} s, and never will.`
        onFatal(new StintError('worker-stuck', message))
      },
    })
  }

  #about(): AboutWorker {
    const { worker, handlers, schedules } = this.#config
    return {
      host: hostname(),
      pid: process.pid,
      version: worker.version,
      stintVersion: stintVersion(),
      queues: Object.fromEntries(worker.queues.map(({ name, concurrency }) => [name, concurrency])),
      kinds: handlers.kinds,
      schedules: schedules.map(({ name }) => name),
    }
  }
}

/** Of one statement: several fit into a lease. */
function deadlineMsOf(leaseMs: number): number {
  return Math.max(500, Math.min(longestDeadlineMs, leaseMs / 3))
}

/** The part of a worker that claims jobs of this queue. */
function claimOf(queue: string): string {
  return `claim of '${queue}'`
}

function leaseAtRisk({ job }: HeldJob): Error {
  return new StintError(
    'lease-lost',
    `Job ${job.id} of '${job.kind}' may soon be another worker's: no heartbeat got through for most of a lease.`,
    { jobIds: [job.id] },
  )
}

function stopError(): Error {
  const error = new Error('The worker is stopping')
  error.name = 'AbortError'
  return error
}
