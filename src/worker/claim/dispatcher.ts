import type { Queryable } from '../../db/statement.ts'
import type { Bell } from '../../jobs/wake-up/bell.ts'
import { runNoted } from '../attempt/begun.ts'
import { isSuspect, mustBeAlone, runsOnce } from '../attempt/crash.ts'
import { endedBefore } from '../attempt/execute.ts'
import { HeldJob, Slot } from '../attempt/held-job.ts'
import type { HeldJobs } from '../attempt/held-job.ts'
import { loseJob } from '../attempt/lose-job.ts'
import type { Ending } from '../attempt/outcome.ts'
import { faultIn, invalidRow } from '../attempt/row-fault.ts'
import { endAttempt, endWithoutNotes, runSlot } from '../attempt/run.ts'
import type { AttemptParts, SlotOwner } from '../attempt/run.ts'
import type { WorkerConfig } from '../options.ts'
import type { ClaimReport } from './claim-report.ts'
import type { Pools } from './pools.ts'
import type { QueuePool } from './queue-pool.ts'
import { Suspects } from './suspects.ts'

export interface DispatcherConfig {
  worker: WorkerConfig
  db: Queryable
  pools: Pools
  held: HeldJobs
  bell: Bell
  claimReport: ClaimReport
  attempts: AttemptParts
}

/** Claims jobs where there is room for them, and starts them in slots: by the weights of their queues, or by their order. */
export class Dispatcher implements SlotOwner {
  readonly #config: DispatcherConfig
  readonly #pools: readonly QueuePool[]
  readonly #suspects = new Suspects()
  readonly #isShared: boolean
  readonly #isWeighted: boolean
  /** Slots of all queues together. */
  #concurrency: number
  #running = 0
  /** Slots whose handlers do not end. They do not count as running. */
  #stuck = 0
  /**
   * The turn of the queue that started last. A queue that had no work does not catch up on the turns it missed; a queue
   * whose jobs were on their way does.
   */
  #turn = 0
  /** Set while free slots wait for the queue whose turn it is and whose claim is under way. */
  #patience: NodeJS.Timeout | undefined
  #willRing = false

  constructor(config: DispatcherConfig) {
    this.#config = config
    this.#pools = config.pools.all
    const { queues, concurrency } = config.worker
    // If every queue can use all its slots at once, nothing is shared.
    this.#concurrency = concurrency
    this.#isShared = concurrency < queues.reduce((sum, queue) => sum + queue.concurrency, 0)
    this.#isWeighted = this.#isShared && config.worker.order === 'weighted'
  }

  get running(): number {
    return this.#running
  }

  get stuck(): number {
    return this.#stuck
  }

  /** When a queue, or a key, may be claimed from again after a failure or a lack of tokens; Infinity if none has to wait. */
  heldUntil(now: number): number {
    const times = this.#pools.flatMap(({ holdUntil, closing }) => [holdUntil, closing.dryUntil])
    return Math.min(...times.map((time) => (time > now ? time : Infinity)))
  }

  /** Claims from each queue that may have work, if there is room for it. */
  fill(now: number): void {
    this.startAll()
    if (!this.#isOpen) return
    for (const pool of this.#pools) {
      pool.closing.reopenDue(now)
      if (!pool.isClaiming && now >= pool.holdUntil && this.#wanted(pool) > 0) void this.#claim(pool)
    }
  }

  /**
   * Starts the jobs that wait for a slot. Not with a lease at risk, nor when stopping: then waiting jobs are given
   * back.
   */
  startAll(): void {
    if (this.#isOpen) for (const pool of this.#pools) if (pool.rules.takeNews()) this.#follow(pool)
    if (this.#suspects.waiting > 0) this.#startSuspect()
    while (this.#hasSlot() && this.#isOpen && !this.#suspects.holdsOthers(performance.now())) {
      const pool = this.#nextToStart()
      if (pool === undefined) return
      this.#start(pool)
      if (pool.waiting === 0) this.#askAtOnce(pool)
    }
  }

  /**
   * If queues share slots, a queue without waiting jobs claims before the next slot is free: otherwise another queue
   * gets that slot.
   */
  #askAtOnce(pool: QueuePool): void {
    if (!this.#isWeighted || pool.isClaiming) return
    if (performance.now() >= pool.holdUntil && this.#wanted(pool) > 0) void this.#claim(pool)
  }

  async #claim(pool: QueuePool): Promise<void> {
    const { claimReport, bell } = this.#config
    try {
      for (let now = performance.now(); ; now = performance.now()) {
        pool.claimSent(now)
        const wanted = this.#wanted(pool)
        // A limit that the last claim met holds until a job ends or its time has come: the loop wakes up for both.
        if (wanted <= 0 || !this.#isOpen || now < pool.closing.until) return
        const { claims } = this.#config.attempts.tenure
        const { jobs, isAged } = await claims.take(pool, wanted, now)
        const since = performance.now()
        const claimed = { heldSince: since, workerId: claims.workerId, isAged: false }
        const aged = { ...claimed, isAged: true }
        for (const job of jobs) this.#hold(pool, new HeldJob(job, isAged(job) ? aged : claimed))
        // A pause or a breaker may have come while the claim was under way.
        if (jobs.length > 0 && pool.rules.mayHoldBack(since)) this.#giveBack(pool)
        const isWell = pool.claimAnswered({ jobs: jobs.length, tookMs: since - now })
        claimReport.answered({ count: jobs.length, queue: pool.config.name, isWell })
        // The next claim is sent first: handlers that end at once occupy the event loop until all have ended, and the
        // server would be idle.
        if (jobs.length > 0 && this.#wanted(pool) > 0)
          setImmediate(() => {
            this.startAll()
          })
        else this.startAll()
      }
    } catch (error) {
      pool.claimFailed()
      claimReport.failed(pool.config.name, error)
    } finally {
      pool.claimsEnded()
      // Queues that had to wait for this claim may claim now.
      if (this.#isShared) bell.ring()
    }
  }

  #hold(pool: QueuePool, held: HeldJob): void {
    // This worker claimed a job that it already holds, so it had lost it: the attempt under the older lease is told
    // before it is forgotten.
    const older = this.#config.held.get(held.job.id)
    if (older !== undefined) loseJob(older, this.#config.attempts.report)
    this.#config.held.add(held)
    const fault = faultIn(held.job)
    if (fault !== undefined) {
      pool.hold()
      this.#endUnstarted(held, endedBefore(held) ?? invalidRow(held.job, fault))
    } else if (mustBeAlone(held.job, this.#config.worker.crashLimit) && !this.#isIsolated(held)) {
      pool.hold()
      this.#suspects.add({ pool, held })
    } else pool.add(held)
  }

  /** How many jobs of a queue to claim now. */
  #wanted(pool: QueuePool): number {
    if (this.#slots <= 0) return 0
    if (!pool.mayHaveWork && !pool.rules.hasProbe(performance.now())) return 0
    if (this.#isWeighted) pool.share(this.#shareOf(pool))
    const urgent = pool.urgent()
    if (!pool.isHungry()) return urgent
    const room = Math.max(urgent, pool.room())
    if (!this.#isShared) return room
    const free = this.#concurrency - this.#running
    if (this.#config.worker.order === 'strict') {
      // A lower queue gets the slots that the higher ones leave, and only after those have claimed.
      const higher = this.#pools.slice(0, this.#pools.indexOf(pool))
      if (higher.some((one) => one.isClaiming || (one.mayHaveWork && one.isHungry()))) return 0
      return Math.min(room, free - this.#pools.reduce((sum, one) => sum + one.waiting, 0))
    }
    // One waiting job is enough for the queue to get its turn; more are claimed only for free slots.
    const ahead = pool.isPrefetchPaused ? 0 : Math.max(1, pool.ahead())
    return Math.min(room, Math.max(0, free) + ahead - pool.waiting)
  }

  /** The queue's slots by weight. A light queue that counted on more would hold jobs for which it has no turn. */
  #shareOf({ config, concurrency }: QueuePool): number {
    const weights = this.#pools.reduce((sum, one) => (one.isBusy ? sum + one.config.weight : sum), 0)
    return Math.min(concurrency, (this.#slots * config.weight) / Math.max(weights, config.weight))
  }

  /** Under weighted order, the queue whose turn it is; undefined if its jobs are on their way and worth the wait. */
  #nextToStart(): QueuePool | undefined {
    if (this.#config.worker.order === 'strict') return this.#pools.find((pool) => pool.canStart)
    let best: QueuePool | undefined
    let owed: QueuePool | undefined
    for (const pool of this.#pools) {
      if (pool.canStart) {
        if (best === undefined || pool.turn < best.turn) best = pool
      } else if (pool.isOwed()) {
        if (owed === undefined || pool.turn < owed.turn) owed = pool
      } else pool.skipTurnsTo(this.#turn - 1)
    }
    if (best === undefined || owed === undefined || best.turn <= owed.turn) return best
    // If there are slots for all, no queue blocks another.
    return this.#isWeighted && this.#waitsFor(owed) ? undefined : best
  }

  /**
   * Whether free slots are kept for a queue whose claim is under way. Otherwise, whenever many handlers end together,
   * the heavier queues have no waiting jobs yet and lose their turns to the lighter ones.
   */
  #waitsFor(owed: QueuePool): boolean {
    const ms = owed.worthWaitingMs()
    if (ms < 1) return false
    this.#patience ??= setTimeout(() => {
      this.#patience = undefined
      this.startAll()
    }, ms).unref()
    return true
  }

  /** Handlers that may be at work at once. Stuck slots are replaced, up to a limit. */
  get #slots(): number {
    return this.#concurrency - Math.max(0, this.#stuck - this.#config.worker.stuck.replacements)
  }

  #hasSlot(): boolean {
    return this.#running < this.#slots
  }

  #startSuspect(): void {
    if (!this.#hasSlot() || !this.#isOpen) return
    const hasOthers = this.#config.held.all().some(({ phase }) => phase === 'running' || phase === 'settling')
    const suspect = this.#suspects.next({ hasOthers, now: performance.now() })
    if (suspect !== undefined) this.#runNoted(suspect.pool, suspect.held)
  }

  #runNoted(pool: QueuePool, held: HeldJob): void {
    const { db, attempts: parts, claimReport: report } = this.#config
    void runNoted(held, this.#occupy(pool, [held]), { db, owner: this, parts, report })
  }

  #start(pool: QueuePool): void {
    const first = pool.take()
    if (first === undefined) return
    if (runsOnce(first.job) || (isSuspect(first.job) && !this.#isIsolated(first))) {
      this.#runNoted(pool, first)
      return
    }
    const { attempts } = this.#config
    const registered = attempts.handlers.get(first.job.kind)
    const more =
      registered.type === 'batch' && registered.size > 1
        ? pool.takeWhere(
            ({ job }) => job.kind === first.job.kind && !isSuspect(job) && !runsOnce(job),
            registered.size - 1,
          )
        : []
    runSlot(this.#occupy(pool, more.length === 0 ? [first] : [first, ...more]), registered, this, attempts)
  }

  /** Whether the job runs in a child: a crash of a child has a known cause, and harms no other job. */
  #isIsolated(held: HeldJob): boolean {
    const { children, handlers } = this.#config.attempts
    return children.takes(held, handlers.get(held.job.kind))
  }

  #occupy(pool: QueuePool, batch: readonly HeldJob[]): Slot {
    this.#turn = pool.turn
    pool.started(batch)
    this.#running++
    return new Slot(batch)
  }

  /** The handler of a job has returned: its slot is free, unless it was given up before. */
  returned(held: HeldJob, slot: Slot, ranMs: number): void {
    const pool = this.#config.pools.get(held.job.queue)
    if (!held.isGivenUp) pool?.ran(ranMs)
    const before = slot.leave()
    // A replacement for this slot was opened before.
    if (before === 'stuck') this.#stuck--
    if (before !== 'busy') return
    this.#vacate(slot)
    this.startAll()
  }

  /** The ending of a job is stored or refused: only now there is room for another job. */
  letGo(held: HeldJob): void {
    const { held: all, pools } = this.#config
    all.remove(held)
    const letsOthers = this.#suspects.over(held)
    const pool = pools.get(held.job.queue)
    if (pool === undefined) return
    pool.letGo()
    if (pool.rules.isLimited) pools.reopen(pool, held.job.key)
    if (pool.config.prefetch === 0 || letsOthers) this.startAll()
    if (!this.#willRing && pool.isHungry()) this.#ringSoon()
  }

  /** The rules of a queue have changed. */
  #follow(pool: QueuePool): void {
    // Slots that queues share stay as they are.
    if (!this.#isShared) this.#concurrency = this.#pools.reduce((sum, one) => sum + one.concurrency, 0)
    pool.lanes.weigh()
    this.#giveBack(pool)
  }

  /** Gives back the jobs in hand that a pause or a breaker holds back now. */
  #giveBack(pool: QueuePool): void {
    const now = performance.now()
    const whyNot = ({ job }: HeldJob): string | undefined => pool.rules.whyNotStart(job, now)
    const isHeldBack = (held: HeldJob): boolean => whyNot(held) !== undefined
    const suspects = this.#suspects.takeWhere(
      (held) => held.job.queue === pool.config.name && isHeldBack(held),
    )
    for (const held of [...pool.takeWhere(isHeldBack), ...suspects])
      this.#endUnstarted(held, { type: 'released', reason: whyNot(held) ?? '' })
  }

  /** Rings once for all endings that were stored together: otherwise the loop would turn once for each of them. */
  #ringSoon(): void {
    this.#willRing = true
    // Their attempts continue in microtasks, which are all queued by now.
    queueMicrotask(() => {
      this.#willRing = false
      this.#config.bell.ring()
    })
  }

  /**
   * Ends a job whose handler does not end; returns its slot. If that was the last job of its slot, a replacement slot
   * opens.
   */
  giveUp(held: HeldJob, outcome: Ending): Slot | undefined {
    const { slot } = held
    if (slot === undefined || held.phase !== 'running') return undefined
    const ranMs = performance.now() - held.startedAt
    held.giveUp()
    if (slot.giveUpOne()) {
      this.#stuck++
      this.#vacate(slot)
    }
    void endAttempt({ held, outcome, ranMs }, this, this.#config.attempts)
    this.startAll()
    return slot
  }

  /** Gives back all jobs whose handlers are still at work, at the end of a stop. */
  releaseRunning(reason: string): void {
    for (const held of this.#config.held.all()) {
      if (held.phase !== 'running') continue
      const ranMs = performance.now() - held.startedAt
      held.giveUp()
      void endWithoutNotes(
        { held, outcome: { type: 'released', reason }, ranMs },
        this,
        this.#config.attempts,
      )
    }
  }

  /** Ends a job that waits for a slot, if it still does. */
  endWaiting(held: HeldJob, outcome: Ending): void {
    const isIt = (one: HeldJob): boolean => one === held
    const taken = this.#config.pools.get(held.job.queue)?.takeWhere(isIt) ?? []
    if (taken.length + this.#suspects.takeWhere(isIt).length > 0) this.#endUnstarted(held, outcome)
  }

  /** Gives back jobs that wait for a slot. */
  release(test: (held: HeldJob) => boolean, reason: string): void {
    for (const pool of this.#pools) {
      for (const held of pool.takeWhere(test)) {
        pool.pausePrefetch()
        this.#endUnstarted(held, { type: 'released', reason })
      }
    }
  }

  /** Gives back all waiting jobs, also suspects, which usually wait longer for their turn. */
  releaseAll(reason: string): void {
    this.release(() => true, reason)
    for (const held of this.#suspects.takeWhere(() => true))
      this.#endUnstarted(held, { type: 'released', reason })
  }

  #endUnstarted(held: HeldJob, outcome: Ending): void {
    held.end()
    void endAttempt({ held, outcome, ranMs: 0 }, this, this.#config.attempts)
  }

  #vacate({ batch }: Slot): void {
    this.#config.pools.get(batch[0]?.job.queue ?? '')?.vacated(batch)
    this.#running--
    for (const one of this.#pools) one.resumePrefetch()
  }

  get #isOpen(): boolean {
    return this.#config.attempts.tenure.isOpen
  }
}
