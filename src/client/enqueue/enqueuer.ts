import { setImmediate as nextTurn } from 'node:timers/promises'
import { checkContract } from '../../contracts/check-contract.ts'
import type { InputOf, JobContract } from '../../contracts/contract.ts'
import { isStintError, StintError } from '../../core/errors.ts'
import { given, invalidOption } from '../../core/options.ts'
import { isSchemaMissing, isPerhapsOneRow } from '../../db/classify.ts'
import { foreignTx } from '../../db/foreign-tx.ts'
import type { Database } from '../../db/database.ts'
import type { Bound, Queryable } from '../../db/statement.ts'
import { isPlain } from '../../jobs/enqueue.ts'
import type { Placed } from '../../jobs/enqueue.ts'
import { Admission } from './admission.ts'
import type { Admitted } from './admission.ts'
import { batchesOf, KeptBatches } from './batches.ts'
import { Coalescer } from '../../db/coalesce.ts'
import type { Flushed } from '../../db/coalesce.ts'
import type { Connection } from '../connection.ts'
import { rejected } from '../../db/rejected.ts'
import { callersOwn, deliver, unwrap } from './deliver.ts'
import type { EnqueueStats } from './enqueue-stats.ts'
import { StoredJob } from './enqueued-job.ts'
import type { EnqueuedJobs } from './enqueued-job.ts'
import type { EnqueueManyOptions, EnqueueOptions } from './options.ts'
import type { Waiter } from '../follow/waiter.ts'
import type { JobOptions } from '../../jobs/new/enqueue-options.ts'
import { prepareJob } from '../../jobs/new/new-job.ts'
import type { PreparedJob } from '../../jobs/new/new-job.ts'
import type { StintConfig } from '../options.ts'
import { refusalOf } from '../../jobs/new/refusal.ts'
import { sendBatch } from '../../jobs/new/send-batch.ts'
import type { Announcer } from '../../jobs/wake-up/announcer.ts'

/** The results for many jobs, and the blobs that no job refers to after the commit. */
interface Stored {
  jobs: StoredJob[]
  unused: string[]
}

export interface EnqueuerParts {
  connection: Connection
  announcer: Announcer
  stats: EnqueueStats
  waiter: Waiter
}

const flushLimits = { maxItems: 500, maxBytes: 1024 * 1024 }

/** Enqueues jobs: checks them, gathers them into batches, sends them and returns the results. */
export class Enqueuer<Tx> {
  readonly #config: StintConfig<Tx>
  readonly #connection: Connection
  readonly #announcer: Announcer
  readonly #stats: EnqueueStats
  readonly #waiter: Waiter
  readonly #admission: Admission
  /** Two coalescers, so that one unique job among many does not send all of them through the deciding function. */
  readonly #plain = new Coalescer((jobs: readonly PreparedJob[]) => this.#flush(jobs), flushLimits)
  readonly #deciding = new Coalescer((jobs: readonly PreparedJob[]) => this.#flush(jobs), flushLimits)

  constructor(config: StintConfig<Tx>, { connection, announcer, stats, waiter }: EnqueuerParts) {
    this.#config = config
    this.#connection = connection
    this.#announcer = announcer
    this.#stats = stats
    this.#waiter = waiter
    this.#admission = new Admission(connection)
  }

  async enqueue(contract: JobContract, input: unknown, options: EnqueueOptions<Tx>): Promise<StoredJob> {
    checkOptions(options)
    const { tx, ...jobOptions } = options
    const preparing = this.#prepare(contract, input, jobOptions)
    const prepared = preparing instanceof Promise ? await preparing : preparing
    const looking = this.#admission.look(prepared.queue, tx !== undefined)
    if (looking !== undefined) await looking
    const admitted = this.#admission.hasRules ? this.#admission.admit([prepared]) : undefined
    let placed: Placed | undefined
    try {
      placed = tx === undefined ? await this.#gather(prepared) : await this.#storeIn(tx, prepared)
    } catch (error) {
      // Many callers share a flush: a new error gets the stack of this caller.
      throw tx === undefined ? forJob(error, prepared.job.id) : error
    } finally {
      if (admitted !== undefined) this.#admission.done(admitted, placed?.placement === 'stored')
    }
    const job = this.#answer(prepared, placed, tx !== undefined)
    this.#stats.stored([job])
    return job
  }

  /** Sends jobs of flows once their queues are known to take them, and counts them. */
  async admitted<Result>(
    jobs: readonly PreparedJob[],
    { isInTx, isStored }: { isInTx: boolean; isStored: (result: Result) => boolean },
    send: () => Promise<Result>,
  ): Promise<Result> {
    await this.#admission.lookAll(jobs, isInTx)
    const admitted = this.#admission.admit(jobs)
    let isDone = false
    try {
      const result = await send()
      isDone = isStored(result)
      if (isDone) this.#stats.stored(jobs.map(({ queue, kind }) => ({ queue, kind, duplicate: false })))
      return result
    } finally {
      this.#admission.done(admitted, isDone)
    }
  }

  async enqueueMany<Contract extends JobContract>(
    contract: Contract,
    inputs: Iterable<InputOf<Contract>> | AsyncIterable<InputOf<Contract>>,
    options: EnqueueManyOptions<Contract, Tx>,
  ): Promise<EnqueuedJobs<never>> {
    checkContract(contract)
    checkInputs(inputs)
    checkOptions(options)
    const { each, tx, onProgress, signal, ...common } = options
    const admitted: Admitted[] = []
    const batches = this.#admission.admitting(
      batchesOf(inputs, (input: InputOf<Contract>, index) =>
        this.#prepare(contract, input, each === undefined ? common : overlay(common, each(input, index))),
      ),
      { admitted, isInTx: tx !== undefined },
    )
    const total = Array.isArray(inputs) ? inputs.length : undefined
    const report = (sent: number): void => {
      onProgress?.({ sent, total })
      signal?.throwIfAborted()
    }
    signal?.throwIfAborted()
    let isStored = false
    try {
      const stored =
        tx === undefined && Symbol.asyncIterator in inputs
          ? await this.#storeStream(batches, { admitted, report })
          : await this.#storeKept(new KeptBatches(batches), {
              tx,
              report,
              isWatched: onProgress !== undefined || signal !== undefined,
            })
      isStored = true
      return this.#summary(stored)
    } finally {
      this.#admission.done(admitted.flat(), isStored)
    }
  }

  /** All or none, in the caller's transaction or in one of ours. */
  async #storeKept(
    kept: KeptBatches,
    { tx, report, isWatched }: { tx: Tx | undefined; report: (sent: number) => void; isWatched: boolean },
  ): Promise<StoredJob[]> {
    if (tx !== undefined) {
      // Before anything is sent: a refused batch must leave nothing in the caller's transaction.
      await kept.at(0)
      if (this.#admission.hasRules) await kept.all()
      const stored = await this.#storeAllIn(this.foreign(tx), kept, {
        isRepeat: false,
        isInTx: true,
        report,
      }).catch(unwrap)
      this.#announcer.storedInTransaction(kept.hints())
      this.#drop(stored.unused)
      return stored.jobs
    }
    const stored = await this.#storeAll(kept, { isWatched, report })
    this.#announcer.stored(kept.hints())
    // Only after the commit: a transaction that was rolled back and sent again may store a job that was a duplicate the
    // first time.
    this.#drop(stored.unused)
    return stored.jobs
  }

  #summary(jobs: StoredJob[]): EnqueuedJobs<never> {
    this.#stats.stored(jobs)
    const duplicates = jobs.filter(({ duplicate }) => duplicate).length
    return { jobs, stored: jobs.length - duplicates, duplicates }
  }

  /** Resolves when every enqueue so far has its result. */
  async close(): Promise<void> {
    await this.#admission.settled()
    // Those that were waiting are sent in this turn.
    await nextTurn()
    await Promise.all([this.#plain.drained(), this.#deciding.drained()])
    await this.#admission.close()
  }

  #prepare(contract: JobContract, input: unknown, options: JobOptions): PreparedJob | Promise<PreparedJob> {
    const { ambient, blobs } = this.#config
    const around = ambient()
    return prepareJob(contract, input, around === undefined ? options : overlay(around, options), blobs)
  }

  #gather(prepared: PreparedJob): Promise<Placed> {
    const coalescer = isPlain(prepared.job) ? this.#plain : this.#deciding
    return coalescer.add(prepared, prepared.bytes)
  }

  async #storeIn(tx: Tx, prepared: PreparedJob): Promise<Placed> {
    const [placed] = await sendBatch(this.foreign(tx), [prepared], false)
    if (placed === undefined) throw new Error('The transaction returned no row for the enqueue')
    this.#announcer.storedInTransaction(new Set([prepared.hint]))
    this.#drop(unusedOf([prepared], [placed]))
    return placed
  }

  /** A caller's transaction, for our statements. */
  foreign(tx: Tx): Queryable {
    const { adapter, schema } = this.#config
    const foreign = foreignTx(tx, adapter, schema)
    // An error in the caller's transaction reaches the caller unchanged, because its retry may depend on the SQLSTATE. Only
    // missing tables get an explanation.
    const explain = (error: unknown): never => {
      throw isSchemaMissing(error) ? rejected(error, schema) : error
    }
    return { schema, query: (text, values) => foreign.query(text, values).catch(explain) }
  }

  /** All or none: in one transaction, unless there is only one statement and the caller cannot stop it halfway. */
  async #storeAll(
    batches: KeptBatches,
    { isWatched, report }: { isWatched: boolean; report: (sent: number) => void },
  ): Promise<Stored> {
    const { schema, timeoutMs } = this.#config
    const first = await batches.at(0)
    if (first === undefined) return { jobs: [], unused: [] }
    const isOneStatement =
      !isWatched && first.every(({ job }) => isPlain(job)) && (await batches.at(1)) === undefined
    const database = await this.#connection.database()
    const delivery = { schema, timeoutMs, jobIds: () => batches.ids() }
    return deliver(delivery, (isRepeat) => {
      const store = (db: Queryable): Promise<Stored> => this.#storeAllIn(db, batches, { isRepeat, report })
      return isOneStatement ? store(database) : database.transaction(store)
    })
  }

  /** Sends batch after batch, and prepares the next one while the server works. */
  async #storeAllIn(
    db: Queryable,
    batches: KeptBatches,
    {
      isRepeat,
      isInTx = false,
      report,
    }: { isRepeat: boolean; isInTx?: boolean; report: (sent: number) => void },
  ): Promise<Stored> {
    const jobs: StoredJob[] = []
    const unused: string[] = []
    let batch = await callersOwn(() => batches.at(0))
    for (let number = 1; batch !== undefined; number++) {
      const sending = sendBatch(db, batch, isRepeat)
      // Awaited below; until then a failure must not count as unhandled.
      sending.catch(() => undefined)
      // The driver writes in the next turn: let it write before the next 5,000 jobs are prepared, which takes a while.
      await nextTurn()
      let next: readonly PreparedJob[] | undefined
      try {
        next = await callersOwn(() => batches.at(number))
      } finally {
        // Also after a failure: the caller must not roll back while a statement is in flight.
        await sending.catch(() => undefined)
      }
      const placed = await sending
      this.#answerAll(batch, placed, { jobs, isInTx })
      if (!isRepeat) unused.push(...unusedOf(batch, placed))
      await callersOwn(() => {
        report(jobs.length)
      })
      batch = next
    }
    return { jobs, unused }
  }

  /** A stream may never end, so it is stored as it comes, a statement at a time. */
  async #storeStream(
    batches: AsyncIterable<PreparedJob[]>,
    { admitted, report }: { admitted: Admitted[]; report: (sent: number) => void },
  ): Promise<StoredJob[]> {
    const jobs: StoredJob[] = []
    for await (const batch of batches) {
      this.#answerAll(batch, await this.#deliver(batch), { jobs, isInTx: false })
      this.#admission.done(admitted.splice(0).flat(), true)
      report(jobs.length)
    }
    return jobs
  }

  /** One flush for many callers. If the database rejects a job, only the caller of that job gets the error. */
  async #flush(jobs: readonly PreparedJob[]): Promise<Flushed<Placed>[]> {
    try {
      const placed = await this.#deliver(jobs)
      return placed.map((result) => ({ ok: true, result }))
    } catch (error) {
      if (jobs.length === 1 || !isStintError(error) || !isPerhapsOneRow(error.cause)) {
        return jobs.map(() => ({ ok: false, error }))
      }
      const answers: Flushed<Placed>[] = []
      for (const job of jobs) answers.push(...(await this.#flush([job])))
      return answers
    }
  }

  async #deliver(jobs: readonly PreparedJob[]): Promise<Placed[]> {
    const { schema, timeoutMs } = this.#config
    const delivery = { jobIds: () => jobs.map(({ job }) => job.id), schema, timeoutMs }
    const database = await this.#connection.database()
    const hints = new Set(jobs.map(({ hint }) => hint))
    let isTold = false
    const placed = await deliver(delivery, async (isRepeat) => {
      // Only for a single call: with many calls the next flush would wait for the NOTIFY, and the workers are awake anyway.
      const hint = jobs.length === 1 ? this.#announcer.behind(hints, schema) : undefined
      isTold = hint !== undefined
      const answers = await sendBatch(hint === undefined ? database : before(database, hint), jobs, isRepeat)
      if (!isRepeat) this.#drop(unusedOf(jobs, answers))
      return answers
    })
    this.#announcer.stored(hints, { isTold })
    return placed
  }

  /** Adds the results of a batch to `jobs`, in the order of the batch. */
  #answerAll(
    batch: readonly PreparedJob[],
    placed: readonly Placed[],
    { jobs, isInTx }: { jobs: StoredJob[]; isInTx: boolean },
  ): void {
    for (const [index, prepared] of batch.entries()) {
      jobs.push(this.#answer(prepared, placed[index] ?? missing(prepared), isInTx))
    }
  }

  /** If this fails, pruneBlobs() deletes them later. */
  #drop(blobs: readonly string[]): void {
    for (const key of blobs) this.#config.blobs?.store.delete(key).catch(() => undefined)
  }

  #answer({ kind, queue }: PreparedJob, placed: Placed, isInTx: boolean): StoredJob {
    const { id, placement } = placed
    const refusal = refusalOf({ kind }, placed)
    if (refusal !== undefined) throw refusal
    const duplicate = placement !== 'stored'
    return new StoredJob(this.#waiter, {
      id,
      kind,
      queue,
      duplicate,
      replaced: placement === 'replaced',
      isInTx,
    })
  }
}

/**
 * The blobs that no job refers to, because their job is a duplicate. Do not call this after a repeat: a repeat also answers
 * `kept` if the earlier try replaced the input and lost its reply, and then a live job refers to the blob.
 */
function unusedOf(batch: readonly PreparedJob[], placed: readonly Placed[]): string[] {
  return batch.flatMap(({ blob }, index) => {
    const placement = placed[index]?.placement
    return blob === undefined || placement === 'stored' || placement === 'replaced' ? [] : [blob.key]
  })
}

/** The database for one statement that is sent together with the next one. */
function before(database: Database, next: Bound): Queryable {
  const { schema } = database
  return { schema, query: (text, values) => database.queryThen({ text, values }, next) }
}

/** Merges two sets of options: `above` overrides `below`, except where it is undefined. */
function overlay(below: JobOptions, above: JobOptions): JobOptions {
  return { ...below, ...given(above) }
}

function checkOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalidOption('options', 'an object', options)
}

function checkInputs(inputs: unknown): void {
  const isMany =
    typeof inputs === 'object' &&
    inputs !== null &&
    (Symbol.iterator in inputs || Symbol.asyncIterator in inputs)
  if (!isMany) throw invalidOption('inputs', 'an array, or another iterable, of inputs', inputs)
}

/** The error of a shared flush, for the caller of this job: with only its id. */
function forJob(error: unknown, jobId: string): unknown {
  if (!isStintError(error)) return error
  const { code, message, cause, issues } = error
  return new StintError(code, message, { cause, issues, jobIds: [jobId] })
}

function missing({ job }: PreparedJob): never {
  throw new Error(`The database gave no answer for job ${job.id}`)
}
