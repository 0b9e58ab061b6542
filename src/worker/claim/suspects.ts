import type { HeldJob } from '../attempt/held-job.ts'
import type { QueuePool } from './queue-pool.ts'

export interface Suspect {
  readonly pool: QueuePool
  readonly held: HeldJob
}

/** How long others are kept from starting so that a suspect can be alone; then it runs beside what is left. */
const patienceMs = 30_000

/**
 * Jobs that would be quarantined by one more crash, where there is no child process to run them in: one at a time, with
 * nothing else at work in this process, so that the crash has one name for sure. Jobs that were merely there when their
 * workers were killed come through this, and are suspects no more.
 */
export class Suspects {
  #waiting: Suspect[] = []
  #current: Suspect | undefined
  #wantedSince: number | undefined

  get waiting(): number {
    return this.#waiting.length
  }

  add(suspect: Suspect): void {
    this.#waiting.push(suspect)
  }

  /** Whether nothing else may start now: one is at work, or waits to be alone. */
  holdsOthers(now: number): boolean {
    if (this.#current !== undefined) return true
    if (this.#waiting.length === 0) return false
    this.#wantedSince ??= now
    return now < this.#wantedSince + patienceMs
  }

  /**
   * The one to start now; it has the process to itself until it is `over`. Others count until their ending is stored:
   * a crash before that would be theirs too.
   */
  next({ hasOthers, now }: { hasOthers: boolean; now: number }): Suspect | undefined {
    const [next] = this.#waiting
    if (next === undefined || this.#current !== undefined) return undefined
    if (this.holdsOthers(now) && hasOthers) return undefined
    this.#waiting.shift()
    this.#wantedSince = undefined
    return (this.#current = next)
  }

  /** Its ending is stored; true where others had to wait for that. */
  over(held: HeldJob): boolean {
    const wasCurrent = this.#current?.held === held
    if (wasCurrent) this.#current = undefined
    return wasCurrent || this.#waiting.length > 0
  }

  /** Takes those that wait and satisfy a test. */
  takeWhere(test: (held: HeldJob) => boolean): HeldJob[] {
    const taken = this.#waiting.filter(({ held }) => test(held))
    this.#waiting = this.#waiting.filter(({ held }) => !test(held))
    // Who comes later has not been waited for yet.
    if (this.#waiting.length === 0) this.#wantedSince = undefined
    return taken.map(({ held }) => held)
  }
}
