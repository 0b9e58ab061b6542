const windowMs = 100

/** How many a second, over about the last few tenths of a second. */
export class Rate {
  #count = 0
  #since = 0
  #perSecond = 0

  add(count: number, now: number): void {
    this.#turn(now)
    this.#count += count
  }

  perSecond(now: number): number {
    this.#turn(now)
    return this.#perSecond
  }

  #turn(now: number): void {
    const passedMs = now - this.#since
    if (passedMs < windowMs) return
    const latest = (this.#count / passedMs) * 1_000
    // After a pause what was before it says nothing.
    this.#perSecond = passedMs > 10 * windowMs ? latest : 0.5 * this.#perSecond + 0.5 * latest
    this.#count = 0
    this.#since = now
  }
}
