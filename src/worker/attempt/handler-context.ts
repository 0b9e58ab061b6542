import type { EnqueueArguments, JobContract, OutputOf } from '../../contracts/contract.ts'
import type { SignalContract } from '../../contracts/signal.ts'
import type { Duration } from '../../core/duration.ts'
import type { PgTransaction, TxAdapter } from '../../db/foreign-tx.ts'
import type { JobOptions } from '../../jobs/new/enqueue-options.ts'
import type { BreakerHandle } from '../../limits/breakers/runner.ts'
import type { RateLimit } from '../../limits/rates/rates.ts'
import type { ApprovalOptions } from './steps/approval.ts'
import type { ChildMethods, Ended, WaitForJobOptions } from './steps/child-options.ts'
import type {
  EachOptions,
  Pages,
  ReceivedSignal,
  StepContext,
  StepOptions,
  TimedOut,
  WaitOptions,
} from './steps/step-options.ts'
import type { Stored } from './steps/stored-value.ts'

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
export interface HandlerContext extends ChildMethods {
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
  /**
   * Runs a part of the job once: its result is stored, and another attempt of the job returns that instead of running it
   * again. A step is known by its name, and by how many of that name came before. The result is JSON: a Date comes back as
   * text.
   */
  step<Value>(
    name: string,
    run: (step: StepContext) => Value | Promise<Value>,
    options?: StepOptions,
  ): Promise<Stored<Value>>
  /** A step whose writes commit together with its record: at most once, however often the handler runs. */
  stepTx<Value>(name: string, work: (tx: PgTransaction) => Promise<Value>): Promise<Stored<Value>>
  /** Works through many items in batches. Its place is stored after each: another attempt goes on from there. */
  each<Item>(
    name: string,
    items: readonly Item[] | Pages<Item>,
    options: EachOptions,
    run: (batch: Item[], step: StepContext) => Promise<void> | void,
  ): Promise<void>
  /** Waits, for years if need be, and holds no slot meanwhile: the handler is called again when the time has come. */
  sleep(span: Duration | Date, options?: { name?: string | undefined }): Promise<void>
  /** Waits for a signal to this job (`stint.signal()`) without a slot. A signal that came before is there at once. */
  waitForSignal<Payload>(
    signal: SignalContract<Payload> | string,
    options: WaitOptions & { timeout: Duration },
  ): Promise<ReceivedSignal<Payload> | TimedOut>
  waitForSignal<Payload>(
    signal: SignalContract<Payload> | string,
    options?: WaitOptions & { timeout?: undefined },
  ): Promise<ReceivedSignal<Payload>>
  /**
   * Makes links for people, one for each answer, and returns at once: mail them, then wait for the signal. A link opens a page of
   * the console; its button sends the signal with the payload of that answer. The first answer counts.
   */
  approval<Given, Answers extends Readonly<Record<string, Given>>>(
    signal: SignalContract<unknown, Given> | string,
    answers: Answers,
    options: ApprovalOptions,
  ): Promise<{ [Name in keyof Answers]: string }>
  /**
   * Waits without a slot until jobs have ended, whichever job or program made them; at most 1,000, all of this contract. It may
   * hear of an end a second late.
   */
  waitForJob<Contract extends JobContract>(
    contract: Contract,
    ids: string | readonly string[],
    options: WaitForJobOptions & { timeout: Duration },
  ): Promise<Ended<Stored<OutputOf<Contract>>>[] | TimedOut>
  waitForJob<Contract extends JobContract>(
    contract: Contract,
    ids: string | readonly string[],
    options?: WaitForJobOptions & { timeout?: undefined },
  ): Promise<Ended<Stored<OutputOf<Contract>>>[]>
  /**
   * Lets old and new code live side by side: a job that is past this place gets `oldest`, all others `newest`. Each job keeps
   * its number.
   */
  version(name: string, oldest: number, newest: number): Promise<number>
}
