import { StintError } from '../../core/errors.ts'
import { invalidOption } from '../../core/options.ts'
import type { BucketAddress, BucketCalls, TokenGrant } from './bucket-calls.ts'

/** Whether tokens were granted. */
export interface TokenAnswer {
  granted: boolean
  /** When they would come; 0 if they were granted. */
  retryAfterMs: number
}

interface Taker {
  readonly tokens: number
  /** When it stops waiting. */
  readonly until: number
  readonly resolve: (answer: TokenAnswer) => void
  readonly reject: (error: Error) => void
}

/** A process takes what it uses in this time at once. */
const aheadMs = 100
/** Tokens in hand that were not used within this time are given back. */
const handMs = 250
/** Use is measured over this time at least. */
const measureMs = 500
/** How long a refusal is answered from memory: others may give tokens back meanwhile. */
const memoryMs = 1_000
/** A taker that was promised tokens before this asks whether the bucket was closed since. */
const trustMs = 900
/** A job that may not reserve tokens asks again no sooner than this. */
const leastPauseMs = 5

/**
 * What one process knows and has of a bucket.
 *
 * Tokens *in hand* are taken and usable now. Takers form a line: the first one asks the database, for all of
 * the line, and for what this process uses in 100 ms. Tokens to come are reserved, and reach the takers as they come. Those who only try are not in
 * the line: they get what is in hand while no taker waits, or ask for themselves.
 *
 * Nothing here grants more than the database has granted: a process that is killed takes its tokens with it.
 */
export class LocalBucket {
  readonly #calls: BucketCalls
  readonly #address: BucketAddress
  readonly #forJob: boolean
  #hand = 0
  #handTimer: NodeJS.Timeout | undefined
  readonly #takers: Taker[] = []
  /** Tokens that takers wait for. */
  #line = 0
  #isServing = false
  readonly #tries: Taker[] = []
  #isAnswering = false
  #wake: () => void = () => undefined
  /** So many tokens, or more, were refused: they come at `comesAt`, and nothing is asked before `until`. */
  #refusal: { tokens: number; until: number; comesAt: number } | undefined
  /** Refusals that the database does not know of. */
  #refused = 0
  #perMs: number | undefined
  #most = Infinity
  #used = 0
  #usedSince = performance.now()
  #usePerMs = 0
  /** When this process last knew that the bucket was open. */
  #openAt = 0

  constructor(calls: BucketCalls, address: BucketAddress, forJob: boolean) {
    this.#calls = calls
    this.#address = address
    this.#forJob = forJob
  }

  /** It can be forgotten. */
  get isIdle(): boolean {
    return this.#takers.length === 0 && this.#tries.length === 0 && this.#hand === 0 && !this.#isServing
  }

  /** Waits for tokens, in line. Answers at once where the wait would be longer than `waitMs`, as far as is known. */
  async take(
    tokens: number,
    { waitMs, signal }: { waitMs: number; signal: AbortSignal | undefined },
  ): Promise<TokenAnswer> {
    signal?.throwIfAborted()
    await this.#mustFit(tokens)
    const before = this.#line
    const comesInMs =
      this.#perMs === undefined || before === 0 ? 0 : (before + tokens - this.#hand) / this.#perMs
    if (comesInMs > waitMs) return this.#refuse(comesInMs)
    const until = performance.now() + waitMs
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      const taker: Taker = {
        tokens,
        until,
        resolve: (answer) => {
          done()
          resolve(answer)
        },
        reject: (error) => {
          done()
          reject(error)
        },
      }
      const onAbort = (): void => {
        if (this.#leave(taker)) taker.reject(signal?.reason as Error)
      }
      // For a taker that is not the first: those before it may get their tokens later than was known.
      const timer = setTimeout(
        () => {
          if (this.#takers[0] !== taker && this.#leave(taker)) taker.resolve(this.#refuse(comesInMs))
        },
        Math.min(waitMs, 2 ** 31 - 1),
      )
      signal?.addEventListener('abort', onAbort)
      this.#takers.push(taker)
      this.#line += tokens
      void this.#serve()
    })
  }

  /** Answers as soon as the database does, or at once. */
  async tryTake(tokens: number): Promise<TokenAnswer> {
    return new Promise((resolve, reject) => {
      this.#tries.push({ tokens, until: 0, resolve, reject })
      void this.#answer()
    })
  }

  /** Puts tokens back (above 0) or takes more, and closes the bucket for a time; what is in hand goes back with it. */
  async change({ given, closeMs }: { given: number; closeMs: number }): Promise<void> {
    this.#refusal = undefined
    const hand = closeMs > 0 ? this.#takeHand() : 0
    if (closeMs > 0) this.#openAt = -Infinity
    await this.#calls.change({ ...this.#address, given: given + hand, closeMs })
  }

  /** Gives back what is in hand, and ends all waits. */
  async close(): Promise<void> {
    const error = new StintError('client-closed', 'This Stint client was closed; make a new one.')
    for (const taker of [...this.#leaveAll(), ...this.#tries.splice(0)]) taker.reject(error)
    this.#wake()
    await this.#giveBack(this.#takeHand())
  }

  async #serve(): Promise<void> {
    if (this.#isServing) return
    this.#isServing = true
    try {
      for (let first = this.#takers[0]; first !== undefined; first = this.#takers[0]) {
        if (first.tokens <= this.#hand) this.#grant(first, first.tokens)
        else await this.#fetch(first)
      }
    } catch (error) {
      for (const taker of this.#leaveAll()) taker.reject(error as Error)
    } finally {
      this.#isServing = false
    }
  }

  /** Gets tokens for the first taker, or tells it that they come too late. */
  async #fetch(first: Taker): Promise<void> {
    const maxWaitMs = Math.max(0, first.until - performance.now())
    const grant = await this.#ask(first.tokens - this.#hand, { maxWaitMs, line: this.#line - this.#hand })
    const { granted, waitMs } = grant
    if (granted > 0 && waitMs === 0) this.#keep(granted)
    else if (granted > 0) await this.#spread(grant)
    else if (this.#takers[0] !== first) return
    else if (waitMs === null) this.#rejectFirst(first, this.#tooMany(first.tokens))
    else if (waitMs > maxWaitMs) {
      this.#leave(first)
      first.resolve(this.#refuse(waitMs))
      // A job that may not reserve tokens.
    } else await this.#sleepUntil(performance.now() + Math.max(leastPauseMs, waitMs))
  }

  /** Gives reserved tokens to the takers as they come. */
  async #spread({ granted, waitMs, closedMs, perMs }: TokenGrant): Promise<void> {
    const now = performance.now()
    const allAt = now + (waitMs ?? 0)
    const opensAt = now + closedMs
    // A closed bucket is known to be closed until then; it may be closed again.
    this.#openAt = Math.max(now, closedMs > 0 ? opensAt : 0)
    let left = granted
    for (let first = this.#takers[0]; first !== undefined; first = this.#takers[0]) {
      const missing = Math.max(0, first.tokens - this.#hand)
      if (missing > left) break
      const at = Math.max(opensAt, allAt - (left - missing) / perMs)
      if (at > first.until + 1) {
        this.#leave(first)
        first.resolve(this.#refuse(at - performance.now()))
        continue
      }
      await this.#sleepUntil(at)
      if (this.#takers[0] !== first || performance.now() < at) continue
      if (!(await this.#isOpen())) break
      if (this.#takers[0] !== first) continue
      left -= missing
      this.#grant(first, first.tokens - missing)
    }
    // No taker needs them, the next one needs more, or the bucket was closed: then takers line up for tokens anew.
    if (left > 0) await this.#giveBack(left)
  }

  /** Whether no one has closed the bucket since the tokens were promised. */
  async #isOpen(): Promise<boolean> {
    const now = performance.now()
    if (now - this.#openAt < trustMs) return true
    if ((await this.#calls.closedMs(this.#address)) > 0) return false
    this.#openAt = now
    return true
  }

  async #answer(): Promise<void> {
    if (this.#isAnswering) return
    this.#isAnswering = true
    try {
      for (let first = this.#tries[0]; first !== undefined; first = this.#tries[0]) {
        const answer = this.#answerFromMemory(first.tokens) ?? (await this.#answerByAsking(first.tokens))
        if (this.#tries[0] !== first) continue
        this.#tries.shift()
        if (answer === 'too-many') first.reject(this.#tooMany(first.tokens))
        else first.resolve(answer)
      }
    } catch (error) {
      for (const one of this.#tries.splice(0)) one.reject(error as Error)
    } finally {
      this.#isAnswering = false
    }
  }

  #answerFromMemory(tokens: number): TokenAnswer | undefined {
    if (this.#takers.length === 0 && tokens <= this.#hand) {
      this.#use(tokens, tokens)
      return { granted: true, retryAfterMs: 0 }
    }
    const now = performance.now()
    const { tokens: least, until, comesAt } = this.#refusal ?? { tokens: Infinity, until: 0, comesAt: 0 }
    if (tokens < least || now >= until) return undefined
    return this.#refuse(comesAt - now + (tokens - least) / (this.#perMs ?? Infinity))
  }

  async #answerByAsking(tokens: number): Promise<TokenAnswer | 'too-many'> {
    const { granted, waitMs } = await this.#ask(tokens, { maxWaitMs: 0, line: 0 })
    if (granted > 0) {
      this.#keep(granted)
      this.#use(tokens, tokens)
      return { granted: true, retryAfterMs: 0 }
    }
    if (waitMs === null) return 'too-many'
    const now = performance.now()
    this.#refusal = { tokens, until: now + Math.min(waitMs, memoryMs), comesAt: now + waitMs }
    return this.#refuse(waitMs)
  }

  /** Asks for all that wait in line too: where processes compete, each gets a share by what waits in it. */
  async #ask(least: number, { maxWaitMs, line }: { maxWaitMs: number; line: number }): Promise<TokenGrant> {
    const wanted = Math.max(least, Math.min(Math.max(line, this.#ahead() - this.#hand), this.#most))
    const refused = this.#refused
    const grant = await this.#calls.take({
      ...this.#address,
      wanted,
      least,
      maxWaitMs: Math.min(maxWaitMs, longestWaitMs),
      forJob: this.#forJob,
      refused,
    })
    if (grant.granted > 0) this.#refused -= refused
    this.#perMs = grant.perMs
    this.#most = grant.most
    return grant
  }

  /** What this process uses in 100 ms. */
  #ahead(): number {
    const now = performance.now()
    const elapsedMs = now - this.#usedSince
    if (elapsedMs >= measureMs) {
      this.#usePerMs = this.#used / elapsedMs
      this.#used = 0
      this.#usedSince = now
    }
    return Math.floor(this.#usePerMs * aheadMs)
  }

  /** The first taker gets its tokens, some of them from the hand. */
  #grant(first: Taker, fromHand: number): void {
    this.#leave(first)
    this.#use(first.tokens, fromHand)
    first.resolve({ granted: true, retryAfterMs: 0 })
  }

  #use(tokens: number, fromHand: number): void {
    this.#hand -= fromHand
    this.#used += tokens
  }

  #refuse(retryAfterMs: number): TokenAnswer {
    this.#refused++
    return { granted: false, retryAfterMs: Math.max(1, Math.ceil(retryAfterMs)) }
  }

  #leave(taker: Taker): boolean {
    const at = this.#takers.indexOf(taker)
    if (at === -1) return false
    this.#takers.splice(at, 1)
    this.#line -= taker.tokens
    if (at === 0) this.#wake()
    return true
  }

  #leaveAll(): Taker[] {
    this.#line = 0
    return this.#takers.splice(0)
  }

  #rejectFirst(first: Taker, error: StintError): void {
    this.#leave(first)
    first.reject(error)
  }

  /** More than a full bucket never waits in line. The database decides: the rate may have changed. */
  async #mustFit(tokens: number): Promise<void> {
    if (tokens <= this.#most) return
    const { granted, waitMs } = await this.#ask(tokens, { maxWaitMs: 0, line: 0 })
    if (granted > 0) this.#keep(granted)
    if (waitMs === null) throw this.#tooMany(tokens)
  }

  #tooMany(tokens: number): StintError {
    const { name } = this.#address
    const most = `at most ${this.#most}, what a full bucket of the rate '${name}' has${this.#forJob ? ' for jobs (`burst` less `keep`)' : ' (`burst`)'}`
    return invalidOption('tokens', most, tokens)
  }

  #keep(tokens: number): void {
    this.#hand += tokens
    clearTimeout(this.#handTimer)
    this.#handTimer = setTimeout(() => void this.#giveBack(this.#takeHand()), handMs).unref()
  }

  #takeHand(): number {
    clearTimeout(this.#handTimer)
    const hand = this.#hand
    this.#hand = 0
    return hand
  }

  /** Tokens that cannot be given back are lost, and come again with time. */
  async #giveBack(tokens: number): Promise<void> {
    if (tokens <= 0) return
    await this.#calls.change({ ...this.#address, given: tokens, closeMs: 0 }).catch(() => undefined)
  }

  /** Ends early when the first taker leaves. A timer may fire a little early, hence the loop. */
  async #sleepUntil(time: number): Promise<void> {
    for (let left = time - performance.now(); left > 0; left = time - performance.now()) {
      const isWoken = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(resolve, Math.min(Math.ceil(left), 2 ** 31 - 1), false)
        this.#wake = () => {
          clearTimeout(timer)
          resolve(true)
        }
      })
      if (isWoken) break
    }
    this.#wake = () => undefined
  }
}

/** As take_tokens() bounds it. */
export const longestWaitMs = 86_400_000
