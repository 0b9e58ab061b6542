/** Failures allowed per minute, from one address and from all addresses together. Later failures get a 429. */
const most = { each: 10, all: 200 }
const windowMs = 60_000
/** Addresses counted at most, so that an attacker with many addresses cannot fill the memory. */
const mostAddresses = 10_000

/** Counts failed sign-ins to slow down guessing. A caller with a valid token is never refused. */
export class SignInAttempts {
  #since = 0
  #all = 0
  readonly #byAddress = new Map<string, number>()

  /** Seconds that a failed sign-in has to wait; 0 while the limit is not reached. */
  waitFor(address: string, now = Date.now()): number {
    if (now - this.#since >= windowMs) {
      this.#since = now
      this.#all = 0
      this.#byAddress.clear()
    }
    const isOverLimit = this.#all >= most.all || (this.#byAddress.get(address) ?? 0) >= most.each
    return isOverLimit ? Math.ceil((this.#since + windowMs - now) / 1_000) : 0
  }

  failed(address: string): void {
    this.#all++
    if (this.#byAddress.size < mostAddresses || this.#byAddress.has(address))
      this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1)
  }
}
