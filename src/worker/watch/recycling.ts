import { longestTimerMs } from '../../core/duration.ts'
import { StintError } from '../../core/errors.ts'
import type { HeldJob, Slot } from '../attempt/held-job.ts'
import type { Part } from '../part.ts'

export interface RecyclingConfig {
  /** How long a handler that was given up may keep its slot; Infinity: for ever. */
  afterMs: number
  /** Ends the worker, after its healthy jobs. */
  giveUp: (error: StintError) => void
}

/**
 * Ends the worker, so that its process is started again, when a handler that was given up keeps its slot for too long.
 */
export class Recycling implements Part {
  readonly #config: RecyclingConfig
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(config: RecyclingConfig) {
    this.#config = config
  }

  /** A handler was given up after `ranMs`. */
  gaveUp(held: HeldJob, { slot, ranMs }: { slot: Slot; ranMs: number }): void {
    const { afterMs, giveUp } = this.#config
    if (afterMs === Infinity || !slot.isStuck) return
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer)
        if (slot.isStuck) giveUp(stuckError(held, ranMs))
      },
      Math.min(longestTimerMs, afterMs),
    )
    timer.unref()
    this.#timers.add(timer)
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }
}

function stuckError({ job }: HeldJob, ranMs: number): StintError {
  return new StintError(
    'worker-stuck',
    `The handler of job ${job.id} ('${job.kind}') was told to end after ${Math.round(ranMs / 1_000)} s and has not: this process is to be started anew.`,
    { jobIds: [job.id] },
  )
}
