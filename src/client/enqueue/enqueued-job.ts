import { resolveResultOptions, resultOf } from '../follow/result.ts'
import type { ResultOptions } from '../follow/result.ts'
import type { Waiter } from '../follow/waiter.ts'

/** What enqueue() returns: the job that was stored, or the earlier one that it duplicates. */
export interface EnqueuedJob<Output = unknown> {
  id: string
  kind: string
  queue: string
  /** No new job was stored, and `id` is that of an earlier one: the job is unique, or its idempotency key was used before. */
  duplicate: boolean
  /** The earlier job got this input. */
  replaced: boolean
  /**
   * Waits for the job to end and returns its result, as it was stored: a Date is text. Throws `job-dead`, `job-cancelled`,
   * `job-not-found` or `result-timeout`.
   */
  result(options?: ResultOptions): Promise<Output>
}

export interface EnqueuedJobs<Output = unknown> {
  /** In the order of the inputs. */
  jobs: EnqueuedJob<Output>[]
  stored: number
  duplicates: number
}

export interface EnqueuedFacts extends Omit<EnqueuedJob, 'result'> {
  /** It was stored in the caller's transaction. */
  isInTx: boolean
}

/** Its method is on the prototype: JSON, spreads and comparisons see only the fields. */
export class StoredJob implements EnqueuedJob<never> {
  readonly id: string
  readonly kind: string
  readonly queue: string
  readonly duplicate: boolean
  readonly replaced: boolean
  readonly #waiter: Waiter
  readonly #isInTx: boolean

  constructor(waiter: Waiter, { id, kind, queue, duplicate, replaced, isInTx }: EnqueuedFacts) {
    this.id = id
    this.kind = kind
    this.queue = queue
    this.duplicate = duplicate
    this.replaced = replaced
    this.#waiter = waiter
    this.#isInTx = isInTx
  }

  // The type of the result is that of the contract, which enqueue() knows.
  async result(options?: ResultOptions): Promise<never> {
    const request = resolveResultOptions(this.id, options)
    return (await resultOf(this.#waiter, { ...request, isPerhapsUncommitted: this.#isInTx })) as never
  }
}
