import { withInput } from '../blobs/input-blob.ts'
import { pruneBlobs } from '../blobs/prune.ts'
import type { PruneResult } from '../blobs/prune.ts'
import type { EnqueueArguments, InputOf, JobContract } from '../contracts/contract.ts'
import type { Duration } from '../core/duration.ts'
import { isStintError, StintError } from '../core/errors.ts'
import type { Job } from '../core/job.ts'
import { durationOption, invalidOption } from '../core/options.ts'
import { isUuid } from '../core/uuid.ts'
import type { Database } from '../db/database.ts'
import type { PgTransaction } from '../db/foreign-tx.ts'
import { cancel } from '../jobs/cancel.ts'
import { withPartitions } from '../jobs/ensure-partitions.ts'
import { get } from '../jobs/get.ts'
import { list } from '../jobs/list.ts'
import type { JobPage } from '../jobs/list.ts'
import { reprioritize } from '../jobs/reprioritize.ts'
import { reschedule } from '../jobs/reschedule.ts'
import { updateInput } from '../jobs/update-input.ts'
import { migrate, migrationStatus } from '../schema/migrate.ts'
import type { MigrateOptions, MigrateResult, MigrationStatus } from '../schema/migrate.ts'
import { Connection } from './connection.ts'
import { deliver } from './deliver.ts'
import { Enqueuer } from './enqueuer.ts'
import type { EnqueuedJob, EnqueuedJobs, EnqueueManyOptions, EnqueueOptions } from './enqueuer.ts'
import { resolveListOptions } from './list-options.ts'
import type { ListOptions } from './list-options.ts'
import { keyText, timeOption } from '../intake/enqueue-options.ts'
import { priorityOption } from '../contracts/define-job.ts'
import { resolveStintOptions } from './options.ts'
import type { StintConfig, StintOptions } from './options.ts'
import { hasInput, prepareUpdate } from './update.ts'

/**
 * The producer's client: stores jobs, looks them up, changes those that have not started.
 *
 * One per process is enough; it holds a pool of connections that it opens when first used. `Tx` is the transaction
 * type of the library you use Postgres through.
 */
export class Stint<Tx = PgTransaction> {
  readonly #config: StintConfig<Tx>
  readonly #connection: Connection
  readonly #enqueuer: Enqueuer<Tx>

  constructor(options?: StintOptions<Tx>) {
    this.#config = resolveStintOptions(options)
    this.#connection = new Connection(this.#config)
    this.#enqueuer = new Enqueuer(this.#config, this.#connection)
  }

  /** Stores one job. Concurrent calls outside transactions share one insert. */
  enqueue<Contract extends JobContract>(
    contract: Contract,
    ...[input, options = {}]: EnqueueArguments<Contract, EnqueueOptions<Tx>>
  ): Promise<EnqueuedJob> {
    return this.#enqueuer.enqueue(contract, input, options)
  }

  /**
   * Stores many jobs of one kind. Of an array or other iterable all or none are stored, whatever their number; of an
   * async iterable, a batch at a time as they come.
   */
  enqueueMany<Contract extends JobContract>(
    contract: Contract,
    inputs: Iterable<InputOf<Contract>> | AsyncIterable<InputOf<Contract>>,
    options: EnqueueManyOptions<Contract, Tx> = {},
  ): Promise<EnqueuedJobs> {
    return this.#enqueuer.enqueueMany(contract, inputs, options)
  }

  /** One job, live or ended, or undefined where there is none (any more). */
  async get(id: string): Promise<Job | undefined> {
    checkId(id)
    const job = await this.#call((db) => get(db, id))
    return job === undefined ? undefined : withInput(this.#config.blobs?.store, job)
  }

  /** A page of jobs, newest first. */
  async list(options?: ListOptions): Promise<JobPage> {
    const request = resolveListOptions(options)
    return this.#call((db) => list(db, request))
  }

  /** Ends a job that is not running; again is no error. Throws `state-changed` where it runs or ended otherwise. */
  async cancel(id: string, { reason = null }: { reason?: string | null | undefined } = {}): Promise<Job> {
    checkId(id)
    const request = { id, reason: reason === null ? null : (keyText('reason', reason, 1024) ?? null) }
    const isDone = await this.#call((db) => withPartitions(db, () => cancel(db, request)))
    return this.#changed(id, isDone, (job) => job.state === 'cancelled')
  }

  /** Moves a job that waits for its time or a worker to another time. */
  async reschedule(id: string, when: { runAt: Date | string } | { delay: Duration }): Promise<Job> {
    checkId(id)
    const { runAt, delay } = when as { runAt?: unknown; delay?: unknown }
    if ((runAt === undefined) === (delay === undefined))
      throw invalidOption('when', '{ runAt } or { delay }', when)
    const request = {
      id,
      runAt: runAt === undefined ? null : timeOption('runAt', runAt),
      delayMs: delay === undefined ? null : durationOption('delay', delay),
    }
    return this.#changed(id, await this.#call((db) => reschedule(db, request)))
  }

  /** Changes the priority of a job that is not running. */
  async reprioritize(id: string, priority: number): Promise<Job> {
    checkId(id)
    const request = { id, priority: priorityOption(priority) }
    return this.#changed(id, await this.#call((db) => reprioritize(db, request)))
  }

  /**
   * Gives a job that is not running another input, checked as enqueue() does. Key, search words and unique key follow
   * where the contract made them; what the enqueue call gave stays.
   */
  async update<Contract extends JobContract>(
    contract: Contract,
    id: string,
    input: InputOf<Contract>,
  ): Promise<Job> {
    checkId(id)
    const job = await this.#withInputIfThere((await this.#call((db) => get(db, id))) ?? missingJob(id))
    const request = await prepareUpdate(contract, job, input, this.#config.blobs)
    const isDone = await this.#call((db) => updateInput(db, request))
    return this.#changed(id, isDone, (changed) => hasInput(changed, request))
  }

  /** Creates or upgrades the tables; any number of processes may call it at once. */
  async migrate(options?: MigrateOptions): Promise<MigrateResult> {
    return migrate(await this.#connection.database(), options)
  }

  /** Which migrations are applied, and which are still to do. */
  migrationStatus(): Promise<MigrationStatus> {
    return this.#call(migrationStatus)
  }

  /** Deletes inputs from the blob store that no job refers to any more. */
  async pruneBlobs({ grace = '24h' }: { grace?: Duration | undefined } = {}): Promise<PruneResult> {
    const { blobs } = this.#config
    if (blobs === undefined)
      throw invalidOption('blobs', 'given to new Stint() before pruneBlobs() is called', blobs)
    const graceMs = durationOption('grace', grace)
    // Not through #call: the store's troubles are not the database's, and all that was pruned stays pruned.
    return pruneBlobs(await this.#connection.database(), blobs.store, graceMs)
  }

  /** Answers what is under way, then closes the connections. */
  async close(): Promise<void> {
    await this.#enqueuer.drained()
    await this.#connection.close()
  }

  #call<Result>(work: (db: Database) => Promise<Result>): Promise<Result> {
    const { schema, timeoutMs } = this.#config
    return deliver({ schema, timeoutMs }, async () => work(await this.#connection.database()))
  }

  /** The job after a change, or the reason why there was none. */
  async #changed(id: string, isDone: boolean, isFine: (job: Job) => boolean = () => false): Promise<Job> {
    const job = (await this.#call((db) => get(db, id))) ?? missingJob(id)
    if (!isDone && !isFine(job)) {
      throw new StintError(
        'state-changed',
        `Job ${id} of '${job.kind}' is ${job.state}, so this cannot be done to it.`,
        {
          jobIds: [id],
        },
      )
    }
    return this.#withInputIfThere(job)
  }

  /** For a change: what it did must not be hidden by an input that this client cannot read. */
  async #withInputIfThere(job: Job): Promise<Job> {
    try {
      return await withInput(this.#config.blobs?.store, job)
    } catch (error) {
      if (isStintError(error, 'blob-missing')) return job
      throw error
    }
  }
}

function checkId(id: unknown): asserts id is string {
  if (!isUuid(id)) throw invalidOption('id', 'a job id (a UUID)', id)
}

function missingJob(id: string): never {
  throw new StintError('job-not-found', `There is no job ${id}; it may have been dropped with its history.`, {
    jobIds: [id],
  })
}
