import type { HeldJob } from '../attempt/held-job.ts'

/** So many at once; the others wait in line. */
export class Turns {
  #free: number
  readonly #line: ((isMine: boolean) => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /** Resolves when it is the job's turn; with false where it is told to end before, or everybody is sent home. */
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
        const place = this.#line.indexOf(resolve)
        if (place >= 0) this.#line.splice(place, 1)
        resolve(false)
      })
    })
    unlisten()
    return isMine
  }

  /** For whoever had a turn, when that is over. */
  give(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#free++
    else next(true)
  }

  sendHome(): void {
    for (const resolve of this.#line.splice(0)) resolve(false)
  }
}
