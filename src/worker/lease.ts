import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker as Thread } from 'node:worker_threads'
import type { Queryable } from '../db/statement.ts'
import { register, retire } from '../leases/lease.ts'
import type { AboutWorker } from '../leases/lease.ts'
import { ageMs, leaseMemory } from './lease-memory.ts'
import type { LeaseThreadData, LeaseThreadMessage } from './lease-memory.ts'

export interface LeaseConfig {
  url: string
  schema: string
  leaseMs: number
  /** Declared lost by others: nothing that runs here is ours any more. */
  onLost: () => void
  /** Not renewed for so long that others may soon be let in. */
  onRisk: () => void
  /** Renewed after all. */
  onSafe: () => void
  onTrouble: (message: string) => void
}

/** How long the thread gets to say goodbye to the server. */
const politeMs = 500

/** When to give up on a lease that is not being renewed: before the database gives it to others. */
const riskAt = 0.8

/**
 * This boot's right to its jobs: one row, renewed from a thread.
 *
 * The thread sends a heartbeat every third of a lease and writes into shared memory when the last confirmed one was
 * *sent*. The main thread looks there: at 0.8 of a lease without one it stops trusting the lease, aborts what runs and
 * claims nothing, until a heartbeat gets through. An answer that no row was there to renew is final: others have
 * declared this worker lost.
 */
export class Lease {
  readonly workerId = randomUUID()
  readonly #config: LeaseConfig
  #memory = leaseMemory(0n)
  #thread: Thread | undefined
  #watch: NodeJS.Timeout | undefined
  #isBegun = false
  #isAtRisk = false
  #isOver = false

  constructor(config: LeaseConfig) {
    this.#config = config
  }

  /** Whether what we hold is surely still ours. */
  get isTrusted(): boolean {
    return this.#isBegun && !this.#isOver && !this.#isAtRisk
  }

  /** How long ago the last confirmed heartbeat was sent. */
  get ageMs(): number {
    return ageMs(this.#memory)
  }

  /** Enters this worker; only then may it claim. */
  async begin(db: Queryable, about: AboutWorker): Promise<void> {
    const sentAt = process.hrtime.bigint()
    await register(db, { worker: this.workerId, leaseMs: this.#config.leaseMs, about })
    this.#memory = leaseMemory(sentAt)
    this.#isBegun = true
    this.#startThread()
    this.#look()
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
    const thread = this.#thread
    this.#thread = undefined
    if (thread === undefined) return
    const ended = once(thread, 'exit')
    thread.postMessage('stop')
    await Promise.race([ended, pause(politeMs, undefined, { ref: false })])
    await thread.terminate()
  }

  #startThread(): void {
    const { url, schema, leaseMs, onTrouble } = this.#config
    const data: LeaseThreadData = { url, schema, leaseMs, workerId: this.workerId, memory: this.#memory }
    // The built file also when this one runs from source: a thread cannot load TypeScript on every Node we support.
    const entry = createRequire(import.meta.url).resolve('#dist/worker/lease-thread')
    const thread = new Thread(entry, { workerData: data, name: 'stint heartbeat' })
    this.#thread = thread
    thread.on('message', (message: LeaseThreadMessage) => {
      this.#hear(message)
    })
    thread.on('error', (error) => {
      onTrouble(`the heartbeat thread failed: ${error.message}`)
    })
    thread.once('exit', () => {
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

  /** Looks at the age of the last heartbeat, and again when it could have become too old. */
  #look(): void {
    clearTimeout(this.#watch)
    if (this.#isOver) return
    const { leaseMs, onRisk, onSafe } = this.#config
    const leftMs = riskAt * leaseMs - this.ageMs
    if (leftMs <= 0 && !this.#isAtRisk) {
      this.#isAtRisk = true
      onRisk()
    } else if (leftMs > 0 && this.#isAtRisk) {
      this.#isAtRisk = false
      onSafe()
    }
    this.#watch = setTimeout(
      () => {
        this.#look()
      },
      this.#isAtRisk ? leaseMs / 20 : Math.max(10, leftMs),
    )
    this.#watch.unref()
  }
}
