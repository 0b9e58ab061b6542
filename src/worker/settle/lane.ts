/** Past this a statement is no faster; an uncapped one grew with the square of its rows. */
const maxBatch = 1_000
const maxInFlight = 2

/**
 * Gathers endings and sends them in batches. A batch is sent at once when none is on its way, otherwise with all that
 * gathers meanwhile.
 */
export class Lane<One> {
  readonly #send: (batch: readonly One[]) => Promise<unknown>
  #waiting: One[] = []
  #inFlight = 0
  #isScheduled = false
  #idle: (() => void)[] = []
  /** When a try last got an answer, also a failure, while there was something to send. */
  #turnedAt = 0

  constructor(send: (batch: readonly One[]) => Promise<unknown>) {
    this.#send = send
  }

  add(one: One): void {
    this.#waiting.push(one)
    this.#schedule()
  }

  /** A try got an answer. */
  turned(): void {
    this.#turnedAt = performance.now()
  }

  /** Since when it has got no answer, while there is something on its way. */
  get since(): number | undefined {
    return this.#inFlight > 0 ? this.#turnedAt : undefined
  }

  /** Resolves when everything was sent and answered. */
  idle(): Promise<void> {
    if (this.#waiting.length === 0 && this.#inFlight === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #schedule(): void {
    if (this.#isScheduled || this.#inFlight >= maxInFlight) return
    // While a batch is on its way there is time to gather; a full batch need not wait.
    if (this.#inFlight > 0 && this.#waiting.length < maxBatch / 2) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting.splice(0, maxBatch)
    if (batch.length > 0) {
      if (this.#inFlight++ === 0) this.turned()
      if (this.#waiting.length >= maxBatch / 2) this.#schedule()
      await this.#send(batch)
      this.#inFlight--
    }
    if (this.#waiting.length > 0) this.#schedule()
    else if (this.#inFlight === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }
}
