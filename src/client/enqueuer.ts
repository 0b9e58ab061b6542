import type { InputOf, JobContract } from '../contracts/contract.ts'
import { isStintError, StintError } from '../core/errors.ts'
import { isSchemaMissing } from '../db/classify.ts'
import { foreignTx } from '../db/foreign-tx.ts'
import type { Queryable } from '../db/statement.ts'
import { isPlain } from '../jobs/enqueue.ts'
import type { Placed } from '../jobs/enqueue.ts'
import { Coalescer } from './coalesce.ts'
import type { Flushed } from './coalesce.ts'
import type { Connection } from './connection.ts'
import { deliver, rejected } from './deliver.ts'
import { Batch, batchesOf, sendBatch, sendBatches, storeAll } from './enqueue-many.ts'
import type { Progress } from './enqueue-many.ts'
import type { JobOptions } from './enqueue-options.ts'
import { prepareJob } from './new-job.ts'
import type { PreparedJob } from './new-job.ts'
import type { StintConfig } from './options.ts'

/** What enqueue() answers: the job that was stored, or the one that stands for it. */
export interface EnqueuedJob {
  id: string
  kind: string
  queue: string
  /** Another job stands for this one: it is unique, or its idempotency key was used before. */
  duplicate: boolean
  /** That other job took over this input. */
  replaced: boolean
}

export interface EnqueueOptions<Tx> extends JobOptions {
  /** Store it in your transaction: it is there when you commit, and not when you roll back. */
  tx?: Tx | undefined
}

export interface EnqueueManyOptions<Contract, Tx> extends JobOptions {
  /** Options of a single job, before those of all. */
  each?: ((input: InputOf<Contract>, index: number) => JobOptions) | undefined
  /** Store them in your transaction. */
  tx?: Tx | undefined
  onProgress?: ((progress: Progress) => void) | undefined
  /** Stops between two statements; of an array nothing is stored then. */
  signal?: AbortSignal | undefined
}

export interface EnqueuedJobs {
  /** In the order of the inputs. */
  jobs: EnqueuedJob[]
  stored: number
  duplicates: number
}

const flushLimits = { maxItems: 500, maxBytes: 1024 * 1024 }

/** The producer's side: checks, gathers, sends, answers. */
export class Enqueuer<Tx> {
  readonly #config: StintConfig<Tx>
  readonly #connection: Connection
  /** Apart, so that one unique job among many does not send them all through the function. */
  readonly #plain = new Coalescer((jobs: readonly PreparedJob[]) => this.#flush(jobs), flushLimits)
  readonly #deciding = new Coalescer((jobs: readonly PreparedJob[]) => this.#flush(jobs), flushLimits)

  constructor(config: StintConfig<Tx>, connection: Connection) {
    this.#config = config
    this.#connection = connection
  }

  async enqueue(contract: JobContract, input: unknown, options: EnqueueOptions<Tx>): Promise<EnqueuedJob> {
    const { tx, ...jobOptions } = options
    const preparing = this.#prepare(contract, input, jobOptions)
    const prepared = preparing instanceof Promise ? await preparing : preparing
    const placed = tx === undefined ? await this.#gather(prepared) : await this.#storeIn(tx, prepared)
    return this.#answer(prepared, placed)
  }

  async enqueueMany<Contract extends JobContract>(
    contract: Contract,
    inputs: Iterable<InputOf<Contract>> | AsyncIterable<InputOf<Contract>>,
    options: EnqueueManyOptions<Contract, Tx>,
  ): Promise<EnqueuedJobs> {
    const { each, tx, onProgress, signal, ...common } = options
    const prepare = (input: InputOf<Contract>, index: number): PreparedJob | Promise<PreparedJob> =>
      this.#prepare(contract, input, each === undefined ? common : { ...common, ...each(input, index) })
    const report = (sent: number, total: number | undefined): void => {
      signal?.throwIfAborted()
      onProgress?.({ sent, total })
    }
    const send = (jobs: readonly PreparedJob[], onBatch: (sent: number) => void): Promise<Placed[]> =>
      tx === undefined
        ? this.#storeAll(jobs, onBatch)
        : sendBatches(this.#foreign(tx), batchesOf(jobs), { isRepeat: false, onBatch })

    signal?.throwIfAborted()
    if (Symbol.asyncIterator in inputs) return this.#storeStream(inputs, { prepare, send, report })
    const prepared: PreparedJob[] = []
    for (const input of inputs) {
      const preparing = prepare(input, prepared.length)
      prepared.push(preparing instanceof Promise ? await preparing : preparing)
    }
    const placed = await send(prepared, (sent) => {
      report(sent, prepared.length)
    })
    return this.#answerAll(prepared, placed)
  }

  /** Resolves when all that was enqueued so far has been answered. */
  async drained(): Promise<void> {
    await Promise.all([this.#plain.drained(), this.#deciding.drained()])
  }

  #prepare(contract: JobContract, input: unknown, options: JobOptions): PreparedJob | Promise<PreparedJob> {
    const ambient = this.#config.ambient?.()
    return prepareJob(
      contract,
      input,
      ambient === undefined ? options : { ...ambient, ...options },
      this.#config.blobs,
    )
  }

  #gather(prepared: PreparedJob): Promise<Placed> {
    const coalescer = isPlain(prepared.job) ? this.#plain : this.#deciding
    return coalescer.add(prepared, prepared.bytes)
  }

  async #storeIn(tx: Tx, prepared: PreparedJob): Promise<Placed> {
    const [placed] = await sendBatch(this.#foreign(tx), [prepared], false)
    if (placed === undefined) throw new Error('The transaction gave back no row for its enqueue')
    return placed
  }

  #foreign(tx: Tx): Queryable {
    const { adapter, schema } = this.#config
    const foreign = foreignTx(tx, adapter, schema)
    // What the server says in the caller's transaction is the caller's to see (a retry may hang on its SQLSTATE);
    // only missing tables are ours to explain.
    const explain = (error: unknown): never => {
      throw isSchemaMissing(error) ? rejected(error, schema) : error
    }
    return { schema, query: (text, values) => foreign.query(text, values).catch(explain) }
  }

  async #storeAll(jobs: readonly PreparedJob[], onBatch: (sent: number) => void): Promise<Placed[]> {
    return storeAll(await this.#connection.database(), { jobs, timeoutMs: this.#config.timeoutMs, onBatch })
  }

  /** A stream may never end, so it is stored as it comes, a statement at a time. */
  async #storeStream<Input>(
    inputs: AsyncIterable<Input>,
    steps: {
      prepare: (input: Input, index: number) => PreparedJob | Promise<PreparedJob>
      send: (jobs: readonly PreparedJob[], onBatch: (sent: number) => void) => Promise<Placed[]>
      report: (sent: number, total: number | undefined) => void
    },
  ): Promise<EnqueuedJobs> {
    const all: EnqueuedJobs = { jobs: [], stored: 0, duplicates: 0 }
    let batch = new Batch()
    let count = 0
    const flush = async (): Promise<void> => {
      const answers = this.#answerAll(batch.jobs, await steps.send(batch.jobs, () => undefined))
      for (const job of answers.jobs) all.jobs.push(job)
      all.stored += answers.stored
      all.duplicates += answers.duplicates
      batch = new Batch()
      steps.report(all.jobs.length, undefined)
    }
    for await (const input of inputs) {
      const job = await steps.prepare(input, count++)
      if (batch.add(job)) continue
      await flush()
      batch.add(job)
    }
    if (batch.jobs.length > 0) await flush()
    return all
  }

  /** One flush for many callers: where the database refuses a value, only the caller who sent it is told so. */
  async #flush(jobs: readonly PreparedJob[]): Promise<Flushed<Placed>[]> {
    try {
      const placed = await this.#deliver(jobs)
      return placed.map((result) => ({ ok: true, result }))
    } catch (error) {
      if (jobs.length === 1 || !isStintError(error, 'invalid-input')) throw error
      const answers: Flushed<Placed>[] = []
      for (const job of jobs) {
        answers.push(
          ...(await this.#flush([job]).catch((cause: unknown) => [{ ok: false as const, error: cause }])),
        )
      }
      return answers
    }
  }

  async #deliver(jobs: readonly PreparedJob[]): Promise<Placed[]> {
    const { schema, timeoutMs } = this.#config
    const delivery = { jobIds: jobs.map(({ job }) => job.id), schema, timeoutMs }
    const database = await this.#connection.database()
    return deliver(delivery, (isRepeat) => sendBatch(database, jobs, isRepeat))
  }

  #answerAll(prepared: readonly PreparedJob[], placed: readonly Placed[]): EnqueuedJobs {
    const jobs = prepared.map((job, index) => this.#answer(job, placed[index] ?? missing(job)))
    const duplicates = jobs.filter(({ duplicate }) => duplicate).length
    return { jobs, stored: jobs.length - duplicates, duplicates }
  }

  #answer({ kind, queue, blob }: PreparedJob, { id, placement }: Placed): EnqueuedJob {
    // Nobody refers to it; should this fail, the pruning finds it.
    if (blob !== undefined && placement !== 'stored' && placement !== 'replaced') {
      this.#config.blobs?.store.delete(blob.key).catch(() => undefined)
    }
    switch (placement) {
      case 'stored':
        return { id, kind, queue, duplicate: false, replaced: false }
      case 'kept':
        return { id, kind, queue, duplicate: true, replaced: false }
      case 'replaced':
        return { id, kind, queue, duplicate: true, replaced: true }
      case 'conflict':
        throw new StintError(
          'duplicate-job',
          `Job ${id} of '${kind}' already stands for this unique key, and onConflict is 'error'.`,
          {
            jobIds: [id],
          },
        )
      case 'mismatch':
        throw new StintError(
          'idempotency-conflict',
          `The idempotency key was used before with another input, by job ${id} of '${kind}'. Use another key for another intent.`,
          { jobIds: [id] },
        )
    }
  }
}

function missing({ job }: PreparedJob): never {
  throw new Error(`The database gave no answer for job ${job.id}`)
}
