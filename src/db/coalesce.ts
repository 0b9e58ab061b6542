/** The result of a flush for one caller. */
export type Flushed<Result> = { ok: true; result: Result } | { ok: false; error: unknown }

export interface CoalesceLimits {
  maxItems: number
  maxBytes: number
}

interface Waiting<Item, Result> {
  item: Item
  bytes: number
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/**
 * Turns concurrent calls into few flushes: at once when idle, otherwise when the running flush returns, with all calls
 * that arrived meanwhile. Nothing waits for a timer.
 *
 * A flush begins one turn of the event loop after it is due, so that it includes callers of the same turn, and callers
 * that were just answered and call again.
 */
export class Coalescer<Item, Result> {
  readonly #flush: (items: readonly Item[]) => Promise<Flushed<Result>[]>
  readonly #limits: CoalesceLimits
  #waiting: Waiting<Item, Result>[] = []
  #isBusy = false
  #idle: (() => void)[] = []

  constructor(flush: (items: readonly Item[]) => Promise<Flushed<Result>[]>, limits: CoalesceLimits) {
    this.#flush = flush
    this.#limits = limits
  }

  add(item: Item, bytes: number): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, bytes, resolve, reject })
      if (this.#isBusy) return
      this.#isBusy = true
      setImmediate(() => void this.#run())
    })
  }

  /** Resolves when everything added so far has been answered. */
  drained(): Promise<void> {
    if (!this.#isBusy) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  async #run(): Promise<void> {
    const batch = this.#take()
    let answers: Flushed<Result>[]
    try {
      answers = await this.#flush(batch.map(({ item }) => item))
    } catch (error) {
      answers = batch.map(() => ({ ok: false, error }))
    }
    for (const [index, { resolve, reject }] of batch.entries()) {
      const answer = answers[index] ?? {
        ok: false,
        error: new Error('A flush returned fewer results than it got jobs'),
      }
      if (answer.ok) resolve(answer.result)
      else reject(answer.error)
    }
    setImmediate(() => {
      if (this.#waiting.length > 0) return void this.#run()
      this.#isBusy = false
      for (const resolve of this.#idle.splice(0)) resolve()
    })
  }

  #take(): Waiting<Item, Result>[] {
    let count = 0
    for (let bytes = 0; count < Math.min(this.#waiting.length, this.#limits.maxItems); count++) {
      bytes += this.#waiting[count]?.bytes ?? 0
      if (count > 0 && bytes > this.#limits.maxBytes) break
    }
    return this.#waiting.splice(0, count)
  }
}
