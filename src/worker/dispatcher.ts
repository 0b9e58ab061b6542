import { waitAfterMs } from '../db/wait.ts'
import type { Claims } from './claims.ts'
import type { ContextServices } from './context.ts'
import { execute, executeBatch } from './execute.ts'
import { leaseLost } from './fenced-tx.ts'
import type { Handlers } from './handlers.ts'
import { HeldJob } from './held-job.ts'
import type { HeldJobs } from './held-job.ts'
import type { Children } from './isolate/children.ts'
import type { WorkerConfig } from './options.ts'
import type { Outcome } from './outcome.ts'
import { QueuePool } from './queue-pool.ts'
import type { Ended } from './settle.ts'
import type { Watch } from './watch.ts'

export interface DispatcherConfig {
  worker: WorkerConfig
  handlers: Handlers
  held: HeldJobs
  watch: Watch
  services: ContextServices
  children: Children
  /** Whether claiming is allowed now: not while stopping, nor with a lease at risk. */
  isOpen: () => boolean
  onStarted: (held: HeldJob) => void
  onEnded: (ended: Ended) => void
  /** A claim failed; what it took, if anything, is found by the reconciling. */
  onTrouble: (error: unknown) => void
  onClaimed: (count: number) => void
  /** A queue has been asked, and has no more to give for now: those that had to wait for it may be asked. */
  onAsked: () => void
}

/** Whether one slot is given to the queue that is due by weight, or to the first in the list that has work. */
export class Dispatcher {
  readonly pools: readonly QueuePool[]
  readonly #config: DispatcherConfig
  readonly #byName: ReadonlyMap<string, QueuePool>
  readonly #isShared: boolean
  #claims: Claims | undefined
  #running = 0
  /** The turn of whoever started last: a queue that was empty does not get to catch up on what it missed. */
  #turn = 0
  #holdUntil = 0
  #failures = 0

  constructor(config: DispatcherConfig) {
    this.#config = config
    const { queues, concurrency } = config.worker
    this.pools = queues.map((queue) => new QueuePool(queue))
    this.#byName = new Map(this.pools.map((pool) => [pool.config.name, pool]))
    // Where every queue could use all its slots at once, there is nothing to share out.
    this.#isShared = concurrency < queues.reduce((sum, queue) => sum + queue.concurrency, 0)
    for (const pool of this.pools) pool.batchSize = config.handlers.batchSizeOf(pool.config.name)
  }

  get running(): number {
    return this.#running
  }

  /** After trouble nothing is asked before this. */
  get holdUntil(): number {
    return this.#holdUntil
  }

  pool(queue: string): QueuePool | undefined {
    return this.#byName.get(queue)
  }

  /** From here on claims are made in this name: anew after a lost lease. */
  use(claims: Claims): void {
    this.#claims = claims
  }

  /** Asks for work wherever some may be and there is room for it. */
  fill(now: number): void {
    this.startAll()
    if (!this.#config.isOpen() || now < this.#holdUntil) return
    for (const pool of this.pools) {
      if (!pool.isClaiming && this.#wanted(pool) > 0) void this.#claim(pool)
    }
  }

  /** Starts whatever waits for a slot. Not under a lease at risk, nor when stopping: what waits then is given back. */
  startAll(): void {
    while (this.#running < this.#config.worker.concurrency && this.#config.isOpen()) {
      const pool = this.#nextToStart()
      if (pool === undefined) return
      this.#start(pool)
    }
  }

  async #claim(pool: QueuePool): Promise<void> {
    const { onClaimed, onAsked, onTrouble, isOpen } = this.#config
    pool.isClaiming = true
    try {
      for (let now = performance.now(); ; now = performance.now()) {
        const wanted = this.#wanted(pool)
        if (wanted <= 0 || !isOpen() || this.#claims === undefined) return
        const claims = this.#claims
        const { jobs, isAged } = await claims.take(pool, wanted, now)
        const since = performance.now()
        pool.claimMs += 0.3 * (since - now - pool.claimMs)
        const claimed = { heldSince: since, workerId: claims.workerId, isAged }
        for (const job of jobs) this.#hold(pool, new HeldJob(job, claimed))
        this.#failures = 0
        if (jobs.length > 0) onClaimed(jobs.length)
        this.startAll()
      }
    } catch (error) {
      this.#holdUntil = performance.now() + waitAfterMs(this.#failures++)
      // What could not be asked is still to be asked.
      pool.floors.probe()
      pool.hintKeyed()
      onTrouble(error)
    } finally {
      pool.isClaiming = false
      if (this.#isShared) onAsked()
    }
  }

  #hold(pool: QueuePool, held: HeldJob): void {
    // Ours again, so we had lost it: what still runs under the older lease is told before it is forgotten.
    const older = this.#config.held.get(held.job.id)
    older?.abort('lease', leaseLost(older))
    this.#config.held.add(held)
    pool.add(held)
  }

  /** How many jobs of a queue to ask for now. */
  #wanted(pool: QueuePool): number {
    if (!pool.mayHaveWork || !pool.isHungry()) return 0
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

  #nextToStart(): QueuePool | undefined {
    let best: QueuePool | undefined
    for (const pool of this.pools) {
      if (!pool.canStart) continue
      if (this.#config.worker.order === 'strict') return pool
      pool.turn = Math.max(pool.turn, this.#turn - 1)
      if (best === undefined || pool.turn < best.turn) best = pool
    }
    return best
  }

  #start(pool: QueuePool): void {
    const first = pool.take()
    if (first === undefined) return
    const registered = this.#config.handlers.get(first.job.kind)
    const more =
      registered.type === 'batch' && registered.size > 1
        ? pool.takeWhere(({ job }) => job.kind === first.job.kind, registered.size - 1)
        : []
    this.#turn = pool.turn
    pool.turn += (1 + more.length) / pool.config.weight
    pool.wasInVain = false
    pool.running++
    pool.runningJobs += 1 + more.length
    this.#running++
    const { handlers, services, children } = this.#config
    if (more.length === 0) {
      this.#begin(first, registered.contract.timeoutMs)
      const running = children.takes(first, registered)
        ? children.run(first, registered)
        : execute(first, handlers, services)
      void running.then((outcome) => {
        this.#end(pool, [first], [outcome])
      })
      return
    }
    const batch = [first, ...more]
    for (const held of batch) this.#begin(held, registered.contract.timeoutMs)
    void executeBatch(batch, handlers, services).then((outcomes) => {
      this.#end(pool, batch, outcomes)
    })
  }

  #begin(held: HeldJob, timeoutMs: number): void {
    held.phase = 'running'
    held.startedAt = performance.now()
    this.#config.watch.started(held, held.job.more?.timeoutMs ?? timeoutMs)
    this.#config.onStarted(held)
  }

  #end(pool: QueuePool, batch: readonly HeldJob[], outcomes: readonly Outcome[]): void {
    pool.running--
    pool.runningJobs -= batch.length
    this.#running--
    const now = performance.now()
    for (const [index, held] of batch.entries()) {
      const outcome = outcomes[index]
      if (outcome === undefined) continue
      held.phase = 'settling'
      const ranMs = now - held.startedAt
      pool.ran(ranMs)
      this.#config.watch.ended(held, ranMs)
      this.#config.onEnded({ held, outcome, ranMs })
    }
    this.startAll()
  }
}
