import { Database } from '../db/database.ts'
import { synchroniseRules } from '../limits/synchronise.ts'
import { assemble } from './assembly.ts'
import { deadlineMsOf, longestDeadlineMs } from './statement-deadline.ts'
import type { Parts, RuntimeConfig } from './assembly.ts'
import { failUncaught, noteLate } from './attempt/give-up.ts'
import type { HeldJob } from './attempt/held-job.ts'
import type { Part } from './part.ts'
import { stop } from './stop.ts'
import type { StopOptions } from './stop.ts'

/** What a worker itself decides about its runtime. */
export type OwnConfig = Omit<RuntimeConfig, 'url' | 'giveUp' | 'drain'>

/** The method by which a worker tells its configuration. */
export const runtimeConfig: unique symbol = Symbol('stint.worker.runtime-config')

/** The running parts of a worker, and the order in which they start and stop. */
export class Runtime {
  readonly #config: RuntimeConfig
  readonly parts: Parts

  constructor(config: RuntimeConfig) {
    this.#config = config
    this.parts = assemble(config)
  }

  get workerId(): string {
    return this.parts.tenure.workerId
  }

  async start(): Promise<void> {
    const { children, scheduler, tenure, beside, upkeep, watchdog, numbers, breakers, claiming, about } =
      this.parts
    await children.check()
    await this.#patiently(async (db) => {
      await scheduler.synchronise(db)
      await this.#storeRules(db)
      await tenure.begin(db, about)
    })
    const parts: readonly (Part | undefined)[] = [...beside, upkeep, watchdog, numbers, breakers, claiming]
    for (const part of parts) await part?.start?.()
    this.#tellReady()
  }

  async stop(options: Omit<StopOptions, 'leaseMs'>): Promise<void> {
    await stop(this.parts, { ...options, leaseMs: this.#config.worker.leaseMs })
  }

  /** Releases everything after a start that failed. */
  async abandon(): Promise<void> {
    const { listening, tenure, children, upkeep, db, txDb } = this.parts
    listening.close()
    await tenure.abandon()
    await children.close()
    await upkeep?.stop()
    await Promise.all([db.close(), txDb.close()])
  }

  /** Why it cannot do its work now; empty if it can. */
  health(): string[] {
    const { leaseMs, sweepEveryMs } = this.#config.worker
    const { tenure, troubles, watchdog, claiming, beside } = this.parts
    const patienceMs = Math.max(leaseMs, 3 * sweepEveryMs, 120_000)
    // These parts stand still during a drain, which may take long: that is no reason to be killed.
    const working: readonly Part[] = tenure.isClosed ? [] : [claiming, ...beside]
    const parts: readonly Part[] = [tenure, troubles, watchdog, ...working]
    return parts.flatMap((part) => part.health?.(patienceMs) ?? [])
  }

  /** Fails the job that threw an error that was never caught; false if it does not run here. */
  failUncaught(jobId: string, thrown: unknown): boolean {
    return failUncaught(jobId, thrown, this.parts.givingUp)
  }

  /** Notes an error that a job threw after its attempt was over. */
  noteLate(held: HeldJob, thrown: unknown): void {
    noteLate(held, thrown, this.parts.givingUp)
  }

  /**
   * A start is not repeated, so its statements get a longer deadline, even if the lease and the usual deadline are
   * short.
   */
  async #patiently(work: (db: Database) => Promise<void>): Promise<void> {
    const { url, worker } = this.#config
    const { schema, leaseMs } = worker
    if (deadlineMsOf(leaseMs) === longestDeadlineMs) return work(this.parts.db)
    const deadlineMs = longestDeadlineMs
    const db = new Database({ url, schema, deadlineMs, poolSize: 1, applicationName: 'stint worker' })
    // Not awaited: on a network that drops all packets the connection would never close.
    return work(db).finally(() => void db.close())
  }

  async #storeRules(db: Database): Promise<void> {
    const { worker, handlers, log } = this.#config
    for (const rule of await synchroniseRules(db, worker.flow, handlers.contracts))
      log.warn(rule, 'a rule was declared differently before: this worker has replaced it')
  }

  #tellReady(): void {
    const { workerId } = this
    const { events, log, worker, handlers } = this.#config
    events.emit('ready', { workerId })
    const queues = Object.fromEntries(worker.queues.map(({ name, concurrency }) => [name, concurrency]))
    log.info({ workerId, queues, concurrency: worker.concurrency, kinds: handlers.kinds }, 'worker ready')
    for (const about of handlers.outside(this.parts.served.queues))
      log.warn(about, 'a handler is for jobs of a queue that this worker does not serve')
  }
}
