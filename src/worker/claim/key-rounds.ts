/** Keys that one statement looks at while none of them has a job for us. */
const keysAtOnce = 1_000

/** One round over the keys of a queue, as it is asked for. */
export interface KeyRound {
  /** Behind which key it begins; '' for the first. */
  readonly afterKey: string
  readonly maxKeys: number
  /** Jobs of one key in this round. */
  readonly perKey: number
  /** How often jobs with keys had been heard of when it was asked for. */
  readonly hints: number
}

/** Where a queue's rounds over its keys are. */
export class KeyRounds {
  #mayHaveWork = false
  #hints = 0
  #afterKey = ''
  #perKey = 1
  /** Whether the last round found jobs for us, or came to the last key. */
  #lastFound = true

  /** Whether jobs with keys may wait. */
  get mayHaveWork(): boolean {
    return this.#mayHaveWork
  }

  /** Jobs with keys may wait. */
  hint(): void {
    this.#hints++
    this.#mayHaveWork = true
  }

  /** The next round, for so many jobs. After a round without jobs for us many keys are looked at, to get past those of others. */
  next(limit: number): KeyRound {
    const maxKeys = this.#lastFound ? limit : keysAtOnce
    return { afterKey: this.#afterKey, maxKeys, perKey: this.#perKey, hints: this.#hints }
  }

  /** A round was answered with so many jobs; `lastKey` is where it ended before the last of the keys. */
  answered(
    round: KeyRound,
    { jobs, lastKey, limit }: { jobs: number; lastKey: string | undefined; limit: number },
  ): void {
    this.#afterKey = lastKey ?? ''
    this.#lastFound = jobs > 0 || lastKey === undefined
    // One of each key as long as there are keys enough; a queue of few keys gives more of each.
    if (lastKey !== undefined) this.#perKey = 1
    else if (jobs > 0) this.#perKey = Math.min(limit, round.perKey * 2)
    // A round that began in the middle has not seen the keys before.
    this.#mayHaveWork =
      jobs > 0 || lastKey !== undefined || round.afterKey !== '' || this.#hints !== round.hints
  }
}
