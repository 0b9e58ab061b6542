/** Something that has to come to an end again and again. */
export interface Watched {
  readonly name: string
  /** Since when it has been at one turn; undefined while it rests. */
  readonly since: () => number | undefined
}

/**
 * Notices a loop that neither succeeds nor fails. Every call to the database has a deadline, so a turn that takes
 * longer than many of them is stuck in a way that nothing here can mend: the process is to end rather than look
 * healthy and do nothing.
 */
export class Watchdog {
  readonly #watched: readonly Watched[]
  readonly #limitMs: number
  readonly #onStuck: (name: string, forMs: number) => void
  #timer: NodeJS.Timeout | undefined

  constructor(
    watched: readonly Watched[],
    { limitMs, onStuck }: { limitMs: number; onStuck: (name: string, forMs: number) => void },
  ) {
    this.#watched = watched
    this.#limitMs = limitMs
    this.#onStuck = onStuck
  }

  start(): void {
    let lookedAt = performance.now()
    this.#timer = setInterval(() => {
      const now = performance.now()
      // A process that was stopped, or blocked, had no chance to turn: its loops get their time again.
      const hadItsChance = now - lookedAt < this.#limitMs / 2
      lookedAt = now
      if (hadItsChance) this.#look(now)
    }, this.#limitMs / 10)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** What may be stuck: at one turn for half of the time that it is given, so that a probe sees it before the end. */
  problems(): string[] {
    return this.#longerThan(this.#limitMs / 2, performance.now()).map(
      ({ name, forMs }) => `'${name}' has come to no answer for ${Math.round(forMs / 1_000)} s`,
    )
  }

  #look(now: number): void {
    const [stuck] = this.#longerThan(this.#limitMs, now)
    if (stuck === undefined) return
    this.stop()
    this.#onStuck(stuck.name, stuck.forMs)
  }

  #longerThan(ms: number, now: number): { name: string; forMs: number }[] {
    return this.#watched
      .map(({ name, since }) => ({ name, forMs: now - (since() ?? now) }))
      .filter(({ forMs }) => forMs > ms)
  }
}
