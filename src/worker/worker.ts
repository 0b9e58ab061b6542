import type { Ambient } from '../node/ambient.ts'
import type { JobContract } from '../contracts/contract.ts'
import { webhookJob } from '../contracts/webhook.ts'
import type { Duration } from '../core/duration.ts'
import { isStintError, StintError } from '../core/errors.ts'
import { durationOption, functionOption, invalidOption } from '../core/options.ts'
import { messageOf } from '../core/failures/thrown.ts'
import { classify } from '../db/classify.ts'
import { connect } from '../db/connect.ts'
import type { Connected } from '../db/connect.ts'
import { Database } from '../db/database.ts'
import { nextIndex } from '../node/entry.ts'
import { asSchedule } from '../schedules/rules/define-schedule.ts'
import type { Schedule } from '../schedules/rules/define-schedule.ts'
import { checkSchema } from '../schema/migrate.ts'
import { builtFile } from '../node/built-file.ts'
import { JobContext } from './attempt/context.ts'
import { Events } from './report/events.ts'
import type { WorkerEvents } from './report/events.ts'
import { Handlers } from './handlers.ts'
import type { BatchHandler, BatchOptions, Handler, Middleware } from './handlers.ts'
import { HealthServer } from './watch/health.ts'
import type { HandleOptions } from './isolate/isolate-options.ts'
import { lending, childRegistry, lendHandlers } from './isolate/lend.ts'
import type { Lent } from './isolate/lend.ts'
import { tellLease, tellStopping } from './lease/lease-news.ts'
import { defaultLogger, guarded, silent } from './report/log.ts'
import type { Logger } from './report/log.ts'
import { resolveWorkerOptions } from './options.ts'
import { webhookHandler } from './webhooks.ts'
import type { WorkerConfig, WorkerOptions } from './options.ts'
import { reach } from './reach.ts'
import { Runtime, runtimeConfig } from './runtime.ts'
import type { OwnConfig } from './runtime.ts'
import { catchUncaught } from './attempt/uncaught.ts'

const workerBrand: unique symbol = Symbol.for('stint.worker') as never

/** Time for the caller of run() to report the error in its own way. */
const lastMomentMs = 2_000

type State = 'new' | 'starting' | 'running' | 'stopping' | 'stopped'

/**
 * Claims jobs, runs their handlers under a lease, stores how they ended.
 *
 * One per process is usual. Handlers know nothing of queues: they return to succeed and throw to fail.
 */
export class Worker {
  /** `stint work` recognises a worker by this, also across two copies of the package. */
  readonly [workerBrand] = true
  readonly #config: WorkerConfig
  readonly #handlers = new Handlers()
  /** Zero-based index among the workers of its file: by this a child finds it. */
  readonly #index: number
  readonly #schedules: Schedule[] = []
  readonly #log: Logger
  readonly #events: Events
  readonly #hurry = new AbortController()
  /** Ends the wait for a database that cannot be reached. */
  readonly #noWait = new AbortController()
  /** Why it does not run yet. */
  #waitsFor: string | undefined
  #state: State = 'new'
  #connected: Connected | undefined
  #runtime: Runtime | undefined
  #health: HealthServer | undefined
  #healthPort: number | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #fatal: Error | undefined
  #stopReason = 'asked to'
  #onOver: () => void = () => undefined
  readonly #over = new Promise<void>((resolve) => (this.#onOver = resolve))

  constructor(options?: WorkerOptions) {
    this.#config = resolveWorkerOptions(options)
    const { log, children, schedules, webhooks } = this.#config
    this.#index = children.entry === undefined ? 0 : nextIndex(children.entry)
    childRegistry()?.workers.push({
      worker: this,
      entry: children.entry,
      index: this.#index,
      wasStarted: false,
    })
    for (const schedule of schedules) this.#add(schedule)
    if (webhooks !== undefined) this.handle(webhookJob, webhookHandler(webhooks))
    this.#log = log === false ? silent : log === undefined ? defaultLogger(process.env) : guarded(log)
    this.#events = new Events((error) => {
      this.#log.error(
        { error: error instanceof Error ? error.stack : String(error) },
        'a listener of worker events threw',
      )
    })
    this.#events.on('ready', ({ workerId }) => {
      const { schema, drainMs } = this.#config
      tellLease(this, { workerId, url: this.#connected?.url ?? '', schema, drainMs })
    })
    this.#events.on('stopping', () => {
      tellStopping(this)
    })
  }

  /** Registers the handler for jobs of this kind. Call it before start(). */
  handle<Contract extends JobContract>(
    contract: Contract,
    handler: Handler<Contract>,
    options: HandleOptions = {},
  ): this {
    this.#mustBeNew('handle()')
    this.#handlers.add(contract, handler, options)
    return this
  }

  /** Registers a handler for several jobs of this kind in one call. Call it before start(). */
  handleBatch<Contract extends JobContract>(
    contract: Contract,
    handler: BatchHandler<Contract>,
    options: BatchOptions = {},
  ): this {
    this.#mustBeNew('handleBatch()')
    this.#handlers.addBatch(contract, handler, options)
    return this
  }

  /** Stores a schedule in the database as it is in your code. Call it before start(). */
  schedule(...schedules: readonly Schedule[]): this {
    this.#mustBeNew('schedule()')
    for (const schedule of schedules) this.#add(asSchedule(schedule))
    return this
  }

  /** Runs the middleware around every attempt; the first one added is the outermost. Call it before start(). */
  use(middleware: Middleware): this {
    this.#mustBeNew('use()')
    this.#handlers.middleware.push(functionOption('middleware', middleware))
    return this
  }

  /** Adds a listener for an event; returns a function that removes it. */
  on<Name extends keyof WorkerEvents>(
    name: Name,
    listener: (...args: WorkerEvents[Name]) => void,
  ): () => void {
    return this.#events.on(name, listener)
  }

  /** Its id, new for every boot; undefined before it has a lease. */
  get id(): string | undefined {
    return this.#runtime?.workerId
  }

  /** The port of /healthz and /readyz; undefined if they are not served. */
  get healthPort(): number | undefined {
    return this.#healthPort
  }

  /** Connects, takes a lease and begins to claim. Resolves when it claims; in a child of a worker it never resolves. */
  async start(): Promise<void> {
    const registry = childRegistry()
    if (registry !== undefined) return lendHandlers(registry, this)
    if (this.#state !== 'new')
      throw new StintError('worker-stopped', 'A worker is started once: make a new one.')
    if (this.#handlers.kinds.length === 0)
      throw new StintError(
        'unknown-handler',
        'This worker has no handlers: call worker.handle(contract, handler) first.',
      )
    this.#mustFindIsolated()
    this.#state = 'starting'
    return (this.#starting = this.#start())
  }

  /**
   * Stops claiming at once; running jobs get the drain, the others are given back and burn no attempt. A second call
   * with `drain: 0` ends the drain.
   */
  stop({ drain }: { drain?: Duration | undefined } = {}): Promise<void> {
    const drainMs = drain === undefined ? this.#config.drainMs : durationOption('drain', drain)
    if (this.#stopping !== undefined) {
      if (drainMs === 0) this.#hurry.abort()
      return this.#stopping
    }
    return (this.#stopping = this.#stop(drainMs))
  }

  /**
   * Starts, and stops on SIGTERM or SIGINT; a second signal ends the drain. An error that a job's callbacks throw and
   * that is never caught fails that job, or is noted if its attempt is over; an error of no known job ends the worker.
   * Resolves when all is stopped; rejects if it had to give up, and the process then ends with an error, also if a
   * handler would keep it alive. In a child of a worker it does nothing, and never resolves.
   */
  async run(): Promise<void> {
    const registry = childRegistry()
    if (registry !== undefined) return lendHandlers(registry, this)
    const onSignal = (signal: NodeJS.Signals): void => {
      this.#log.info(
        { signal },
        this.#stopping === undefined ? 'stopping: finishing what runs' : 'stopping now',
      )
      void this.stop(this.#stopping === undefined ? {} : { drain: 0 })
    }
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
    const letThrow = catchUncaught({
      failUncaught: (jobId, thrown) => this.#runtime?.failUncaught(jobId, thrown) ?? false,
      noteLate: (job, thrown) => {
        this.#noteLate(job, thrown)
      },
      giveUp: (error) => {
        this.#giveUp(error, { canDrain: true })
      },
    })
    // Timers and sockets of a worker do not keep a process alive; a call of run() does.
    const alive = setInterval(() => undefined, 60_000)
    try {
      await this.start().catch((error: unknown) => {
        // Asked to stop before the start was done.
        if (!this.#noWait.signal.aborted || !isStintError(error, 'worker-stopped')) throw error
      })
      await this.#over
      await this.#stopping
      if (this.#fatal !== undefined) {
        // A handler that does not end may keep the process alive although its worker has stopped.
        setTimeout(() => process.exit(1), lastMomentMs).unref()
        throw this.#fatal
      }
    } finally {
      clearInterval(alive)
      letThrow()
      process.off('SIGTERM', onSignal).off('SIGINT', onSignal)
    }
  }

  /** @internal Its handlers, for a child to run jobs with. */
  [lending](): Lent {
    const { blobs, approvals } = this.#config
    return { handlers: this.#handlers, blobs, approvals }
  }

  /** @internal What it is made of, for `stint/testing` to run its jobs without a start. */
  [runtimeConfig](): OwnConfig {
    return {
      worker: this.#config,
      index: this.#index,
      handlers: this.#handlers,
      schedules: this.#schedules,
      events: this.#events,
      log: this.#log,
    }
  }

  async #start(): Promise<void> {
    try {
      // Without the heartbeat's file there is no use in waiting for a database.
      builtFile('worker/lease/lease-thread')
      this.#connected = await connect(this.#config.connection, process.env)
      const { url, embeddedDir } = this.#connected
      if (embeddedDir !== undefined)
        this.#log.info({ dir: embeddedDir }, 'DATABASE_URL is not set: using the embedded PostgreSQL')
      // Before the database is reached: /readyz says what is missing.
      await this.#startHealth()
      await this.#checkSchema(url)
      this.#runtime = new Runtime({
        ...this[runtimeConfig](),
        url,
        giveUp: (error, options) => {
          this.#giveUp(error, options)
        },
        drain: (reason) => {
          this.#stopReason = reason
          void this.stop()
        },
      })
      await this.#runtime.start()
      this.#state = 'running'
    } catch (error) {
      this.#state = 'stopped'
      await this.#runtime?.abandon()
      await this.#health?.close()
      await this.#connected?.release()
      throw error
    }
  }

  async #stop(drainMs: number): Promise<void> {
    this.#noWait.abort()
    // A worker that is half started cannot be stopped: it would go on claiming afterwards.
    await this.#starting?.catch(() => undefined)
    if (this.#state === 'new' || this.#state === 'stopped') {
      this.#state = 'stopped'
      this.#onOver()
      return
    }
    this.#state = 'stopping'
    this.#events.emit('stopping', { reason: this.#fatal?.message ?? this.#stopReason })
    // With its last job settled, nothing of a worker keeps the process alive; so this timer does until the stop is
    // done.
    const alive = setInterval(() => undefined, 60_000)
    try {
      await this.#runtime?.stop({ drainMs, hurry: this.#hurry.signal })
      await this.#health?.close()
      await this.#connected?.release()
    } finally {
      clearInterval(alive)
    }
    this.#state = 'stopped'
    this.#log.info({}, 'worker stopped')
    this.#events.emit('stopped')
    this.#onOver()
  }

  #noteLate(job: Ambient, thrown: unknown): void {
    // A context of another copy of the package is recognised by its brand alone.
    if (job instanceof JobContext) this.#runtime?.noteLate(job.held, thrown)
    else
      this.#log.error(
        { id: job.jobId, kind: job.kind, error: messageOf(thrown) },
        'error thrown after the attempt was over',
      )
  }

  #giveUp(error: Error, { canDrain }: { canDrain: boolean } = { canDrain: false }): void {
    if (this.#fatal !== undefined) return
    this.#fatal = error
    this.#log.error({ error: error.stack ?? error.message }, 'the worker cannot go on')
    void this.stop(canDrain ? {} : { drain: 0 })
  }

  async #checkSchema(url: string): Promise<void> {
    const { schema, waitForDatabaseMs: waitMs } = this.#config
    const database = new Database({
      url,
      schema,
      poolSize: 1,
      deadlineMs: 10_000,
      applicationName: 'stint worker',
    })
    try {
      const check = (): Promise<void> =>
        checkSchema(database).catch((error: unknown) => {
          this.#waitsFor = messageOf(error)
          throw error
        })
      await reach(check, { waitMs, signal: this.#noWait.signal, log: this.#log })
      this.#waitsFor = undefined
    } catch (error) {
      if (this.#noWait.signal.aborted)
        throw new StintError('worker-stopped', 'The worker was stopped before it had reached its database.')
      throw isStintError(error) ? error : notStarted(error)
    } finally {
      await database.close()
    }
  }

  async #startHealth(): Promise<void> {
    const { health } = this.#config
    if (health === undefined) return
    // A start that waits for its database is healthy: a restart would not help it.
    const healthz = (): string[] => this.#runtime?.health() ?? []
    const waits = (): string[] => (this.#waitsFor === undefined ? [] : [`the database: ${this.#waitsFor}`])
    const readyz = (): string[] =>
      this.#state === 'running' ? healthz() : [`it is ${this.#state}`, ...waits()]
    this.#health = new HealthServer({ healthz, readyz })
    this.#healthPort = await this.#health.listen(health)
  }

  #mustFindIsolated(): void {
    const [kind] = this.#handlers.isolatedKinds()
    if (kind === undefined || this.#config.children.entry !== undefined) return
    throw new StintError(
      'invalid-option',
      `The handler of '${kind}' is isolated: say in \`children.entry\` which file makes this worker, for children to load it. In that file it is \`new Worker({ children: { entry: import.meta.url } })\`.`,
      { issues: [{ path: 'children.entry', message: 'is needed for handlers that are isolated' }] },
    )
  }

  #add(schedule: Schedule): void {
    if (this.#schedules.some(({ name }) => name === schedule.name))
      throw invalidOption('schedules', 'of different names', schedule.name)
    this.#schedules.push(schedule)
  }

  #mustBeNew(what: string): void {
    if (this.#state === 'new') return
    throw new StintError(
      'worker-stopped',
      `${what} comes before start(): make a new worker, and tell it what to do first.`,
    )
  }
}

function notStarted(cause: unknown): StintError {
  const message = messageOf(cause)
  if (classify(cause) === 'broken')
    return new StintError('database-rejected', `The database refused the worker: ${message}.`, { cause })
  return new StintError('database-unavailable', `The database could not be reached: ${message}.`, {
    cause,
  })
}
