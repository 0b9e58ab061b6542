import type { EnqueueArguments, JobContract } from '../../contracts/contract.ts'
import type { Duration } from '../../core/duration.ts'
import { StintError } from '../../core/errors.ts'
import { boundedText } from '../../core/names.ts'
import { durationOption, given, invalidOption } from '../../core/options.ts'
import { toStorable } from '../../core/json/storable.ts'
import { Snooze } from '../../core/failures/verdict.ts'
import type { PgTransaction, TxAdapter } from '../../db/foreign-tx.ts'
import type { ApprovalsConfig } from '../../node/approval/options.ts'
import type { RateLimit, Rates } from '../../limits/rates/rates.ts'
import { foreignTx, pgAdapter } from '../../db/foreign-tx.ts'
import type { JobOptions } from '../../jobs/new/enqueue-options.ts'
import { prepareJob } from '../../jobs/new/new-job.ts'
import type { BlobConfig, PreparedJob } from '../../jobs/new/new-job.ts'
import { isUsualTime } from '../../jobs/position.ts'
import type { BreakerHandle, BreakerRunner } from '../../limits/breakers/runner.ts'
import { leaseLost } from './fenced-tx.ts'
import type { FencedTransactions } from './fenced-tx.ts'
import type { Fence, HandlerContext, JobLog } from './handler-context.ts'
import type { HeldJob } from './held-job.ts'
import { jobLog } from './job-log.ts'
import type { Logger } from '../report/log.ts'
import type { Notes } from './notes.ts'
import { takingJob } from './taking-job.ts'
import { textOf } from './text-of.ts'
import type { Child, Ended, Ending } from './outcome.ts'
import { maxNoteBytes, maxResultBytes, outputs } from './output-limits.ts'
import type { Output } from './output-limits.ts'
import { RecordedContext } from './recorded-context.ts'
import type { RecordedCalls } from './recorded-context.ts'
import { ChildCalls } from './steps/child-calls.ts'
import type { ChildCallsConfig } from './steps/child-calls.ts'
import type { ChildStore } from './steps/child-store.ts'
import { Journal } from './steps/journal.ts'
import type { JournalServices } from './steps/journal-services.ts'
import type { Records } from './steps/records.ts'
import { Steps } from './steps/steps.ts'
import { succeedIn } from '../settle/succeed-with-children.ts'

/** What all contexts of a worker share. */
export interface ContextServices extends JournalServices {
  readonly transactions: FencedTransactions
  readonly records: JournalServices['records'] & Pick<Records, 'outputs'>
  readonly notes: Pick<Notes, 'progress' | 'log' | 'finish'>
  readonly logger: Logger
  readonly schema: string
  readonly blobs: BlobConfig | undefined
  readonly approvals: ApprovalsConfig
  readonly rates: Rates
  readonly breakers: Pick<BreakerRunner, 'breaker'>
  readonly children: ChildStore
}

/** How an attempt uses its context. */
interface ContextOptions {
  /** Ends the attempt without its handler. */
  end?: ((ending: Ending) => void) | undefined
  /** Of an earlier try within the attempt. */
  journal?: Journal | undefined
  isBatch?: boolean
}

export class JobContext extends RecordedContext implements HandlerContext {
  readonly held: HeldJob
  readonly children: Child[] = []
  /** Whether and how the handler itself stored the completion of this attempt. */
  completion: 'none' | 'committed' | 'handed-over' = 'none'
  handedOver: { result: string | undefined } | undefined
  readonly #services: ContextServices
  #controller: AbortController | undefined
  #log: JobLog | undefined
  #isInTx = false
  readonly #options: ContextOptions
  #over: string | undefined
  /** Made on first use, as the journal: most jobs have no steps. */
  #calls: RecordedCalls | undefined
  #journal: Journal | undefined

  constructor(held: HeldJob, services: ContextServices, options: ContextOptions = noOptions) {
    super()
    this.held = held
    this.#services = services
    this.#options = options
    this.#journal = options.journal
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
    return (this.#log ??= jobLog(this, {
      ...this.#services,
      isReplaying: () => this.#journal?.isReplaying === true,
      flag: (changed) => {
        this.#flag('A line of this log', changed)
      },
    }))
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
    const child = await this.#prepare(contract, input, options)
    this.children.push(child)
    return { id: child.job.id }
  }

  #prepare(contract: JobContract, input: unknown, options: JobOptions): PreparedJob | Promise<PreparedJob> {
    const { correlationId, traceparent, tracestate } = this
    const inherited = { correlationId, traceparent, tracestate, ...given(options) }
    return prepareJob(contract, input, inherited, this.#services.blobs, { parentId: this.jobId })
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

  protected get calls(): RecordedCalls {
    if (this.#calls === undefined) {
      const journal = (this.#journal ??= new Journal(this.held, this.#services))
      const { end, isBatch = false } = this.#options
      void journal.ended.then((ending) => {
        this.#over = 'waits'
        this.#controller?.abort(new Error('The attempt is over: the job waits'))
        end?.(ending)
      })
      const { transactions, blobs, approvals, children: store } = this.#services
      const signal = (): AbortSignal => this.signal
      const mustBeOpen = this.#mustBeOutsideTx.bind(this)
      const steps = new Steps({ journal, transactions, blobs, approvals, signal, mustBeOpen, isBatch })
      const prepare: ChildCallsConfig['prepare'] = (contract, input, options) =>
        this.#prepare(contract, input, options)
      this.#calls = { steps, children: new ChildCalls({ steps, journal, store, prepare }) }
    }
    return this.#calls
  }

  /** Whether this attempt has stored a step. */
  get hasProgress(): boolean {
    return this.#journal?.hasProgress ?? false
  }

  /** The handler has ended. Returns its records for people; undefined if there are none. */
  endJournal(): string | undefined {
    this.#over ??= 'has ended'
    return this.#journal?.close()
  }

  /** For another try of the handler within the attempt. */
  restartedJournal(): Journal | undefined {
    return this.#journal?.restart()
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
    const steps = this.#journal?.summary()
    return { held: this.held, outcome: { type: 'succeeded', result, children: this.children, steps }, ranMs }
  }

  #mustBeOpen(): void {
    if (this.#over) throw this.#completed(`${this.#over}; what its handler still does is ignored`)
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
}

const noOptions: ContextOptions = Object.freeze({})
