/** So many failures within a minute, from one place and from all together; those after them are told to wait. */
const most = { each: 10, all: 200 }
const windowMs = 60_000
/** Places remembered at most: an attacker with many addresses must not fill the memory. */
const mostPlaces = 10_000

/** Counts failed sign-ins, so that who guesses is told to stop. It keeps out nobody who has a right token. */
export class Attempts {
  #since = 0
  #all = 0
  readonly #places = new Map<string, number>()

  /** Seconds that a failure is told to wait; 0 where it is one of the first. */
  waitFor(place: string, now = Date.now()): number {
    if (now - this.#since >= windowMs) {
      this.#since = now
      this.#all = 0
      this.#places.clear()
    }
    const isPast = this.#all >= most.all || (this.#places.get(place) ?? 0) >= most.each
    return isPast ? Math.ceil((this.#since + windowMs - now) / 1_000) : 0
  }

  failed(place: string): void {
    this.#all++
    if (this.#places.size < mostPlaces || this.#places.has(place))
      this.#places.set(place, (this.#places.get(place) ?? 0) + 1)
  }
}
