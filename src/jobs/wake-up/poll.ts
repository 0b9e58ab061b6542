const firstMs = 5

/**
 * How long to sleep when the bell does not ring: a short time after work was found, longer after each poll that found
 * none, never longer than the floor. Jittered, so that many workers do not poll in step.
 */
export class Poll {
  readonly #floorMs: number
  #nextMs: number

  constructor(floorMs: number) {
    this.#floorMs = floorMs
    this.#nextMs = floorMs
  }

  /** A poll found work: there may soon be more. */
  found(): void {
    this.#nextMs = firstMs
  }

  /** The next wait; each one longer than the last. */
  waitMs(): number {
    const ms = this.#nextMs
    this.#nextMs = Math.min(this.#floorMs, ms * 2)
    return ms * (0.9 + Math.random() * 0.2)
  }
}
