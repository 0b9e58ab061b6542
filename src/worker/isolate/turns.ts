import type { HeldJob } from '../attempt/held-job.ts'

/** Lets a limited number of jobs proceed at once; the others wait in a queue. */
export class Turns {
  #free: number
  readonly #line: ((isMine: boolean) => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /**
   * Resolves with true when it is the job's turn; with false if the job is told to end before, or all are sent back.
   */
  async take(held: HeldJob): Promise<boolean> {
    if (held.abortedFor !== undefined) return false
    if (this.#free > 0) {
      this.#free--
      return true
    }
    let unlisten: () => void = () => undefined
    const isMine = await new Promise<boolean>((resolve) => {
      this.#line.push(resolve)
      unlisten = held.listen(() => {
        const position = this.#line.indexOf(resolve)
        if (position >= 0) this.#line.splice(position, 1)
        resolve(false)
      })
    })
    unlisten()
    return isMine
  }

  /** Ends a turn: the next in the queue gets it. */
  give(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#free++
    else next(true)
  }

  releaseWaiting(): void {
    for (const resolve of this.#line.splice(0)) resolve(false)
  }
}
