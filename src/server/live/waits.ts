import type { JobState } from '../../core/job.ts'
import type { JobBrief } from './source.ts'

/** One of them. */
export interface Wait {
  id: string
  ended: (state: JobState | undefined) => void
}

/** Each holds a request: half of those that the console answers at once (console.ts), so that it answers others too. */
const mostWaits = 128

const endings: ReadonlySet<string> = new Set<JobState>(['succeeded', 'cancelled', 'dead'])

/** Requests that wait for the end of a job, whichever look finds it. */
export class Waits {
  readonly #waits = new Set<Wait>()

  get size(): number {
    return this.#waits.size
  }

  get hasRoom(): boolean {
    return this.#waits.size < mostWaits
  }

  /** Those that are there now. */
  get all(): readonly Wait[] {
    return [...this.#waits]
  }

  /** How a job ended, within `ms`; undefined where it has not, or is not there. */
  add(id: string, ms: number): Promise<JobState | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        wait.ended(undefined)
      }, ms)
      const wait: Wait = {
        id: id.toLowerCase(),
        ended: (state) => {
          clearTimeout(timer)
          this.#waits.delete(wait)
          resolve(state)
        },
      }
      this.#waits.add(wait)
    })
  }

  endAll(): void {
    for (const wait of this.all) wait.ended(undefined)
  }
}

/** Ends those whose job has ended or is not there. */
export function tellEnded(waits: readonly Wait[], jobs: ReadonlyMap<string, JobBrief>): void {
  for (const wait of waits) {
    const job = jobs.get(wait.id)
    if (job === undefined) wait.ended(undefined)
    else if (endings.has(job.state)) wait.ended(job.state)
  }
}
