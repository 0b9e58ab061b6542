import type { Duration } from '../../core/duration.ts'
import { isStintError, StintError } from '../../core/errors.ts'
import { boundedText, nameOption } from '../../core/names.ts'
import {
  durationOption,
  integerOption,
  invalidOption,
  oneOfOption,
  rejectUnknown,
} from '../../core/options.ts'
import type { Queryable } from '../../db/statement.ts'
import { tokensRange } from '../rules/define-rate.ts'
import { BucketCalls } from './bucket-calls.ts'
import { LocalBucket, longestWaitMs } from './local-bucket.ts'
import type { TokenAnswer } from './local-bucket.ts'

export interface BucketOptions {
  /** Which bucket of a rate by key; other rates have one for all keys. @default in a handler the job's key, else none */
  key?: string | undefined
}

export interface TryTakeOptions extends BucketOptions {
  /** `allow`: the tokens count as granted while the database cannot be reached. @default 'throw' */
  onTrouble?: 'throw' | 'allow' | undefined
}

export interface TakeOptions extends TryTakeOptions {
  /** The longest wait: 0 to a day. A handler whose tokens come later is snoozed until then. @default '30s' */
  timeout?: Duration | undefined
  /** Ends the wait. In a handler, `ctx.signal` does so too. */
  signal?: AbortSignal | undefined
}

/** A rate by name: tokens that all processes share. */
export interface RateLimit {
  /**
   * Waits until the tokens may be used, first come, first served. If they would come later than `timeout`, a handler's job is
   * snoozed until then and burns no attempt; elsewhere it throws `rate-limited`.
   */
  take(tokens: number, options?: TakeOptions): Promise<void>
  /** Takes the tokens if they are there now. */
  tryTake(tokens: number, options?: TryTakeOptions): Promise<TokenAnswer>
  /** Real use differed from what was taken: the difference is given back, or taken without a wait. */
  correct(use: { taken: number; used: number }, options?: BucketOptions): Promise<void>
  /** Closes the bucket for all processes, for at most a day: the other side asked to wait. */
  penalise(duration: Duration, options?: BucketOptions): Promise<void>
}

/** Who takes tokens, where that is a job. */
export interface TakingJob {
  readonly key: string | null
  readonly signal: AbortSignal
  /** What to throw where tokens come too late. */
  tooLate(name: string, retryAfterMs: number): Error
  /** The database cannot be reached: no fault of the handler. */
  troubled(error: StintError): void
}

/** Buckets that one process keeps in mind; beyond these it forgets those that are not in use. */
const mostBuckets = 10_000

/** The rates that one process takes tokens of. */
export class Rates {
  readonly #calls: BucketCalls
  readonly #buckets = new Map<string, LocalBucket>()

  constructor(database: () => Promise<Queryable>) {
    this.#calls = new BucketCalls(database)
  }

  limit(name: string, job?: TakingJob): RateLimit {
    const checked = nameOption('name', name)
    return {
      take: (tokens, options) => this.#take(checked, { tokens, options, job }),
      tryTake: (tokens, options) => this.#tryTake(checked, { tokens, options, job }),
      correct: (use, options) => this.#correct(checked, { use, options, job }),
      penalise: async (duration, options = {}) => {
        const { key, ...rest } = options
        rejectUnknown('penalise()', rest, ['key'])
        const ms = durationOption('duration', duration, { minMs: 1 })
        await this.penalise(checked, key === undefined ? (job?.key ?? '') : keyOption(key), ms, job)
      },
    }
  }

  /** Closes a bucket for all processes. */
  async penalise(name: string, key: string, ms: number, job?: TakingJob): Promise<void> {
    const change = { given: 0, closeMs: Math.min(ms, longestWaitMs) }
    await noted(job, this.#bucket(name, key, job !== undefined).change(change))
  }

  /** Gives back what this process has in hand. */
  async close(): Promise<void> {
    await Promise.all([...this.#buckets.values()].map((bucket) => bucket.close()))
    this.#buckets.clear()
  }

  async #take(name: string, { tokens, options = {}, job }: Asked<TakeOptions>): Promise<void> {
    const { key, timeout = '30s', onTrouble = 'throw', signal, ...rest } = options
    rejectUnknown('take()', rest, ['key', 'timeout', 'onTrouble', 'signal'])
    const waitMs = durationOption('timeout', timeout, { maxMs: longestWaitMs })
    const isAllowed = oneOfOption('onTrouble', onTrouble, ['throw', 'allow']) === 'allow'
    if (signal !== undefined && !isSignal(signal)) throw invalidOption('signal', 'an AbortSignal', signal)
    const bucket = this.#bucketFor(name, key, job)
    const wanted = integerOption('tokens', tokens, tokensRange)
    const ends = [job?.signal, signal].filter((one) => one !== undefined)
    const taken = bucket.take(wanted, { waitMs, signal: ends.length > 1 ? AbortSignal.any(ends) : ends[0] })
    const { granted, retryAfterMs } = await noted(job, isAllowed ? allowing(taken) : taken)
    if (granted) return
    throw job?.tooLate(name, retryAfterMs) ?? tooLate({ name, tokens: wanted, waitMs, retryAfterMs })
  }

  async #tryTake(name: string, { tokens, options = {}, job }: Asked<TryTakeOptions>): Promise<TokenAnswer> {
    const { key, onTrouble = 'throw', ...rest } = options
    rejectUnknown('tryTake()', rest, ['key', 'onTrouble'])
    const isAllowed = oneOfOption('onTrouble', onTrouble, ['throw', 'allow']) === 'allow'
    const bucket = this.#bucketFor(name, key, job)
    const taken = bucket.tryTake(integerOption('tokens', tokens, tokensRange))
    return noted(job, isAllowed ? allowing(taken) : taken)
  }

  async #correct(
    name: string,
    {
      use,
      options = {},
      job,
    }: Omit<Asked<BucketOptions>, 'tokens'> & { use: { taken: number; used: number } },
  ): Promise<void> {
    const { key, ...rest } = options
    rejectUnknown('correct()', rest, ['key'])
    const { taken, used, ...more } = use
    rejectUnknown('correct()', more, ['taken', 'used'])
    const range = { min: 0, max: tokensRange.max }
    const given = integerOption('taken', taken, range) - integerOption('used', used, range)
    if (given !== 0) await noted(job, this.#bucketFor(name, key, job).change({ given, closeMs: 0 }))
  }

  #bucketFor(name: string, key: string | undefined, job: TakingJob | undefined): LocalBucket {
    return this.#bucket(name, key === undefined ? (job?.key ?? '') : keyOption(key), job !== undefined)
  }

  #bucket(name: string, given: string, forJob: boolean): LocalBucket {
    const key = this.#calls.isByKey(name) === false ? '' : given
    const address = `${forJob ? 'job' : ''} ${name} ${key}`
    const known = this.#buckets.get(address)
    if (known !== undefined) return known
    if (this.#buckets.size >= mostBuckets)
      for (const [other, bucket] of this.#buckets) if (bucket.isIdle) this.#buckets.delete(other)
    const bucket = new LocalBucket(this.#calls, { name, key }, forJob)
    this.#buckets.set(address, bucket)
    return bucket
  }
}

interface Asked<Options> {
  tokens: number
  options: Options | undefined
  job: TakingJob | undefined
}

function keyOption(key: unknown): string {
  if (boundedText(key, 512)) return key
  throw invalidOption('key', 'a string of 1 to 512 bytes that Postgres can store', key)
}

function isSignal(value: unknown): boolean {
  return value instanceof AbortSignal
}

async function noted<Result>(job: TakingJob | undefined, call: Promise<Result>): Promise<Result> {
  try {
    return await call
  } catch (error) {
    if (isStintError(error, 'database-unavailable')) job?.troubled(error)
    throw error
  }
}

async function allowing(call: Promise<TokenAnswer>): Promise<TokenAnswer> {
  try {
    return await call
  } catch (error) {
    if (isStintError(error, 'database-unavailable')) return { granted: true, retryAfterMs: 0 }
    throw error
  }
}

function tooLate(late: { name: string; tokens: number; waitMs: number; retryAfterMs: number }): StintError {
  const { name, tokens, waitMs, retryAfterMs } = late
  return new StintError(
    'rate-limited',
    `The rate '${name}' has ${tokens} tokens in ${retryAfterMs} ms, later than the timeout of ${waitMs} ms: try again then, or wait longer.`,
    { current: { retryAfterMs } },
  )
}
