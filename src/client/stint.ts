import { writeAudit } from '../operations/audit/audit.ts'
import { Refusals } from '../operations/audit/refusals.ts'
import { pruneBlobsOf } from './prune-blobs.ts'
import type { PruneResult } from '../jobs/blobs/prune.ts'
import type { EnqueueArguments, InputOf, JobContract, OutputOf } from '../contracts/contract.ts'
import type { SignalContract } from '../contracts/signal.ts'
import type { Duration } from '../core/duration.ts'
import type { Job } from '../core/job.ts'
import type { PgTransaction } from '../db/foreign-tx.ts'
import { examine } from '../doctor/examine.ts'
import type { Examination } from '../doctor/examine.ts'
import { migrate, migrationStatus } from '../schema/migrate.ts'
import type { MigrateOptions, MigrateResult, MigrationStatus } from '../schema/migrate.ts'
import { resolveActor } from './operator/actor.ts'
import type { Actor, ActorConfig } from './operator/actor.ts'
import { Audit } from './operator/audit.ts'
import { BreakerRunner } from '../limits/breakers/runner.ts'
import type { BreakerHandle } from '../limits/breakers/runner.ts'
import type { Breakers } from './breakers.ts'
import { Calls } from './calls.ts'
import type { CancelOptions } from './jobs/cancel.ts'
import { Connection } from './connection.ts'
import { ConsoleStore } from './console/console-store.ts'
import type { DeadLetters } from './dead/dead-letters.ts'
import { EnqueueStats } from './enqueue/enqueue-stats.ts'
import { resolveDoctorOptions } from './doctor-options.ts'
import type { DoctorOptions } from './doctor-options.ts'
import { Enqueuer } from './enqueue/enqueuer.ts'
import type { EnqueuedJob, EnqueuedJobs } from './enqueue/enqueued-job.ts'
import type { EnqueueManyOptions, EnqueueOptions } from './enqueue/options.ts'
import type { ErrorGroups } from './dead/error-groups.ts'
import { Flows } from './flows/flows.ts'
import { Waiter } from './follow/waiter.ts'
import { JobReader } from './job-reader.ts'
import type { JobVerbs, ResumeOptions, When } from './jobs/job-verbs.ts'
import type { Limits } from './limits.ts'
import { Listener } from './listener.ts'
import { Operations } from './operations/operations.ts'
import { operatorOf } from './operator/operator.ts'
import type { Operator } from './operator/operator.ts'
import { partsOn } from './parts.ts'
import { pressureOf, resolvePressureOptions } from './pressure.ts'
import type { PressureOptions } from './pressure.ts'
import type { PressureReport } from '../limits/pressure/state.ts'
import type { Workers } from './workers.ts'
import type { ClientParts } from './parts.ts'
import type { Schedules } from './schedules.ts'
import { Announcer } from '../jobs/wake-up/announcer.ts'
import { databaseKey } from '../jobs/wake-up/local.ts'
import { optionsOf, resolveStintOptions } from './options.ts'
import type { StintConfig, StintOptions } from './options.ts'
import type { Queues } from './queues.ts'
import { Rates } from '../limits/rates/rates.ts'
import type { RateLimit } from '../limits/rates/rates.ts'
import { Replies } from './console/replies.ts'
import { gaugedQueues, resolveGaugesOptions, resolveStatsOptions, stats } from './stats.ts'
import type { GaugesOptions, Stats, StatsOptions } from './stats.ts'
import { readStatus } from './status.ts'
import type { Status } from './status.ts'
import { resolveSignalOptions, signalJob } from './jobs/signals.ts'
import type { SignalOptions, SignalResult } from './jobs/signals.ts'
import { updateJob } from './jobs/update.ts'
import { View } from './console/view.ts'
import type { QueueFigures } from '../stats/read/queues/figures.ts'
import { QueueReader } from '../stats/read/queues/queues.ts'

/**
 * The producer's client: stores jobs, reads them, and changes those that have not started.
 *
 * One per process is enough; it has a pool of connections, which it opens with the first call. `Tx` is the transaction
 * type of your database library.
 */
export class Stint<Tx = PgTransaction> extends JobReader {
  readonly #config: StintConfig<Tx>
  readonly #connection: Connection
  readonly #calls: Calls
  readonly #waiter: Waiter
  readonly #announcer: Announcer
  readonly #enqueuer: Enqueuer<Tx>
  readonly #enqueueStats: EnqueueStats
  /** Jobs that will not run again by themselves: find, replay, edit, discard. */
  readonly dead: DeadLetters
  /** Jobs that start after other jobs: store, find, cancel, replay, run again. */
  readonly flows: Flows<Tx>
  /** Groups of errors with the same cause: how often, since when, and their status. */
  readonly errors: ErrorGroups
  /** How long queues keep their jobs, which are paused or draining, and how many of their jobs workers run at once. */
  readonly queues: Queues
  /** Live workers: list, pause, resume, drain. */
  readonly workers: Workers
  /** Rules that create jobs: set, read, pause, run now, backfill. */
  readonly schedules: Schedules
  /** Concurrency limits and rates: read, override, rules of single keys. */
  readonly limits: Limits
  /** The data behind the dashboard: queues, workers, leases, history, problems. */
  readonly view: View
  /** Actions over many jobs: preview, try, run, pause, abort. */
  readonly operations: Operations
  /** What people did, and which actions they were refused. */
  readonly audit: Audit
  /** Breakers: read, probe, open, close, reset. */
  readonly breakers: Breakers
  readonly #breakerRunner: BreakerRunner
  readonly #queueReader = new QueueReader()
  readonly #jobs: JobVerbs
  readonly #refusals: Refusals
  readonly #rates: Rates
  /** @internal Answers that the console keeps. */
  readonly replies: Replies
  /** @internal Data that all consoles share. */
  readonly consoleStore: ConsoleStore

  constructor(options?: StintOptions<Tx>) {
    const config = resolveStintOptions(options)
    const connection = new Connection(config)
    const calls = new Calls(config, connection)
    const { schema, notify, listenConnection } = config
    const localKey = (): string | undefined =>
      connection.url === undefined ? undefined : databaseKey(connection.url, schema)
    const announcer = new Announcer({ database: () => connection.database(), localKey, notify })
    const listener = new Listener({ connection, schema, notify, listenConnection })
    const waiter = new Waiter({ calls, announcer, listener })
    super(calls, waiter)
    this.#config = config
    this.#connection = connection
    this.#calls = calls
    this.#announcer = announcer
    this.#waiter = waiter
    this.#rates = new Rates(() => connection.database())
    this.#enqueueStats = new EnqueueStats(connection)
    this.#enqueuer = new Enqueuer(this.#config, {
      connection,
      announcer,
      stats: this.#enqueueStats,
      waiter,
    })
    this.view = new View(calls, { connection, listener, queues: this.#queueReader })
    this.#refusals = new Refusals((entry) => calls.send((db) => writeAudit(db, entry)))
    this.replies = new Replies(this.#calls)
    this.consoleStore = new ConsoleStore(this.#calls)
    const parts = this.#partsOn(this.#calls)
    this.#jobs = parts.jobs
    this.dead = parts.dead
    this.flows = new Flows<Tx>(calls, {
      blobs: config.blobs,
      ambient: config.ambient,
      foreign: (tx) => this.#enqueuer.foreign(tx),
      admitted: (jobs, about, send) => this.#enqueuer.admitted(jobs, about, send),
      stored: (hints, isInTx) => {
        if (isInTx) announcer.storedInTransaction(hints)
        else announcer.stored(hints)
      },
    })
    this.queues = parts.queues
    this.workers = parts.workers
    this.schedules = parts.schedules
    this.errors = parts.errors
    this.limits = parts.limits
    this.breakers = parts.breakers
    this.operations = this.#operationsOf(resolveActor({ actor: 'code' }))
    this.audit = new Audit(this.#calls)
    this.#breakerRunner = new BreakerRunner({
      send: (work) => calls.send(work),
      onStep: () => {
        this.#announcer.rulesChanged()
      },
    })
  }

  /** Stores one job. Concurrent calls outside transactions share one insert. */
  enqueue<Contract extends JobContract>(
    contract: Contract,
    ...[input, options = {}]: EnqueueArguments<Contract, EnqueueOptions<Tx>>
  ): Promise<EnqueuedJob<OutputOf<Contract>>> {
    return this.#enqueuer.enqueue(contract, input, options)
  }

  /**
   * Stores many jobs of one kind. Of an array or another iterable, of any length, all jobs are stored or none. The jobs of
   * an async iterable are stored batch by batch as they come.
   */
  enqueueMany<Contract extends JobContract>(
    contract: Contract,
    inputs: Iterable<InputOf<Contract>> | AsyncIterable<InputOf<Contract>>,
    options: EnqueueManyOptions<Contract, Tx> = {},
  ): Promise<EnqueuedJobs<OutputOf<Contract>>> {
    return this.#enqueuer.enqueueMany(contract, inputs, options)
  }

  /** This client in the name of a person: each change gets an audit entry in the same transaction. */
  as(actor: Actor): Operator {
    const config = resolveActor(actor)
    return operatorOf({
      actor: config,
      calls: this.#calls,
      partsOn: (calls) => this.#partsOn(calls, config.actor),
      operations: this.#operationsOf(config),
      refusals: this.#refusals,
    })
  }

  /**
   * Cancels a job; does nothing if it is cancelled already. A running job is asked to stop: its `ctx.signal` aborts within a
   * second, in any process, and the returned job is still running unless `wait` gives it time to end. Throws
   * `state-changed` if it had already ended in another state.
   */
  async cancel(id: string, options?: CancelOptions): Promise<Job> {
    return this.#jobs.cancel(id, options)
  }

  /**
   * Sends a signal to a job that waits for it (`ctx.waitForSignal()`), or will. With `{ tx }` it arrives with your commit.
   */
  async signal<Given>(
    jobId: string,
    signal: SignalContract<unknown, Given> | string,
    payload?: Given,
    options: SignalOptions<Tx> = {},
  ): Promise<SignalResult> {
    const parts = { calls: this.#calls, announcer: this.#announcer }
    return signalJob(parts, jobId, { signal, payload, ...resolveSignalOptions(options, this.#config) })
  }

  /** Moves a job that has not started to another time. */
  async reschedule(id: string, when: When): Promise<Job> {
    return this.#jobs.reschedule(id, when)
  }

  /** Changes the priority of a job that is not running. */
  async reprioritize(id: string, priority: number): Promise<Job> {
    return this.#jobs.reprioritize(id, priority)
  }

  /**
   * Lets a job that is parked, because its handler asked for other steps than those that are recorded, run at once. With
   * `accept` the new code goes on: it gets the results of the recorded steps that it asks for, and the others are ignored.
   */
  async resume(id: string, options?: ResumeOptions): Promise<Job> {
    return this.#jobs.resume(id, options)
  }

  /**
   * Gives a job that is not running another input, checked as enqueue() does. A key, search words and unique key that the
   * contract derived change with it; those that the enqueue call gave stay.
   */
  async update<Contract extends JobContract>(
    contract: Contract,
    id: string,
    input: InputOf<Contract>,
  ): Promise<Job> {
    return updateJob(this.#calls, this.#config.blobs, { contract, id, input })
  }

  /**
   * Another client of the same database with its own connections. Options that are not given are the same as those of this
   * client.
   */
  clone<Other = PgTransaction>(options: StintOptions<Other> = {}): Stint<Other> {
    return newStint<Other>({ ...optionsOf(this.#config), ...options })
  }

  /** @internal Connection and schema, for another client of the same database. */
  get place(): { connection: string | undefined; schema: string } {
    const { connection, schema } = this.#config
    return { connection, schema }
  }

  /** Creates or upgrades the tables; any number of processes may call it at once. */
  async migrate(options?: MigrateOptions): Promise<MigrateResult> {
    return migrate(await this.#connection.database(), options)
  }

  /** A breaker, for calls of its downstream: `stint.breaker('smtp').run(() => send(mail))`. */
  breaker(name: string): BreakerHandle {
    return this.#breakerRunner.breaker(name)
  }

  /** Which migrations are applied, and which are pending. */
  migrationStatus(): Promise<MigrationStatus> {
    return this.#calls.send(migrationStatus)
  }

  /**
   * Counts, rates and percentiles of wait and run, by the minute, queue and kind; and the current figures of the queues. As
   * of some seconds ago: every process writes its counts every 10 s.
   */
  async stats(options?: StatsOptions): Promise<Stats> {
    const request = resolveStatsOptions(options)
    return this.#calls.send((db) => stats(db, this.#queueReader, request))
  }

  /**
   * The figures of every queue that has live jobs, as the leader counted them some seconds ago; none while no worker lives.
   * The cost does not depend on the number of jobs.
   */
  async gauges(options?: GaugesOptions): Promise<QueueFigures[]> {
    const queue = resolveGaugesOptions(options)
    return this.#calls.send((db) => gaugedQueues(db, this.#queueReader, queue))
  }

  /**
   * How full a queue is, or one key of it, and whether it takes jobs: at most 2 s old if it has a rule. Enqueues check this
   * by themselves; ask to slow down before they are refused.
   */
  async pressure(queue: string, options?: PressureOptions): Promise<PressureReport> {
    const asked = resolvePressureOptions(queue, options)
    return this.#calls.send((db) => pressureOf(db, asked))
  }

  /**
   * The schema's version, the live workers, upkeep, and the figures of every queue: its jobs counted now, up to 10,000 in
   * each state. For more than that, `estimated` and `atLeast` say what the figure is.
   */
  status(): Promise<Status> {
    return this.#calls.send((db) => readStatus(db, this.#queueReader))
  }

  /**
   * Checks for present and future problems: the server's settings, the schema, vacuum, snapshots, workers, upkeep. Returns
   * one finding for each check, also if there is no problem; a check that could not run is `unknown`, and says why.
   */
  async doctor(options?: DoctorOptions): Promise<Examination> {
    const only = resolveDoctorOptions(options)
    return this.#calls.send((db) => examine(db, { only }))
  }

  /** A rate, to take tokens of it outside of jobs; handlers use `ctx.limit`. */
  limit(name: string): RateLimit {
    return this.#rates.limit(name)
  }

  /** Deletes inputs from the blob store that no job refers to any more. */
  async pruneBlobs({ grace = '24h' }: { grace?: Duration | undefined } = {}): Promise<PruneResult> {
    // Not through #calls: an error of the blob store is not one of the database, and pruned blobs stay pruned.
    return pruneBlobsOf(await this.#connection.database(), this.#config.blobs, grace)
  }

  /** Ends all waits for results, waits for the enqueues in progress, then closes the connections. */
  async close(): Promise<void> {
    await this.#waiter.close()
    await this.#enqueuer.close()
    await this.#rates.close()
    await this.#breakerRunner.close()
    await this.#enqueueStats.close()
    await this.#refusals.close()
    await this.#connection.close()
  }

  #partsOn(calls: Calls, by = 'code'): ClientParts {
    return partsOn(calls, { blobs: this.#config.blobs, announcer: this.#announcer, by })
  }

  #operationsOf(actor: ActorConfig): Operations {
    return new Operations(this.#calls, {
      actor,
      refusals: this.#refusals,
      onStored: ({ hint }) => {
        this.#announcer.stored(new Set([hint]))
      },
    })
  }
}

/** Outside of the class: a class that refers to itself is renamed by the bundler. */
function newStint<Tx>(options: StintOptions<Tx>): Stint<Tx> {
  return new Stint(options)
}
