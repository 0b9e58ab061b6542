import { once } from 'node:events'
import { Worker as Thread } from 'node:worker_threads'
import { measureSkew } from '../../db/clock-skew.ts'
import type { ClockSkew } from '../../db/clock-skew.ts'
import type { Queryable } from '../../db/statement.ts'
import { atMost } from '../../db/wait.ts'
import { register, retire } from '../../jobs/leases/lease.ts'
import type { AboutWorker } from '../../jobs/leases/lease.ts'
import { builtFile } from '../../node/built-file.ts'
import { ageMs, inMs, leaseMemory, store } from './lease-memory.ts'
import type { LeaseThreadData, LeaseThreadMessage, LeaseThreadOrder } from './lease-memory.ts'

export interface LeaseConfig {
  workerId: string
  url: string
  schema: string
  leaseMs: number
  /** How long a handler has to end after its deadline. */
  graceMs: number
  /** The latest deadline of the running attempts, in `performance.now()`; -Infinity if none runs. */
  latestDeadline: () => number
  /** What heartbeats report about claims, as JSON. */
  claims: () => string
  /** Other workers have declared this one lost: no job here is ours any more. */
  onLost: () => void
  /** Not renewed for so long that other workers may soon take its jobs. */
  onRisk: () => void
  /** Renewed after it was at risk. */
  onSafe: () => void
  onTrouble: (message: string) => void
  /** The lease is not renewed any more, and will not be. */
  onDead: (why: string) => void
}

/** How long the thread has to close its connection. */
const closeWithinMs = 500

/** However short the lease is: on a busy machine an answer takes a while, and no job runs under a lease at risk. */
const leastSilenceMs = 5_000
/** A thread that still loads its code does not hang, and a replacement would have to load it from the start. */
const startsWithinMs = 60_000

/** A thread that ends is started again; after this many ends without a heartbeat between them, the worker gives up. */
const mostDeaths = 3

/** The share of the lease after which it counts as at risk: before the database gives its jobs to others. */
const riskAt = 0.8

/**
 * This boot's right to its jobs: one row, renewed from a thread.
 *
 * The thread sends a heartbeat every third of a lease and writes into shared memory when the last confirmed one was
 * *sent*. The main thread reads it there: after 0.8 of a lease without one it stops trusting the lease, aborts running
 * jobs and claims none, until a heartbeat gets through. An answer that there was no row to renew is final: other
 * workers have declared this one lost.
 *
 * Each thread watches the other. The main thread writes when its event loop last turned and how long its attempts may
 * take: the lease thread does not renew the lease of a process that is blocked past that. A lease thread that gets no
 * answer any more is replaced once, and then the worker gives up. One that ends is started again, until the lease is at
 * risk and several have ended without a heartbeat.
 */
export class Lease {
  readonly workerId: string
  readonly #config: LeaseConfig
  #memory = leaseMemory()
  #skew: ClockSkew | undefined
  #claims = '{}'
  #thread: Thread | undefined
  #watch: NodeJS.Timeout | undefined
  #ticking: NodeJS.Timeout | undefined
  /** The latest deadline in shared memory, rounded up so that few jobs change it. */
  #deadlineAt = -Infinity
  /** Heartbeats sent before this do not count: the machine slept since. */
  #trustedFrom = 0n
  #hangs = 0
  /** When the last threads ended without being told to. */
  #deaths: number[] = []
  #isThreadUp = false
  /** When the next check is due: if it runs much later, the whole process stood still. */
  #checkAt = Infinity
  #isBegun = false
  #isAtRisk = false
  #isOver = false

  constructor(config: LeaseConfig) {
    this.#config = config
    this.workerId = config.workerId
  }

  /** Whether the jobs that we hold are surely still ours. */
  get isTrusted(): boolean {
    return this.#isBegun && !this.#isOver && !this.#isAtRisk
  }

  /** How long ago the last confirmed heartbeat was sent. */
  get ageMs(): number {
    return ageMs(this.#memory, 'confirmed')
  }

  /** Registers this worker; only then may it claim. */
  async begin(db: Queryable, about: AboutWorker): Promise<void> {
    const sentAt = process.hrtime.bigint()
    const { leaseMs } = this.#config
    this.#skew = await measureSkew(() => register(db, { worker: this.workerId, leaseMs, about }))
    this.#memory = leaseMemory()
    store(this.#memory, 'confirmed', sentAt)
    this.#isBegun = true
    this.#startThread()
    this.#startTicking()
    this.#checkAge()
  }

  /** An attempt has begun that may run until then. */
  mayLastUntil(deadlineAt: number): void {
    if (deadlineAt <= this.#deadlineAt) return
    this.#deadlineAt = deadlineAt + 1_000
    store(this.#memory, 'deadline', inMs(this.#deadlineAt - performance.now()))
  }

  /** Gives the lease up, so that others need not wait until it runs out. */
  async end(db: Queryable): Promise<void> {
    await this.abandon()
    await retire(db, this.workerId)
  }

  /** Stops renewing. */
  async abandon(): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#watch)
    clearInterval(this.#ticking)
    const thread = this.#thread
    this.#thread = undefined
    if (thread === undefined) return
    // A thread that is still loading its code has no connection to close.
    if (this.#isThreadUp) {
      const ended = once(thread, 'exit')
      thread.postMessage('stop' satisfies LeaseThreadOrder)
      await atMost(closeWithinMs, ended)
    }
    await thread.terminate()
  }

  #startThread(): void {
    const { url, schema, leaseMs, graceMs, onTrouble } = this.#config
    const { workerId } = this
    const data: LeaseThreadData = {
      url,
      schema,
      leaseMs,
      graceMs,
      workerId,
      skew: this.#skew,
      claims: this.#claims,
      memory: this.#memory,
    }
    store(this.#memory, 'turned', process.hrtime.bigint())
    this.#isThreadUp = false
    const thread = new Thread(builtFile('worker/lease/lease-thread'), {
      workerData: data,
      name: 'stint heartbeat',
    })
    this.#thread = thread
    thread.on('message', (message: LeaseThreadMessage) => {
      this.#hear(message)
    })
    thread.on('error', (error) => {
      onTrouble(`the heartbeat thread failed: ${error.message}`)
    })
    thread.once('exit', () => {
      if (this.#thread === thread) this.#deaths = [...this.#deaths, performance.now()].slice(-mostDeaths)
      // Without a thread the lease would run out under healthy jobs; if no thread can live, `#checkThread` gives up.
      setTimeout(() => {
        if (this.#thread === thread) this.#startThread()
      }, leaseMs / 30).unref()
    })
    // The worker keeps the process alive, not its heartbeat.
    thread.unref()
  }

  #hear(message: LeaseThreadMessage): void {
    switch (message.type) {
      case 'up':
        store(this.#memory, 'turned', process.hrtime.bigint())
        this.#isThreadUp = true
        return
      case 'lost':
        void this.abandon()
        this.#config.onLost()
        return
      case 'renewed':
        this.#checkAge()
        return
      case 'trouble':
        this.#config.onTrouble(message.message)
        return
    }
  }

  #tellClaims(): void {
    const claims = this.#config.claims()
    if (claims === this.#claims) return
    this.#claims = claims
    this.#thread?.postMessage({ claims } satisfies LeaseThreadOrder)
  }

  /** Writes that the main thread is alive, and notices when the machine was asleep. */
  #startTicking(): void {
    const { leaseMs, latestDeadline } = this.#config
    let wall = Date.now()
    let steady = performance.now()
    const tick = (): void => {
      store(this.#memory, 'alive', process.hrtime.bigint())
      const latest = latestDeadline()
      // Lowered only here, so that starting a job costs nothing.
      if (latest < this.#deadlineAt - 1_000) this.#deadlineAt = -Infinity
      this.mayLastUntil(Math.max(latest, performance.now()))
      const skippedMs = Date.now() - wall - (performance.now() - steady)
      wall = Date.now()
      steady = performance.now()
      this.#tellClaims()
      // The steady clock stands still while a machine sleeps; the leases in the database do not.
      if (skippedMs > leaseMs / 2) this.#distrust()
    }
    tick()
    this.#ticking = setInterval(tick, Math.min(1_000, leaseMs / 10))
    this.#ticking.unref()
  }

  /** The lease is not trusted before a heartbeat sent from now on is confirmed. */
  #distrust(): void {
    this.#trustedFrom = process.hrtime.bigint()
    this.#thread?.postMessage('renew' satisfies LeaseThreadOrder)
    this.#checkAge()
  }

  /** A thread that gets no answer is replaced once, a thread that ends a few times; then the lease is dead. */
  #checkThread(): void {
    const { leaseMs, onTrouble, onDead } = this.#config
    const confirmedAt = performance.now() - this.ageMs
    this.#deaths = this.#deaths.filter((at) => at > confirmedAt)
    if (this.#deaths.length >= mostDeaths) {
      onDead('the heartbeat thread ended again and again')
      return
    }
    // The whole process stood still, and its thread too: the thread's time counts from now.
    if (performance.now() - this.#checkAt > leaseMs / 2)
      store(this.#memory, 'turned', process.hrtime.bigint())
    const patienceMs = this.#isThreadUp ? leastSilenceMs : startsWithinMs
    if (ageMs(this.#memory, 'turned') < Math.max(leaseMs, patienceMs)) return
    store(this.#memory, 'turned', process.hrtime.bigint())
    if (this.#hangs++ > 0) {
      onDead('the heartbeat thread came to no answer twice')
      return
    }
    onTrouble('the heartbeat thread comes to no answer: it is replaced')
    // Its end starts the next one.
    void this.#thread?.terminate()
  }

  /** Checks the age of the last heartbeat, and again when it could have become too old. */
  #checkAge(): void {
    clearTimeout(this.#watch)
    if (this.#isOver) return
    const { leaseMs, onRisk, onSafe } = this.#config
    const isOld =
      this.#trustedFrom > 0n && this.ageMs > Number(process.hrtime.bigint() - this.#trustedFrom) / 1e6
    const leftMs = isOld ? 0 : riskAt * leaseMs - this.ageMs
    if (leftMs <= 0 && !this.#isAtRisk) {
      this.#isAtRisk = true
      onRisk()
    } else if (leftMs > 0 && this.#isAtRisk) {
      this.#isAtRisk = false
      this.#hangs = 0
      onSafe()
    }
    if (this.#isAtRisk) this.#checkThread()
    const waitMs = this.#isAtRisk ? leaseMs / 20 : Math.max(10, leftMs)
    this.#checkAt = performance.now() + waitMs
    this.#watch = setTimeout(() => {
      this.#checkAge()
    }, waitMs)
    this.#watch.unref()
  }
}
