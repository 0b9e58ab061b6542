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
  /** When the last of the running attempts has to be over, in `performance.now()`; -Infinity where none runs. */
  latestDeadline: () => number
  /** Declared lost by others: nothing that runs here is ours any more. */
  onLost: () => void
  /** Not renewed for so long that others may soon be let in. */
  onRisk: () => void
  /** Renewed after all. */
  onSafe: () => void
  onTrouble: (message: string) => void
  /** Nothing renews it, and nothing will. */
  onDead: (why: string) => void
}

/** How long the thread gets to say goodbye to the server. */
const politeMs = 500

/** However short the lease: on a busy machine an answer takes a while, and nothing runs under a lease at risk. */
const leastSilenceMs = 5_000
/** One that is still loading its code does not hang, and another one would have to begin from the start. */
const startsWithinMs = 60_000

/** One that ends is started anew; of so many without a heartbeat between them the next will be no better. */
const mostDeaths = 3

/** When to give up on a lease that is not being renewed: before the database gives it to others. */
const riskAt = 0.8

/**
 * This boot's right to its jobs: one row, renewed from a thread.
 *
 * The thread sends a heartbeat every third of a lease and writes into shared memory when the last confirmed one was
 * *sent*. The main thread looks there: at 0.8 of a lease without one it stops trusting the lease, aborts what runs and
 * claims nothing, until a heartbeat gets through. An answer that no row was there to renew is final: others have
 * declared this worker lost.
 *
 * Each watches the other. The main thread leaves there when it last had a moment and how long its attempts may take:
 * the thread does not renew the lease of a process that is blocked past that. A thread that comes to no answer any more
 * is replaced once, and then the worker gives up. One that ends is started anew, until the lease is at risk and it is
 * clear that none of them lives for long enough.
 */
export class Lease {
  readonly workerId: string
  readonly #config: LeaseConfig
  #memory = leaseMemory()
  #skew: ClockSkew | undefined
  #thread: Thread | undefined
  #watch: NodeJS.Timeout | undefined
  #ticking: NodeJS.Timeout | undefined
  /** What is written down as the latest deadline, rounded up so that few jobs move it. */
  #deadlineAt = -Infinity
  /** Heartbeats sent before this do not count: the machine slept since. */
  #trustedFrom = 0n
  #hangs = 0
  /** When the last threads ended that nobody had told to. */
  #deaths: number[] = []
  #isThreadUp = false
  /** When the next look is due: much later means that nothing here ran meanwhile. */
  #lookAt = Infinity
  #isBegun = false
  #isAtRisk = false
  #isOver = false

  constructor(config: LeaseConfig) {
    this.#config = config
    this.workerId = config.workerId
  }

  /** Whether what we hold is surely still ours. */
  get isTrusted(): boolean {
    return this.#isBegun && !this.#isOver && !this.#isAtRisk
  }

  /** How long ago the last confirmed heartbeat was sent. */
  get ageMs(): number {
    return ageMs(this.#memory, 'confirmed')
  }

  /** Enters this worker; only then may it claim. */
  async begin(db: Queryable, about: AboutWorker): Promise<void> {
    const sentAt = process.hrtime.bigint()
    const { leaseMs } = this.#config
    this.#skew = await measureSkew(() => register(db, { worker: this.workerId, leaseMs, about }))
    this.#memory = leaseMemory()
    store(this.#memory, 'confirmed', sentAt)
    this.#isBegun = true
    this.#startThread()
    this.#startTicking()
    this.#look()
  }

  /** An attempt has begun that may go on until then. */
  mayLastUntil(deadlineAt: number): void {
    if (deadlineAt <= this.#deadlineAt) return
    this.#deadlineAt = deadlineAt + 1_000
    store(this.#memory, 'deadline', inMs(this.#deadlineAt - performance.now()))
  }

  /** Gives the lease up in good order. */
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
      await atMost(politeMs, ended)
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
      // Without it the lease would run out under healthy jobs; if it cannot live, the watch below sees to the rest.
      setTimeout(() => {
        if (this.#thread === thread) this.#startThread()
      }, leaseMs / 30).unref()
    })
    // What keeps the process alive is the worker, not its heartbeat.
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
        this.#look()
        return
      case 'trouble':
        this.#config.onTrouble(message.message)
        return
    }
  }

  /** Leaves word that the main thread is alive, and notices when the machine was asleep. */
  #startTicking(): void {
    const { leaseMs, latestDeadline } = this.#config
    let wall = Date.now()
    let steady = performance.now()
    const tick = (): void => {
      store(this.#memory, 'alive', process.hrtime.bigint())
      const latest = latestDeadline()
      // Lowered here alone, so that starting a job costs nothing.
      if (latest < this.#deadlineAt - 1_000) this.#deadlineAt = -Infinity
      this.mayLastUntil(Math.max(latest, performance.now()))
      const skippedMs = Date.now() - wall - (performance.now() - steady)
      wall = Date.now()
      steady = performance.now()
      // The steady clock stands still while a machine sleeps; others' leases, and ours, do not.
      if (skippedMs > leaseMs / 2) this.#distrust()
    }
    tick()
    this.#ticking = setInterval(tick, Math.min(1_000, leaseMs / 10))
    this.#ticking.unref()
  }

  /** Nothing is believed before a heartbeat sent from now on is confirmed. */
  #distrust(): void {
    this.#trustedFrom = process.hrtime.bigint()
    this.#thread?.postMessage('renew' satisfies LeaseThreadOrder)
    this.#look()
  }

  /** A thread that comes to no answer is replaced once, one that ends a few times; then nothing is left to try. */
  #minThread(): void {
    const { leaseMs, onTrouble, onDead } = this.#config
    const confirmedAt = performance.now() - this.ageMs
    this.#deaths = this.#deaths.filter((at) => at > confirmedAt)
    if (this.#deaths.length >= mostDeaths) {
      onDead('the heartbeat thread ended again and again')
      return
    }
    // All of the process stood still, its thread too: that has its time from now on.
    if (performance.now() - this.#lookAt > leaseMs / 2) store(this.#memory, 'turned', process.hrtime.bigint())
    const patienceMs = this.#isThreadUp ? leastSilenceMs : startsWithinMs
    if (ageMs(this.#memory, 'turned') < Math.max(leaseMs, patienceMs)) return
    store(this.#memory, 'turned', process.hrtime.bigint())
    if (this.#hangs++ > 0) {
      onDead('the heartbeat thread came to no answer twice')
      return
    }
    onTrouble('the heartbeat thread comes to no answer: it is replaced')
    // Its end starts another one.
    void this.#thread?.terminate()
  }

  /** Checks the age of the last heartbeat, and again when it could have become too old. */
  #look(): void {
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
    if (this.#isAtRisk) this.#minThread()
    const waitMs = this.#isAtRisk ? leaseMs / 20 : Math.max(10, leftMs)
    this.#lookAt = performance.now() + waitMs
    this.#watch = setTimeout(() => {
      this.#look()
    }, waitMs)
    this.#watch.unref()
  }
}
