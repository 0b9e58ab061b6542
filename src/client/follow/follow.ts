import type { JobProgress, JobState } from '../../core/job.ts'
import { rejectUnknown } from '../../core/options.ts'
import { hasEnded, stepsOfHistory } from '../../jobs/follow/look.ts'
import type { Look, StepLook } from '../../jobs/follow/look.ts'
import { checkId, notFound } from '../job-id.ts'
import { signalOption } from './result.ts'
import type { Waiter } from './waiter.ts'

export interface FollowOptions {
  /** The id of the job. */
  job: string
  /** Ends the iteration; it throws the signal's reason. The job goes on. */
  signal?: AbortSignal | undefined
}

/** The job changed its state, or began another attempt. */
export interface StateNews {
  type: 'state'
  state: JobState
  attempt: number
  /** When it is or was due. */
  runAt: Date
  /** Why it was cancelled or died. */
  reason: string | null
  /** The result of a job that succeeded, else null. */
  result: unknown
  /** The error of a job that died, else null. */
  error: unknown
}

/** The handler reported progress. */
export interface ProgressNews extends JobProgress {
  type: 'progress'
}

/** A step began to wait, was done, or failed. */
export interface StepNews extends StepLook {
  type: 'step'
}

export type JobNews = StateNews | ProgressNews | StepNews

/** The changes of a job, from its current state to its end. */
export function follow(waiter: Waiter, options: FollowOptions): AsyncIterableIterator<JobNews> {
  const { job, signal, ...rest } = options
  rejectUnknown('follow()', rest, ['job', 'signal'])
  checkId(job)
  return newsOf(waiter, job.toLowerCase(), signalOption(signal))
}

async function* newsOf(
  waiter: Waiter,
  id: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<JobNews, void, undefined> {
  signal?.throwIfAborted()
  const told = new Told()
  let latest: { look: Look | undefined; steps: readonly StepLook[] } | undefined
  let failure: { error: unknown } | undefined
  let wake: () => void = () => undefined
  const onAbort = (): void => {
    failure = { error: signal?.reason }
    wake()
  }
  const stop = waiter.watch({
    id,
    withSteps: true,
    seen: (look, steps) => {
      latest = { look, steps }
      wake()
    },
    failed: (error) => {
      failure = { error }
      wake()
    },
  })
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    for (;;) {
      // A slow reader gets the latest state, and not every state in between: nothing piles up here.
      if (latest === undefined && failure === undefined)
        await new Promise<void>((resolve) => (wake = resolve))
      if (failure !== undefined) throw failure.error
      if (latest === undefined) continue
      const { look, steps } = latest
      latest = undefined
      if (look === undefined) throw notFound(id)
      yield* told.newsIn(look, steps)
      if (hasEnded(look)) return
    }
  } finally {
    stop()
    signal?.removeEventListener('abort', onAbort)
  }
}

/** What a follower was told so far. */
class Told {
  #state: string | undefined
  #progress: string | undefined
  readonly #steps = new Map<string, string>()

  /** What is new in the current state of the job, which is told after its steps if it is the last one. */
  newsIn(look: Look, recorded: readonly StepLook[]): JobNews[] {
    const isOver = hasEnded(look)
    // The records of a job that succeeded or was cancelled are deleted; its history has them.
    const steps = isOver && look.state !== 'dead' ? stepsOfHistory(look.steps) : recorded
    const rest = [...this.#stepNews(steps), ...this.#progressNews(look)]
    const state = this.#stateNews(look)
    return isOver ? [...rest, ...state] : [...state, ...rest]
  }

  #stateNews({ state, attempt, epoch, runAt, reason, result, error }: Look): StateNews[] {
    const mark = `${state} ${attempt} ${epoch}`
    if (this.#state === mark) return []
    this.#state = mark
    return [{ type: 'state', state, attempt, runAt, reason, result, error }]
  }

  #progressNews({ progress }: Look): ProgressNews[] {
    if (progress === null) return []
    const { percent, note, at } = progress
    const mark = JSON.stringify([percent, note, at])
    if (this.#progress === mark) return []
    this.#progress = mark
    return [{ type: 'progress', percent, note, at }]
  }

  #stepNews(steps: readonly StepLook[]): StepNews[] {
    return steps.flatMap((step) => {
      const name = `${step.n} ${step.name}`
      const mark = `${step.state} ${step.tries}`
      if (this.#steps.get(name) === mark) return []
      this.#steps.set(name, mark)
      return [{ type: 'step' as const, ...step }]
    })
  }
}
