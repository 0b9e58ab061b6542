import { withInput } from '../jobs/blobs/input-blob.ts'
import { isStintError, StintError } from '../core/errors.ts'
import type { Job } from '../core/job.ts'
import { rejectUnknown } from '../core/options.ts'
import type { Database } from '../db/database.ts'
import type { Copyable } from '../db/statement.ts'
import { withPartitions } from '../jobs/ensure-partitions.ts'
import { get } from '../jobs/get.ts'
import type { BlobConfig } from '../jobs/new/new-job.ts'
import type { Act } from './operator/act.ts'
import type { Connection } from './connection.ts'
import { deliver } from './enqueue/deliver.ts'
import { missingJob } from './job-id.ts'

export interface GetOptions {
  /** Also read an input that is in the blob store; if false, it is null and `inputBlob` says where it is. @default true */
  blob?: boolean | undefined
}

export interface CallsConfig {
  schema: string
  timeoutMs: number
  blobs: BlobConfig | undefined
}

/** `isRepeat`: an earlier try lost its reply, so its work may be committed. */
export type Work<Result> = (db: Database, isRepeat: boolean) => Promise<Result>

/** A change. It is sent on its own, or in the transaction that also stores its audit entry. */
export type Change<Result> = (db: Copyable, isRepeat: boolean) => Promise<Result>

export interface WriteOptions<Result> {
  /** The ids of the jobs that the change stores, if any. */
  jobIds?: readonly string[] | undefined
  /** The change needs a transaction, even without an audit entry. */
  isTransaction?: boolean | undefined
  /** Whether something was changed; without a change there is no audit entry. @default always */
  isDone?: ((result: Result) => boolean) | undefined
}

/** Sends calls about stored jobs: each one is sent again until its answer is known. */
export class Calls {
  readonly #config: CallsConfig
  readonly #connection: Connection
  /** The act whose audit entry each change stores; undefined: no audit entry. */
  readonly #act: Act | undefined

  constructor(config: CallsConfig, connection: Connection, act?: Act) {
    this.#config = config
    this.#connection = connection
    this.#act = act
  }

  /** The same calls, where each change stores an audit entry of this act in its own transaction. */
  notedAs(act: Act): Calls {
    return new Calls(this.#config, this.#connection, act)
  }

  /** `jobIds` are the ids of the jobs that the call stores, if any. */
  send<Result>(work: Work<Result>, jobIds: readonly string[] = []): Promise<Result> {
    const { schema, timeoutMs } = this.#config
    return deliver({ schema, timeoutMs, jobIds: () => jobIds }, async (isRepeat) =>
      work(await this.#connection.database(), isRepeat),
    )
  }

  /** Sends a change. */
  async write<Result>(work: Change<Result>, options: WriteOptions<Result> = {}): Promise<Result> {
    const { jobIds = [], isTransaction = false, isDone = () => true } = options
    const act = this.#act
    if (act !== undefined) {
      const result = await this.send(
        (db, isRepeat) =>
          withPartitions(db, () =>
            db.transaction((tx) => act.note(tx, { isRepeat, isDone, work: () => work(tx, isRepeat) })),
          ),
        jobIds,
      )
      act.committed()
      return result
    }
    return this.send(
      (db, isRepeat) =>
        withPartitions(db, () =>
          isTransaction ? db.transaction((tx) => work(tx, isRepeat)) : work(db, isRepeat),
        ),
      jobIds,
    )
  }

  /** The job, without an input from the blob store; throws `job-not-found`. */
  async find(id: string): Promise<Job> {
    return (await this.send((db) => get(db, id))) ?? missingJob(id)
  }

  /** The job after a change; throws `state-changed` if there was no change and the job is not `isFine`. */
  async changed(id: string, isDone: boolean, isFine: (job: Job) => boolean = () => false): Promise<Job> {
    const job = await this.find(id)
    if (!isDone && !isFine(job)) {
      throw new StintError(
        'state-changed',
        `Job ${id} of '${job.kind}' is ${job.state}, and jobs in this state do not allow this action.`,
        { jobIds: [id], current: job },
      )
    }
    return this.withInputIfThere(job)
  }

  async withInput<Found extends Job>(job: Found, { blob = true, ...rest }: GetOptions = {}): Promise<Found> {
    rejectUnknown('get', rest, ['blob'])
    return blob ? withInput(this.#config.blobs?.store, job) : job
  }

  /** For the result of a change: it is returned even if this client cannot read the input. */
  async withInputIfThere<Found extends Job>(job: Found): Promise<Found> {
    try {
      return await this.withInput(job)
    } catch (error) {
      if (isStintError(error, 'blob-missing')) return job
      throw error
    }
  }
}
