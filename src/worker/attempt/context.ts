import type { EnqueueArguments, JobContract } from '../../contracts/contract.ts'
import type { Duration } from '../../core/duration.ts'
import { StintError } from '../../core/errors.ts'
import { boundedText } from '../../core/names.ts'
import { durationOption, given, invalidOption } from '../../core/options.ts'
import { errorShortened, toStorable } from '../../core/json/storable.ts'
import { Snooze } from '../../core/failures/verdict.ts'
import type { PgTransaction, TxAdapter } from '../../db/foreign-tx.ts'
import type { RateLimit, Rates } from '../../limits/rates/rates.ts'
import { foreignTx, pgAdapter } from '../../db/foreign-tx.ts'
import type { JobOptions } from '../../jobs/new/enqueue-options.ts'
import { prepareJob } from '../../jobs/new/new-job.ts'
import type { BlobConfig } from '../../jobs/new/new-job.ts'
import { isUsualTime } from '../../jobs/position.ts'
import type { BreakerHandle, BreakerRunner } from '../../limits/breakers/runner.ts'
import { leaseLost } from './fenced-tx.ts'
import type { FencedTransactions } from './fenced-tx.ts'
import type { HeldJob } from './held-job.ts'
import type { Logger } from '../report/log.ts'
import type { Notes } from './notes.ts'
import { takingJob } from './taking-job.ts'
import { textOf } from './text-of.ts'
import type { Child, Ended } from './outcome.ts'
import { succeedIn } from '../settle/succeed-with-children.ts'

/**
 * What a worker proves when it writes to another system, which should refuse a smaller epoch, and an equal epoch with
 * another token.
 */
export interface Fence {
  /** Random, new for every claim. */
  readonly token: string
  /** Grows with every claim of the job. */
  readonly epoch: number
}

/** Lines kept with the attempt, and written to the worker's log. */
export interface JobLog {
  debug(message: string, data?: unknown): void
  info(message: string, data?: unknown): void
  warn(message: string, data?: unknown): void
  error(message: string, data?: unknown): void
}

/** What a handler knows about its job, and what it may do under the job's lease. */
export interface HandlerContext {
  readonly jobId: string
  readonly kind: string
  readonly queue: string
  readonly key: string | null
  readonly priority: number
  /** 1 the first time; goes on counting after a replay. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly runAt: Date
  /** The scheduled time that this job is for, however late it runs; undefined if no schedule made the job. */
  readonly fireAt: Date | undefined
  readonly correlationId: string
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
  /** The last progress of an earlier attempt that was given back. */
  readonly lastProgress: { percent: number; note: string | null } | null
  /** Aborts at the job's timeout, when its lease is lost or at risk, and when the worker stops. Pass it on. */
  readonly signal: AbortSignal
  readonly fence: Fence
  /** The same for every attempt of this job; pass it to services that accept an idempotency key. */
  readonly idempotencyKey: string
  readonly log: JobLog
  /**
   * Runs your writes and completes the job in one commit: all of it or nothing, and at most once for the job. The job's
   * result is what `work` returns; after this call the handler should only return.
   */
  tx<Result>(work: (tx: PgTransaction) => Promise<Result>): Promise<Result>
  /**
   * Completes the job inside a transaction of yours. Throws `lease-lost` if another worker has the job by now: let your
   * transaction roll back. `adapter` is one of `stint/drizzle`, `stint/kysely` …; a pg client needs none.
   */
  complete<Tx = PgTransaction>(
    tx: Tx,
    options?: { result?: unknown; adapter?: TxAdapter<Tx> | undefined },
  ): Promise<void>
  /**
   * Causes an effect once for a key of this kind, however often jobs try: a repeat returns the result of the first
   * call. What `work` writes through its transaction commits with the key. Effects outside of Postgres may happen again
   * after a crash.
   */
  once<Result>(
    key: string,
    work: (tx: PgTransaction) => Promise<Result>,
    options?: { for?: Duration | undefined },
  ): Promise<Result>
  /**
   * Enqueues a job that is stored together with the success of this one, and not if it fails. Duplicates (`unique`,
   * `idempotencyKey`) are decided at that time: the event `duplicateChild` reports one, and if the contract makes a
   * duplicate an error, this attempt fails with it.
   */
  enqueue<Contract extends JobContract>(
    contract: Contract,
    ...[input, options]: EnqueueArguments<Contract, JobOptions>
  ): Promise<{ id: string }>
  /**
   * Reports how far the job is: 0 to 100. Cheap to call often: only the newest value is written, a few times a second.
   */
  progress(percent: number, note?: string): Promise<void>
  /** A rate, to take tokens of it. A wait ends with `signal`; one that is too long snoozes the job. */
  limit(name: string): RateLimit
  /** A breaker, for calls of its downstream. If `breaker-open` is not caught, the job comes back when it may be probed. */
  breaker(name: string): BreakerHandle
  /** Ends this attempt and tries again later, without counting it. Never returns. */
  snooze(when: Duration | Date, reason?: string): never
}

/** What all contexts of a worker share. */
export interface ContextServices {
  readonly transactions: FencedTransactions
  readonly notes: Pick<Notes, 'progress' | 'log' | 'finish'>
  readonly logger: Logger
  readonly schema: string
  readonly blobs: BlobConfig | undefined
  readonly rates: Rates
  readonly breakers: Pick<BreakerRunner, 'breaker'>
}

export class JobContext implements HandlerContext {
  readonly held: HeldJob
  readonly children: Child[] = []
  /** Whether and how the handler itself stored the completion of this attempt. */
  completion: 'none' | 'committed' | 'handed-over' = 'none'
  handedOver: { result: string | undefined } | undefined
  readonly #services: ContextServices
  #controller: AbortController | undefined
  #log: JobLog | undefined
  #isInTx = false

  constructor(held: HeldJob, services: ContextServices) {
    this.held = held
    this.#services = services
  }

  get jobId(): string {
    return this.held.job.id
  }

  get kind(): string {
    return this.held.job.kind
  }

  get queue(): string {
    return this.held.job.queue
  }

  get key(): string | null {
    return this.held.job.key
  }

  get priority(): number {
    return this.held.job.priority
  }

  get attempt(): number {
    return this.held.job.attempt
  }

  get maxAttempts(): number {
    return this.held.job.maxAttempts
  }

  get runAt(): Date {
    const { runAt } = this.held.job
    // A row that was not written by enqueue may have a time that no Date can show, such as 'infinity'.
    return isUsualTime(runAt) ? new Date(`${runAt.replace(' ', 'T')}Z`) : new Date()
  }

  get fireAt(): Date | undefined {
    const { fireAt } = this.held.job.more ?? {}
    return fireAt === undefined || fireAt === null ? undefined : new Date(fireAt)
  }

  get correlationId(): string {
    return this.held.job.more?.correlationId ?? this.held.job.id
  }

  get traceparent(): string | undefined {
    return this.held.job.more?.traceparent ?? undefined
  }

  get tracestate(): string | undefined {
    return this.held.job.more?.tracestate ?? undefined
  }

  get lastProgress(): { percent: number; note: string | null } | null {
    return this.held.job.more?.progress ?? null
  }

  /** Made on first use: most handlers of short jobs never read it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController()
      this.#controller = controller
      if (this.held.abortedFor !== undefined) controller.abort(this.held.abortReason)
      else
        this.held.listen((_, reason) => {
          controller.abort(reason)
        })
    }
    return this.#controller.signal
  }

  get fence(): Fence {
    return { token: this.held.job.leaseId, epoch: this.held.job.epoch }
  }

  get idempotencyKey(): string {
    return this.held.job.id
  }

  get log(): JobLog {
    return (this.#log ??= this.#makeLog())
  }

  async tx<Result>(work: (tx: PgTransaction) => Promise<Result>): Promise<Result> {
    this.#mustBeOutsideTx()
    const before = this.children.length
    let result: string | undefined
    this.#isInTx = true
    try {
      const value = await this.#services.transactions.complete(this.held, {
        work: async (tx) => {
          // The block may run again: only the children of the run that commits count.
          this.children.length = before
          const value = await work(tx)
          result = this.storable(value)
          await this.#writeLastNotes()
          return value
        },
        ended: () => this.#ended(result),
      })
      this.completion = 'committed'
      this.held.complete()
      return value
    } catch (error) {
      this.children.length = before
      throw error
    } finally {
      this.#isInTx = false
    }
  }

  async complete<Tx = PgTransaction>(
    tx: Tx,
    { result, adapter }: { result?: unknown; adapter?: TxAdapter<Tx> | undefined } = {},
  ): Promise<void> {
    this.#mustBeOutsideTx()
    const foreign = foreignTx(tx, adapter ?? (pgAdapter as unknown as TxAdapter<Tx>), this.#services.schema)
    const text = this.storable(result)
    await this.#writeLastNotes()
    if ((await succeedIn(foreign, this.#ended(text))).length === 0) throw leaseLost(this.held)
    this.completion = 'handed-over'
    this.held.complete()
    this.handedOver = { result: text }
  }

  async once<Result>(
    key: string,
    work: (tx: PgTransaction) => Promise<Result>,
    { for: hold = '30d' }: { for?: Duration | undefined } = {},
  ): Promise<Result> {
    if (!boundedText(key, 512))
      throw invalidOption('key', 'a string of 1 to 512 bytes that Postgres can store', key)
    const holdMs = durationOption('for', hold, { minMs: 1 })
    this.#mustBeOutsideTx()
    const toText = (value: Result): string => this.storable(value, 'What ctx.once gave') ?? 'null'
    return this.#services.transactions.once(this.held, { key, holdMs, work, toText })
  }

  async enqueue<Contract extends JobContract>(
    contract: Contract,
    ...[input, options = {}]: EnqueueArguments<Contract, JobOptions>
  ): Promise<{ id: string }> {
    this.#mustBeOpen()
    const { correlationId, traceparent, tracestate } = this
    const inherited = { correlationId, traceparent, tracestate, ...given(options) }
    const child = await prepareJob(contract, input, inherited, this.#services.blobs, { parentId: this.jobId })
    this.children.push(child)
    return { id: child.job.id }
  }

  progress(percent: number, note?: string): Promise<void> {
    if (!(typeof percent === 'number' && percent >= 0 && percent <= 100)) {
      const refused = Promise.reject(invalidOption('percent', 'a number from 0 to 100', percent))
      // A caller that does not await the promise must not end the process with an unhandled rejection.
      refused.catch(() => undefined)
      return refused
    }
    const stored = (note ?? undefined) === undefined ? undefined : textOf(note, maxNoteBytes)
    this.#services.notes.progress(this.held, percent, stored?.text ?? null)
    if (stored !== undefined) this.#flag('A note of progress', stored.changed)
    return Promise.resolve()
  }

  limit(name: string): RateLimit {
    return this.#services.rates.limit(name, takingJob(this))
  }

  breaker(name: string): BreakerHandle {
    return this.#services.breakers.breaker(name)
  }

  snooze(when: Duration | Date, reason?: string): never {
    throw new Snooze(when, reason)
  }

  /** The handler's output as JSON that can be stored. */
  storable(value: unknown, what: Output = 'The result'): string | undefined {
    if (value === undefined) return undefined
    const { text, changed } = toStorable(value, { maxBytes: maxResultBytes })
    this.#flag(what, changed)
    return text
  }

  /**
   * Says in the job's log what had to be changed to be stored, since it is easy to miss. Only once for each sort of
   * output: a handler that returns an odd value usually does so every time.
   */
  #flag(what: Output, changed: readonly string[]): void {
    if (changed.length > 0 && this.held.flag(what))
      this.log.warn(`${what} is not stored as it was ${outputs[what]}: ${changed.join('; ')}.`)
  }

  /** Log lines are written under the lease: those that are not written before the completion never are. */
  #writeLastNotes(): Promise<void> {
    return this.#services.notes.finish(this.held, false)
  }

  #ended(result: string | undefined): Ended {
    const ranMs = performance.now() - this.held.startedAt
    return { held: this.held, outcome: { type: 'succeeded', result, children: this.children }, ranMs }
  }

  #mustBeOpen(): void {
    if (this.completion !== 'none')
      throw this.#completed('was completed already; its handler can only return')
  }

  /**
   * For calls that need the job's row: inside ctx.tx they would wait for ever, for the lock of the block around them.
   */
  #mustBeOutsideTx(): void {
    this.#mustBeOpen()
    if (this.#isInTx) throw this.#completed('is being completed by ctx.tx; use the transaction of that block')
  }

  #completed(what: string): StintError {
    const message = `Job ${this.jobId} of '${this.kind}' ${what}.`
    return new StintError('job-completed', message, { jobIds: [this.jobId] })
  }

  #makeLog(): JobLog {
    const { notes, logger } = this.#services
    const { jobId, kind, queue, attempt, correlationId } = this
    const about = { id: jobId, kind, queue, attempt, correlationId }
    const write =
      (level: keyof JobLog) =>
      (message: string, data?: unknown): void => {
        const stored = data === undefined ? undefined : toStorable(data, { maxBytes: maxLineBytes })
        const { text, changed } = textOf(message, maxLineBytes)
        notes.log(this.held, { level, message: text, data: stored?.text })
        logger[level](
          stored === undefined ? about : { ...about, data: JSON.parse(stored.text) as unknown },
          text,
        )
        // Errors are logged often, and their text in the log is enough: no warning.
        this.#flag(
          'A line of this log',
          [...changed, ...(stored?.changed ?? [])].filter((how) => how !== errorShortened),
        )
      }
    return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  }
}

const maxResultBytes = 256 * 1024
const maxNoteBytes = 1024
/** Limit for a message, and for its data. */
const maxLineBytes = 8 * 1024

/**
 * The sorts of output that are stored, and the verb for each. What a handler throws is not among them: a stored error
 * marks its own changes.
 */
const outputs = {
  'The result': 'returned',
  'What ctx.once gave': 'returned',
  'A note of progress': 'given',
  'A line of this log': 'given',
} as const
type Output = keyof typeof outputs
