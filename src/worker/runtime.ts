import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { StintError } from '../core/errors.ts'
import { classify } from '../db/classify.ts'
import { Database } from '../db/database.ts'
import { Subscription } from '../db/subscription.ts'
import { waitAfterMs } from '../db/wait.ts'
import { survey } from '../jobs/survey.ts'
import type { Finding, Served } from '../jobs/survey.ts'
import type { AboutWorker } from '../leases/lease.ts'
import { promote } from '../maintenance/promote.ts'
import type { Returned } from '../maintenance/promote.ts'
import { Announcer } from '../wake-up/announcer.ts'
import { Bell } from '../wake-up/bell.ts'
import { channelOf, hintsIn } from '../wake-up/hint.ts'
import type { Hint } from '../wake-up/hint.ts'
import { listenLocally, placeOf } from '../wake-up/local.ts'
import { Poll } from '../wake-up/poll.ts'
import { Claims } from './claims.ts'
import { Dispatcher } from './dispatcher.ts'
import type { Events } from './events.ts'
import { FencedTransactions, leaseLost } from './fenced-tx.ts'
import type { Handlers } from './handlers.ts'
import { HeldJobs } from './held-job.ts'
import type { HeldJob } from './held-job.ts'
import { Children } from './isolate/children.ts'
import { Lease } from './lease.ts'
import type { Logger } from './log.ts'
import { Loop } from './loops.ts'
import { Notes } from './notes.ts'
import type { WorkerConfig } from './options.ts'
import { Report } from './report.ts'
import { Settler } from './settle.ts'
import type { Ended } from './settle.ts'
import { reconcile, sweepLost, watchUnknownKinds } from './upkeep.ts'
import { stintVersion } from './version.ts'
import { Watch } from './watch.ts'

export interface RuntimeConfig {
  worker: WorkerConfig
  /** Among the workers of its file. */
  place: number
  url: string
  handlers: Handlers
  events: Events
  log: Logger
  /** It cannot go on: what ends the process rather than leave it looking alive. */
  onFatal: (error: Error) => void
}

/** A survey may cost this share of the time at most; with a snapshot held open it is not cheap. */
const surveyShare = 1 / 20
/** A little before the poll is due, so that a jittered one does not come just too soon for it. */
const early = 0.85
const prefetchTtlMs = 2_000
const promoteBatch = 500
const brokenForMs = 60_000

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
  readonly #watch: Watch
  readonly #notes: Notes
  readonly #settler: Settler
  readonly #children: Children
  readonly #dispatcher: Dispatcher
  readonly #announcer: Announcer
  readonly #subscription: Subscription | undefined
  readonly #loops: Loop[]
  readonly #reconciling: Loop
  readonly #unlisten: () => void
  #lease: Lease
  #claims: Claims
  #looping: Promise<void> | undefined
  #isStopping = false
  #isOver = false
  #nextSurveyAt = 0
  #isSurveying = false
  #surveyPaysAt = 0
  #mustSurveyAgain = false
  #nextDueAt = Infinity
  #isPromoting = false
  #brokenSince: number | undefined
  #lastGapAt = -Infinity
  #lastTroubleAt = -Infinity
  #mustReconcile = false

  constructor(config: RuntimeConfig) {
    this.#config = config
    const { worker, url, handlers, events, log } = config
    const { schema, leaseMs, poolSize, txPoolSize } = worker
    const deadlineMs = Math.max(500, Math.min(10_000, leaseMs / 3))
    const connection = { url, schema, deadlineMs }
    this.#db = new Database({ ...connection, poolSize, applicationName: 'stint worker' })
    this.#txDb = new Database({ ...connection, poolSize: txPoolSize, applicationName: 'stint ctx.tx' })
    this.#poll = new Poll(worker.pollFloorMs)
    this.#served = { queues: worker.queues.map(({ name }) => name), kinds: handlers.versions() }
    this.#report = new Report(events, log)
    this.#watch = new Watch(this.#held, (held, facts) => {
      this.#report.slow(held, facts)
    })
    this.#notes = new Notes({
      db: this.#db,
      held: this.#held,
      onLost: (held) => {
        held.abort('lease', leaseLost(held))
      },
      onTrouble: (error) => {
        this.#trouble('notes', error)
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
      onChildren: (hints) => {
        this.#announcer.stored(hints)
      },
      onTrouble: (error) => {
        this.#trouble('settle', error)
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
        transactions: new FencedTransactions(this.#txDb, leaseMs),
        notes: this.#notes,
        logger: log,
        schema,
        blobs: worker.blobs,
      },
      isOpen: () => this.#isOpen(),
      onStarted: (held) => {
        this.#report.started(held)
      },
      onEnded: (ended) => {
        this.#ended(ended)
      },
      onTrouble: (error) => {
        // It may have been done although we do not know of it.
        if (classify(error) === 'unknown') this.#mustReconcile = true
        this.#trouble('claim', error)
        this.#bell.ring()
      },
      onClaimed: () => {
        this.#poll.found()
      },
      onAsked: () => {
        this.#bell.ring()
      },
    })
    this.#lease = this.#newLease()
    this.#claims = this.#newClaims()
    this.#unlisten = listenLocally(placeOf(url, schema), (hints) => {
      this.#hear(hints)
    })
    this.#subscription = worker.notify ? this.#newSubscription(deadlineMs) : undefined
    const { reconciling, others } = this.#newLoops()
    this.#reconciling = reconciling
    this.#loops = [reconciling, ...others]
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
    if (this.#brokenSince !== undefined) problems.push('the database refuses its statements')
    // While it drains they stand still, and that may take long: no reason to be killed.
    for (const { name, ageMs } of this.#isStopping ? [] : this.#loops) {
      if (ageMs > Math.max(leaseMs, 3 * this.#config.worker.sweepEveryMs, 120_000))
        problems.push(`'${name}' has not succeeded for ${Math.round(ageMs / 1_000)} s`)
    }
    return problems
  }

  async start(): Promise<void> {
    this.#dispatcher.use(this.#claims)
    await this.#children.check()
    await this.#lease.begin(this.#db, this.#about())
    this.#subscription?.start()
    for (const loop of this.#loops) loop.start()
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

  /** Lets go of everything after a start that failed. */
  async abandon(): Promise<void> {
    this.#isOver = this.#isStopping = true
    this.#unlisten()
    await this.#lease.abandon()
    await this.#children.close()
    await Promise.all([this.#db.close(), this.#txDb.close()])
  }

  /**
   * Stops claiming at once, gives back what has not started, lets what runs go on for the drain, then aborts it and
   * gives that back too. `hurry` ends the drain. Heartbeats go on to the end.
   */
  async stop({ drainMs, hurry }: { drainMs: number; hurry: AbortSignal }): Promise<void> {
    this.#isStopping = true
    this.#bell.ring()
    await this.#looping
    await Promise.all(this.#loops.map((loop) => loop.stop()))
    await this.#subscription?.stop()
    this.#unlisten()
    await this.#claimsAnswered()
    this.#release(() => true, 'the worker stopped before it was started')
    this.#children.sendHome()
    await this.#until(() => this.#dispatcher.running === 0, { ms: drainMs, hurry })
    await this.#endRunning()
    const childrenEnded = this.#children.close()
    const settled = this.#settler.drained()
    // A database that is gone must not keep the process for ever: after a lease others take over anyway.
    await Promise.race([settled, pause(this.#config.worker.leaseMs, undefined, { ref: false })])
    await this.#notes.flush()
    await childrenEnded
    this.#isOver = true
    this.#watch.stop()
    await this.#lease.end(this.#db).catch((error: unknown) => {
      this.#trouble('retire', error)
    })
    const isClosed = this.#txDb.close()
    // A handler that never ends would keep its connection, and this, for ever.
    await Promise.all([this.#db.close(), this.#dispatcher.running === 0 ? isClosed : undefined])
  }

  /** One `while`: ask where there is room, sleep until something rings or the poll is due. */
  async #loop(): Promise<void> {
    while (!this.#isStopping) {
      const now = performance.now()
      if (now >= this.#nextSurveyAt) void this.#survey()
      if (now >= this.#nextDueAt) void this.#promote()
      if (this.#mustReconcile) {
        this.#mustReconcile = false
        void this.#reconciling.runOnce()
      }
      this.#dispatcher.fill(now)
      const pollAt = now + this.#poll.waitMs()
      const { holdUntil } = this.#dispatcher
      const wakeAt = Math.min(
        pollAt,
        this.#nextDueAt,
        this.#nextSurveyAt,
        holdUntil > now ? holdUntil : Infinity,
      )
      await this.#bell.next(Math.max(1, wakeAt - now))
      if (performance.now() >= pollAt) this.#lookForYourself()
    }
  }

  /**
   * Nobody rang. A survey finds all there is, also what was committed late and lies below the floor; where that costs
   * much and was done a moment ago, a look from the floors has to do.
   */
  #lookForYourself(): void {
    if (performance.now() >= this.#surveyPaysAt) this.#surveySoon()
    else for (const pool of this.#dispatcher.pools) pool.floors.probe()
  }

  #mayGoOn(): boolean {
    return !this.#isStopping
  }

  #isOpen(): boolean {
    return !this.#isStopping && this.#lease.isTrusted
  }

  /** Looks at every queue, without waiting for its time. */
  #surveySoon(): void {
    this.#mustSurveyAgain = this.#isSurveying
    for (const pool of this.#dispatcher.pools) pool.surveyedAt = -Infinity
    if (!this.#isSurveying) this.#nextSurveyAt = 0
    this.#bell.ring()
  }

  async #survey(): Promise<void> {
    if (this.#isSurveying) return
    this.#isSurveying = true
    const startedAt = performance.now()
    const pools = this.#dispatcher.pools.filter(
      ({ surveyedAt, config }) => startedAt >= surveyedAt + early * config.pollFloorMs,
    )
    this.#nextSurveyAt = Infinity
    try {
      const floors = new Map(pools.map((pool) => [pool.config.name, pool.floors.snapshot()]))
      const queues = pools.map(({ config }) => config.name)
      const findings = await survey(this.#db, { queues, kinds: this.#served.kinds })
      this.#isFine()
      this.#take(findings, { floors, since: performance.now() })
    } catch (error) {
      this.#trouble('survey', error)
    } finally {
      this.#isSurveying = false
      const now = performance.now()
      for (const pool of pools) pool.surveyedAt = now
      const nextAt = Math.min(
        ...this.#dispatcher.pools.map(({ surveyedAt, config }) => surveyedAt + early * config.pollFloorMs),
      )
      this.#surveyPaysAt = now + (now - startedAt) / surveyShare
      this.#nextSurveyAt = Math.max(nextAt, this.#surveyPaysAt)
      this.#bell.ring()
      // What was looked at may have changed behind its back.
      if (this.#mustSurveyAgain) this.#surveySoon()
    }
  }

  #take(
    findings: readonly Finding[],
    {
      floors,
      since,
    }: { floors: ReadonlyMap<string, ReadonlyMap<number, { runAt: string; id: string }>>; since: number },
  ): void {
    let nextDueMs = Infinity
    const named = new Map<string, Set<number>>([...floors.keys()].map((queue) => [queue, new Set()]))
    for (const finding of findings) {
      const pool = this.#dispatcher.pool(finding.queue)
      if (finding.type === 'due') nextDueMs = Math.min(nextDueMs, finding.inMs)
      else if (finding.type === 'keyed') {
        if (pool !== undefined) pool.hintKeyed()
      } else {
        const { priority, head, ageMs, queue } = finding
        named.get(queue)?.add(priority)
        pool?.floors.found(priority, head, { since: since - ageMs, before: floors.get(queue)?.get(priority) })
      }
    }
    for (const [queue, priorities] of named) this.#dispatcher.pool(queue)?.floors.forget(priorities)
    this.#dueIn(nextDueMs)
  }

  /** Something falls due in so long; a timer is set to the earliest. */
  #dueIn(ms: number): void {
    this.#nextDueAt = Math.min(this.#nextDueAt, performance.now() + Math.max(0, ms))
  }

  async #promote(): Promise<void> {
    if (this.#isPromoting) return
    this.#isPromoting = true
    this.#nextDueAt = Infinity
    try {
      const { ready, nextInMs } = await promote(this.#db, {
        queues: this.#served.queues,
        limit: promoteBatch,
      })
      this.#returned(ready)
      // A full batch means that more is probably due already.
      if (ready.length >= promoteBatch) this.#dueIn(0)
      else if (nextInMs !== undefined) this.#dueIn(nextInMs)
    } catch (error) {
      this.#trouble('promote', error)
      this.#dueIn(Math.random() * 1_000)
    } finally {
      this.#isPromoting = false
      this.#bell.ring()
    }
  }

  /** Jobs are ready again, below the floor perhaps. */
  #returned(returned: readonly Returned[]): void {
    for (const one of returned) this.#mayReturn(one)
    this.#bell.ring()
  }

  #mayReturn({ queue, priority, runAt, id, key }: Returned): void {
    const pool = this.#dispatcher.pool(queue)
    if (key !== null) pool?.hintKeyed()
    else pool?.floors.lower(priority, { runAt, id })
  }

  #hear(hints: readonly Hint[]): void {
    for (const { queue, priority, keyed, inMs } of hints) {
      const pool = this.#dispatcher.pool(queue)
      if (pool === undefined) continue
      if (inMs > 0) this.#dueIn(inMs)
      else if (keyed) pool.hintKeyed()
      else pool.floors.hint(priority)
    }
    this.#bell.ring()
  }

  #ended(ended: Ended): void {
    const { held, outcome } = ended
    if (held.isGivenUp) return
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
    this.#isFine()
    const { outcome, held } = ended
    if (outcome.type === 'retry' || outcome.type === 'snoozed') this.#dueIn(outcome.delayMs + 1)
    if (outcome.type === 'released') this.#mayReturn(held.job)
    this.#report.settled(ended)
  }

  #refused(ended: Ended): void {
    this.#letGo(ended.held)
    this.#report.refused(ended)
  }

  /** Only now is its place free. */
  #letGo(held: HeldJob): void {
    const pool = this.#dispatcher.pool(held.job.queue)
    this.#held.remove(held)
    if (pool === undefined) return
    pool.held--
    if (pool.config.prefetch === 0) this.#dispatcher.startAll()
    if (pool.isHungry()) this.#bell.ring()
  }

  /** Gives back jobs that wait for a slot. */
  #release(test: (held: HeldJob) => boolean, reason: string): void {
    for (const pool of this.#dispatcher.pools) {
      for (const held of pool.takeWhere(test)) {
        pool.wasInVain = true
        held.phase = 'settling'
        this.#settler.add({ held, outcome: { type: 'released', reason }, ranMs: 0 })
      }
    }
  }

  /** After the drain: tells handlers to stop, waits a moment, and gives back what will not. */
  async #endRunning(): Promise<void> {
    if (this.#dispatcher.running === 0) return
    for (const held of this.#held.all()) {
      if (held.phase === 'running') held.abort('shutdown', stopError())
    }
    await this.#until(() => this.#dispatcher.running === 0, { ms: 1_000 })
    // What such a handler has open under ctx.tx locks its row, and is not to be stored any more.
    if (this.#dispatcher.running > 0) this.#txDb.abandon()
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

  async #claimsAnswered(): Promise<void> {
    await this.#until(() => this.#dispatcher.pools.every((pool) => !pool.isClaiming), { ms: 10_000 })
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
        this.#mustReconcile = true
        this.#bell.ring()
      },
      onTrouble: (message) => {
        log.warn({ workerId: this.workerId, error: message }, 'heartbeat failed, trying again')
      },
    })
  }

  #newClaims(): Claims {
    const { workerId } = this.#lease
    return new Claims({ db: this.#db, workerId, kinds: this.#served.kinds })
  }

  #abortAll(reasonFor: (held: HeldJob) => Error): void {
    for (const held of this.#held.all()) {
      if (held.phase === 'running') held.abort('lease', reasonFor(held))
    }
    this.#release(() => true, 'the lease was at risk')
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
    await this.#until(() => this.#dispatcher.running === 0, { ms: worker.leaseMs })
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
        this.#trouble('register', error)
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
        this.#hear(hintsIn(payload))
      },
      onConnected: () => {
        // What was said while we were deaf is found by looking.
        this.#surveySoon()
      },
    })
  }

  #newLoops(): { reconciling: Loop; others: Loop[] } {
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
        this.#returned(returned)
        this.#surveySoon()
      },
      events,
      log,
    }
    const onTrouble = (name: string, error: unknown): void => {
      this.#trouble(name, error)
    }
    const loop = (name: string, everyMs: number, pass: () => Promise<void>): Loop =>
      new Loop({ name, everyMs, pass, onTrouble })
    // With nothing in hand too: what is here without our knowing is what it looks for.
    const reconciling = loop('reconcile', worker.sweepEveryMs, () => reconcile(config))
    const others = [
      loop('sweep', worker.sweepEveryMs, () => sweepLost(config)),
      loop('prefetch', prefetchTtlMs / 4, () => {
        const oldest = performance.now() - prefetchTtlMs
        this.#release(({ heldSince }) => heldSince < oldest, 'it waited too long for a slot')
        return Promise.resolve()
      }),
      // With the start already: a kind that nobody handles is most likely one that was forgotten in a deployment.
      new Loop({
        ...{ name: 'unknown-kinds', everyMs: 30_000, isEager: true, onTrouble },
        pass: watchUnknownKinds(config),
      }),
    ]
    return { reconciling, others }
  }

  #about(): AboutWorker {
    const { worker, handlers } = this.#config
    return {
      host: hostname(),
      pid: process.pid,
      version: worker.version,
      stintVersion: stintVersion(),
      queues: Object.fromEntries(worker.queues.map(({ name, concurrency }) => [name, concurrency])),
      kinds: handlers.kinds,
    }
  }

  #isFine(): void {
    this.#brokenSince = undefined
  }

  /** The database is away or refuses. Told at most once a second; a refusal that lasts ends the process. */
  #trouble(what: string, error: unknown): void {
    const { events, log, onFatal } = this.#config
    events.emit('trouble', { what, error })
    const now = performance.now()
    const trouble = classify(error)
    if (now - this.#lastTroubleAt > 1_000) {
      this.#lastTroubleAt = now
      log.warn(
        { what, trouble, error: error instanceof Error ? error.message : String(error) },
        'database trouble, trying again',
      )
    }
    if (trouble !== 'broken' && trouble !== 'corrupt') return
    this.#brokenSince ??= now
    if (now - this.#brokenSince > brokenForMs)
      onFatal(error instanceof Error ? error : new Error(String(error)))
  }
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
