import type { JobState } from '../../core/job.ts'
import type { JobBrief } from './source.ts'

/** One request that waits for a job to end. */
export interface Wait {
  id: string
  ended: (state: JobState | undefined) => void
}

/** Each wait holds a request. The limit is half of the requests that the console answers at once (console.ts), so that it can answer others too. */
const mostWaits = 128

const endings: ReadonlySet<string> = new Set<JobState>(['succeeded', 'cancelled', 'dead'])

/** The requests that wait for a job to end. */
export class Waits {
  readonly #waits = new Set<Wait>()

  get size(): number {
    return this.#waits.size
  }

  get hasRoom(): boolean {
    return this.#waits.size < mostWaits
  }

  /** A copy of the current waits. */
  get all(): readonly Wait[] {
    return [...this.#waits]
  }

  /** Waits up to `ms` for a job to end and returns its state; undefined if it has not ended or does not exist. */
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

/** Ends the waits whose job has ended or does not exist. */
export function tellEnded(waits: readonly Wait[], jobs: ReadonlyMap<string, JobBrief>): void {
  for (const wait of waits) {
    const job = jobs.get(wait.id)
    if (job === undefined) wait.ended(undefined)
    else if (endings.has(job.state)) wait.ended(job.state)
  }
}
