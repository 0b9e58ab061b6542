/** Keys that one statement reads while none of them has a job for us. */
const keysAtOnce = 1_000

/** One round over the keys of a queue: the parameters of one claim. */
export interface KeyRound {
  /** The round begins after this key; '' for the first. */
  readonly afterKey: string
  readonly maxKeys: number
  /** Jobs taken of one key in this round. */
  readonly perKey: number
  /** The number of hints about jobs with keys when the round began. */
  readonly hints: number
}

/** The position of a queue's rounds over its keys. */
export class KeyRounds {
  #mayHaveWork = false
  #hints = 0
  #afterKey = ''
  #perKey = 1
  /** Whether the last round found jobs for us, or reached the last key. */
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

  /**
   * The next round, for up to `limit` jobs. After a round without jobs for us it reads many keys, to get past keys of
   * other workers.
   */
  next(limit: number): KeyRound {
    const maxKeys = this.#lastFound ? limit : keysAtOnce
    return { afterKey: this.#afterKey, maxKeys, perKey: this.#perKey, hints: this.#hints }
  }

  /** A round returned `jobs` jobs; `lastKey` is where it ended, undefined if it reached the last key. */
  answered(
    round: KeyRound,
    { jobs, lastKey, limit }: { jobs: number; lastKey: string | undefined; limit: number },
  ): void {
    this.#afterKey = lastKey ?? ''
    this.#lastFound = jobs > 0 || lastKey === undefined
    // One job of each key while there are enough keys; a queue of few keys gives more of each.
    if (lastKey !== undefined) this.#perKey = 1
    else if (jobs > 0) this.#perKey = Math.min(limit, round.perKey * 2)
    // A round that began in the middle has not seen the keys before it.
    this.#mayHaveWork =
      jobs > 0 || lastKey !== undefined || round.afterKey !== '' || this.#hints !== round.hints
  }
}
