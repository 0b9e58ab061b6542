import type { Closed } from '../../jobs/claim.ts'
import type { Lanes } from './lanes.ts'

interface ClaimTimes {
  /** When the claim was sent. */
  sentAt: number
  now: number
}

/**
 * What limits and rates keep back in one queue, and until when. A claim that would find nothing is not sent: the statements
 * themselves decide what may run.
 */
export class Closing {
  readonly #lanes: Pick<Lanes, 'reopen'>
  /** It is asked again after this time, however long the wait may be. */
  readonly #longestMs: number
  #until = 0
  /** When a job last ended here, or a rule was changed. */
  #reopenedAt = -Infinity
  /** Tokens come with time: the end of a job brings none. */
  #isByRate = false
  /** Keys whose own buckets lack tokens, and when these come: each rests until then, while other keys go on. */
  readonly #dry = new Map<string, number>()
  #nextDryAt = Infinity

  constructor(lanes: Pick<Lanes, 'reopen'>, longestMs: number) {
    this.#lanes = lanes
    this.#longestMs = longestMs
  }

  /** No claim is sent before this. */
  get until(): number {
    return this.#until
  }

  /** When the next key that lacks tokens is asked again. */
  get dryUntil(): number {
    return this.#nextDryAt
  }

  /** What kept a claim from taking more. */
  answered({ isFull, isOnlyRate, waitMs = Infinity, dry }: Closed, { sentAt, now }: ClaimTimes): void {
    for (const [key, ms] of dry) {
      const at = now + Math.min(this.#longestMs, ms)
      this.#dry.set(key, at)
      this.#nextDryAt = Math.min(this.#nextDryAt, at)
    }
    if (!isFull) return
    this.#isByRate = isOnlyRate && Number.isFinite(waitMs)
    // The claim may have counted before a job ended: nothing would say so again.
    const mayHaveRoom = !this.#isByRate && this.#reopenedAt >= sentAt
    this.#until = mayHaveRoom ? 0 : now + Math.min(this.#longestMs, waitMs)
  }

  /** A job of a limited queue has ended here: its limits may have room again. */
  reopen(now: number): void {
    this.#reopenedAt = now
    if (!this.#isByRate) this.#until = 0
  }

  /** A limit or a rate was changed: the next claim asks what it allows. */
  ruleChanged(now: number): void {
    this.#reopenedAt = now
    this.#until = 0
  }

  /** The same for the limits of a key. */
  reopenKey(key: string): void {
    if (!this.#dry.has(key)) this.#lanes.reopen(key)
  }

  /** Keys whose tokens have come get their turn again. */
  reopenDue(now: number): void {
    if (now < this.#nextDryAt) return
    this.#nextDryAt = Infinity
    for (const [key, at] of this.#dry) {
      if (at > now) this.#nextDryAt = Math.min(this.#nextDryAt, at)
      else {
        this.#dry.delete(key)
        this.#lanes.reopen(key)
      }
    }
  }
}
