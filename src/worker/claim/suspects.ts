import type { HeldJob } from '../attempt/held-job.ts'
import type { QueuePool } from './queue-pool.ts'

export interface Suspect {
  readonly pool: QueuePool
  readonly held: HeldJob
}

/**
 * How long other jobs are kept from starting so that a suspect can run alone; then it runs beside those that still run.
 */
const patienceMs = 30_000

/**
 * Jobs that one more crash would quarantine, if there is no child process to run them in. They run one at a time, with
 * no other job at work in this process, so that a crash has exactly one possible cause. Jobs that only happened to run
 * when their worker was killed pass this, and are suspects no more.
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

  /** Whether no other job may start now: a suspect is at work, or waits to run alone. */
  holdsOthers(now: number): boolean {
    if (this.#current !== undefined) return true
    if (this.#waiting.length === 0) return false
    this.#wantedSince ??= now
    return now < this.#wantedSince + patienceMs
  }

  /**
   * The suspect to start now; it has the process to itself until it is `over`. Other jobs count until their ending is
   * stored: they could be the cause of a crash before that.
   */
  next({ hasOthers, now }: { hasOthers: boolean; now: number }): Suspect | undefined {
    const [next] = this.#waiting
    if (next === undefined || this.#current !== undefined) return undefined
    if (this.holdsOthers(now) && hasOthers) return undefined
    this.#waiting.shift()
    this.#wantedSince = undefined
    return (this.#current = next)
  }

  /** Its ending is stored; true if other jobs had to wait for that. */
  over(held: HeldJob): boolean {
    const wasCurrent = this.#current?.held === held
    if (wasCurrent) this.#current = undefined
    return wasCurrent || this.#waiting.length > 0
  }

  /** Takes those that wait and satisfy a test. */
  takeWhere(test: (held: HeldJob) => boolean): HeldJob[] {
    const taken = this.#waiting.filter(({ held }) => test(held))
    this.#waiting = this.#waiting.filter(({ held }) => !test(held))
    // A suspect that comes later gets the full patience.
    if (this.#waiting.length === 0) this.#wantedSince = undefined
    return taken.map(({ held }) => held)
  }
}
