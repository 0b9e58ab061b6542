import { waitAfterMs } from '../../db/wait.ts'
import type { Claims } from './claims.ts'
import type { ContextServices } from '../attempt/context.ts'
import { isSuspect, mustBeAlone, runsOnce } from '../attempt/crash.ts'
import { endedBefore, execute, executeBatch } from '../attempt/execute.ts'
import type { Handlers, Registered } from '../handlers.ts'
import { HeldJob } from '../attempt/held-job.ts'
import type { HeldJobs } from '../attempt/held-job.ts'
import type { Children } from '../isolate/children.ts'
import type { WorkerConfig } from '../options.ts'
import type { Ending, Outcome } from '../attempt/outcome.ts'
import { QueuePool } from './queue-pool.ts'
import { faultIn, invalidRow } from '../attempt/row-fault.ts'
import type { Ended } from '../settle/settler.ts'
import { Slot } from '../attempt/slot.ts'
import { Suspects } from './suspects.ts'
import type { Watch } from '../watch/deadlines.ts'

export interface DispatcherConfig {
  worker: WorkerConfig
  handlers: Handlers
  held: HeldJobs
  watch: Watch
  services: ContextServices
  children: Children
  /** Whether claiming is allowed now: not while stopping, nor with a lease at risk. */
  isOpen: () => boolean
  /** A job that runs here is not ours any more. */
  onLost: (held: HeldJob) => void
  /** Notes in the database that a handler is about to begin; false where its lease is gone. */
  noteBegun: (held: HeldJob) => Promise<boolean>
  onStarted: (held: HeldJob) => void
  onEnded: (ended: Ended) => void
  /** A claim of this queue failed; what it took, if anything, is found by the reconciling. */
  onTrouble: (error: unknown, queue: string) => void
  /** A claim of this queue was answered, with so many; `isWell` unless its other sort of claim failed last. */
  onClaimed: (claimed: { count: number; queue: string; isWell: boolean }) => void
  /** A queue has been asked, and has no more to give for now: those that had to wait for it may be asked. */
  onAsked: () => void
}

/** Whether one slot is given to the queue that is due by weight, or to the first in the list that has work. */
export class Dispatcher {
  readonly pools: readonly QueuePool[]
  readonly suspects = new Suspects()
  readonly #config: DispatcherConfig
  readonly #byName: ReadonlyMap<string, QueuePool>
  readonly #isShared: boolean
  readonly #isWeighted: boolean
  #claims: Claims | undefined
  #running = 0
  /** Slots whose handlers do not end. They are not among the running ones. */
  #stuck = 0
  /**
   * The turn of whoever started last. A queue that had no work does not get to catch up on what it missed; one whose
   * jobs were only not here yet does.
   */
  #turn = 0
  /** Set while free slots wait for a queue that is due and whose jobs are on their way. */
  #patience: NodeJS.Timeout | undefined

  constructor(config: DispatcherConfig) {
    this.#config = config
    const { queues, concurrency } = config.worker
    this.pools = queues.map((queue) => new QueuePool(queue))
    this.#byName = new Map(this.pools.map((pool) => [pool.config.name, pool]))
    // Where every queue could use all its slots at once, there is nothing to share out.
    this.#isShared = concurrency < queues.reduce((sum, queue) => sum + queue.concurrency, 0)
    this.#isWeighted = this.#isShared && config.worker.order === 'weighted'
    for (const pool of this.pools) pool.batchSize = config.handlers.batchSizeOf(pool.config.name)
  }

  get running(): number {
    return this.#running
  }

  get stuck(): number {
    return this.#stuck
  }

  /** When a queue may be asked again after trouble; Infinity where none has to wait. */
  heldUntil(now: number): number {
    return Math.min(...this.pools.map(({ holdUntil }) => (holdUntil > now ? holdUntil : Infinity)))
  }

  pool(queue: string): QueuePool | undefined {
    return this.#byName.get(queue)
  }

  /** Takes a job out that waits for a slot; false where it does not any more. */
  takeWaiting(held: HeldJob): boolean {
    const isIt = (one: HeldJob): boolean => one === held
    const taken = this.pool(held.job.queue)?.takeWhere(isIt) ?? []
    return taken.length + this.suspects.takeWhere(isIt).length > 0
  }

  /** From here on claims are made in this name: anew after a lost lease. */
  use(claims: Claims): void {
    this.#claims = claims
  }

  /** Asks for work wherever some may be and there is room for it. */
  fill(now: number): void {
    this.startAll()
    if (!this.#config.isOpen()) return
    for (const pool of this.pools) {
      if (!pool.isClaiming && now >= pool.holdUntil && this.#wanted(pool) > 0) void this.#claim(pool)
    }
  }

  /** Starts whatever waits for a slot. Not under a lease at risk, nor when stopping: what waits then is given back. */
  startAll(): void {
    if (this.suspects.waiting > 0) this.#startSuspect()
    while (this.#hasSlot() && this.#config.isOpen() && !this.suspects.holdsOthers(performance.now())) {
      const pool = this.#nextToStart()
      if (pool === undefined) return
      this.#start(pool)
      if (pool.waiting === 0) this.#askAtOnce(pool)
    }
  }

  /** Where queues share slots, one with an empty hand asks before the next slot is free: else that is another's. */
  #askAtOnce(pool: QueuePool): void {
    if (!this.#isWeighted || pool.isClaiming) return
    if (performance.now() >= pool.holdUntil && this.#wanted(pool) > 0) void this.#claim(pool)
  }

  async #claim(pool: QueuePool): Promise<void> {
    const { onClaimed, onAsked, onTrouble, isOpen } = this.#config
    pool.isClaiming = true
    try {
      for (let now = performance.now(); ; now = performance.now()) {
        const wanted = this.#wanted(pool)
        if (wanted <= 0 || !isOpen() || this.#claims === undefined) return
        const claims = this.#claims
        pool.claimingSince = now
        const { jobs, isAged } = await claims.take(pool, wanted, now)
        const since = performance.now()
        pool.claimMs += 0.3 * (since - now - pool.claimMs)
        pool.gaveLast = jobs.length > 0
        const claimed = { heldSince: since, workerId: claims.workerId, isAged }
        for (const job of jobs) this.#hold(pool, new HeldJob(job, claimed))
        onClaimed({ count: jobs.length, queue: pool.config.name, isWell: pool.wentWell() })
        // The next claim goes out first: handlers that end at once keep the loop until all have, and the server idle.
        if (jobs.length > 0 && this.#wanted(pool) > 0)
          setImmediate(() => {
            this.startAll()
          })
        else this.startAll()
      }
    } catch (error) {
      pool.holdUntil = performance.now() + waitAfterMs(pool.failed())
      // What could not be asked is still to be asked.
      pool.floors.probe()
      pool.hintKeyed()
      onTrouble(error, pool.config.name)
    } finally {
      pool.isClaiming = false
      pool.claimingSince = undefined
      if (this.#isShared) onAsked()
    }
  }

  #hold(pool: QueuePool, held: HeldJob): void {
    // Ours again, so we had lost it: what still runs under the older lease is told before it is forgotten.
    const older = this.#config.held.get(held.job.id)
    if (older !== undefined) this.#config.onLost(older)
    this.#config.held.add(held)
    const fault = faultIn(held.job)
    if (fault !== undefined) {
      pool.held++
      held.phase = 'settling'
      this.#config.onEnded({ held, outcome: endedBefore(held) ?? invalidRow(held.job, fault), ranMs: 0 })
    } else if (mustBeAlone(held.job, this.#config.worker.crashLimit) && !this.#isIsolated(held)) {
      pool.held++
      this.suspects.add({ pool, held })
    } else pool.add(held)
  }

  /** How many jobs of a queue to ask for now. */
  #wanted(pool: QueuePool): number {
    if (this.#slots <= 0 || !pool.mayHaveWork) return 0
    if (this.#isWeighted) pool.slots = this.#shareOf(pool)
    if (!pool.isHungry()) return 0
    const room = pool.room()
    if (!this.#isShared) return room
    const free = this.#config.worker.concurrency - this.#running
    if (this.#config.worker.order === 'strict') {
      // A lower queue gets what the higher ones leave, and only once they have been asked.
      const higher = this.pools.slice(0, this.pools.indexOf(pool))
      if (higher.some((one) => one.isClaiming || (one.mayHaveWork && one.isHungry()))) return 0
      return Math.min(room, free - this.pools.reduce((sum, one) => sum + one.waiting, 0))
    }
    // One in hand is enough for the queue to have its turn; the rest is for what is free.
    const ahead = pool.wasInVain ? 0 : Math.max(1, pool.ahead())
    return Math.min(room, Math.max(0, free) + ahead - pool.waiting)
  }

  /** The slots that are a queue's by weight. A light one that counts on more keeps in its hand what it has no turn for. */
  #shareOf({ config }: QueuePool): number {
    const weights = this.pools.reduce((sum, one) => (one.isBusy ? sum + one.config.weight : sum), 0)
    return Math.min(config.concurrency, (this.#slots * config.weight) / Math.max(weights, config.weight))
  }

  /** Under weighted order the one that is due; undefined where its jobs are on their way and worth the wait. */
  #nextToStart(): QueuePool | undefined {
    if (this.#config.worker.order === 'strict') return this.pools.find((pool) => pool.canStart)
    let best: QueuePool | undefined
    let owed: QueuePool | undefined
    for (const pool of this.pools) {
      if (pool.canStart) {
        if (best === undefined || pool.turn < best.turn) best = pool
      } else if (pool.isOwed()) {
        if (owed === undefined || pool.turn < owed.turn) owed = pool
      } else pool.turn = Math.max(pool.turn, this.#turn - 1)
    }
    if (best === undefined || owed === undefined || best.turn <= owed.turn) return best
    // Where there are slots for all, nobody is in anybody's way.
    return this.#isWeighted && this.#waitsFor(owed) ? undefined : best
  }

  /**
   * Whether free slots are kept for a queue whose claim is under way. Handlers that end together would else find the
   * hands of the heavier queues empty, and leave their turns to the lighter ones, time and again.
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

  /** Handlers that may be at work at once: in the place of stuck ones others are called, within bounds. */
  get #slots(): number {
    const { concurrency, stuck } = this.#config.worker
    return concurrency - Math.max(0, this.#stuck - stuck.replacements)
  }

  #hasSlot(): boolean {
    return this.#running < this.#slots
  }

  #startSuspect(): void {
    if (!this.#hasSlot() || !this.#config.isOpen()) return
    const hasOthers = this.#config.held.all().some(({ phase }) => phase !== 'waiting')
    const suspect = this.suspects.next({ hasOthers, now: performance.now() })
    if (suspect !== undefined) void this.#runNoted(this.#occupy(suspect.pool, [suspect.held]), suspect.held)
  }

  /** First it is noted that it begins: what happens then has a name. */
  async #runNoted(slot: Slot, held: HeldJob): Promise<void> {
    let whyNot = 'its lease was lost before it began'
    try {
      held.isNotedBegun = await this.#config.noteBegun(held)
      if (!this.#config.isOpen()) whyNot = 'the worker stopped before it began'
      else if (held.isNotedBegun) {
        this.#run(slot, this.#config.handlers.get(held.job.kind))
        return
      }
    } catch (error) {
      whyNot = 'it could not be noted that it begins'
      this.#config.onTrouble(error, slot.pool.config.name)
    }
    held.startedAt = performance.now()
    this.#end(slot, [{ type: 'released', reason: whyNot }])
  }

  #start(pool: QueuePool): void {
    const first = pool.take()
    if (first === undefined) return
    if (runsOnce(first.job) || (isSuspect(first.job) && !this.#isIsolated(first))) {
      void this.#runNoted(this.#occupy(pool, [first]), first)
      return
    }
    const registered = this.#config.handlers.get(first.job.kind)
    const more =
      registered.type === 'batch' && registered.size > 1
        ? pool.takeWhere(
            ({ job }) => job.kind === first.job.kind && !isSuspect(job) && !runsOnce(job),
            registered.size - 1,
          )
        : []
    this.#run(this.#occupy(pool, more.length === 0 ? [first] : [first, ...more]), registered)
  }

  /** Whether it is for a child: that one's end has a name, and harms nobody. */
  #isIsolated(held: HeldJob): boolean {
    return this.#config.children.takes(held, this.#config.handlers.get(held.job.kind))
  }

  #occupy(pool: QueuePool, batch: readonly HeldJob[]): Slot {
    this.#turn = pool.turn
    pool.turn += batch.length / pool.config.weight
    pool.running++
    pool.runningJobs += batch.length
    this.#running++
    return new Slot(pool, batch)
  }

  /** Attempts end in outcomes and do not throw: what is thrown here comes of a row that no check knows. */
  #run(slot: Slot, registered: Registered): void {
    const { handlers, services, children } = this.#config
    const { batch } = slot
    const fail = (thrown: unknown): void => {
      this.#end(
        slot,
        batch.map(({ job }) => invalidRow(job, undefined, thrown)),
      )
    }
    try {
      for (const held of batch) this.#begin(held, registered.contract.timeoutMs)
      const [first] = batch
      if (batch.length === 1 && first !== undefined) {
        // No child is started for what is not to be started.
        first.isIsolated = endedBefore(first) === undefined && children.takes(first, registered)
        const running = first.isIsolated
          ? children.run(first, registered)
          : execute(first, handlers, services)
        void running.then((outcome) => {
          this.#end(slot, [outcome])
        }, fail)
        return
      }
      void executeBatch(batch, handlers, services).then((outcomes) => {
        this.#end(slot, outcomes)
      }, fail)
    } catch (thrown) {
      fail(thrown)
    }
  }

  #begin(held: HeldJob, timeoutMs: number): void {
    held.phase = 'running'
    held.startedAt = performance.now()
    this.#config.watch.started(held, held.job.more?.timeoutMs ?? timeoutMs)
    // One that expired or was cancelled before only ends.
    if (endedBefore(held) === undefined) this.#config.onStarted(held)
  }

  /** Ends a job whose handler does not. When that was the last of its slot, another opens in its place. */
  giveUp(held: HeldJob, outcome: Ending): void {
    const { slot } = held
    if (slot === undefined || held.phase !== 'running') return
    held.isGivenUp = true
    held.phase = 'settling'
    slot.open--
    if (slot.open === 0) this.#vacate(slot, { isStuck: true })
    this.#config.onEnded({ held, outcome, ranMs: performance.now() - held.startedAt })
    this.startAll()
  }

  #end(slot: Slot, outcomes: readonly Outcome[]): void {
    if (slot.isStuck) {
      // It ended after all; its place has been given away.
      slot.isStuck = false
      this.#stuck--
      return
    }
    this.#vacate(slot, { isStuck: false })
    const now = performance.now()
    for (const [index, held] of slot.batch.entries()) {
      const outcome = outcomes[index]
      if (outcome === undefined || held.isGivenUp) continue
      held.phase = 'settling'
      const ranMs = now - held.startedAt
      slot.pool.ran(ranMs)
      this.#config.watch.ended(held, ranMs)
      this.#config.onEnded({ held, outcome, ranMs })
    }
    this.startAll()
  }

  #vacate(slot: Slot, { isStuck }: { isStuck: boolean }): void {
    slot.isStuck = isStuck
    if (isStuck) this.#stuck++
    slot.pool.running--
    slot.pool.runningJobs -= slot.batch.length
    this.#running--
    for (const pool of this.pools) pool.wasInVain = false
  }
}
