import { longestTimerMs } from '../../core/duration.ts'
import { StintError } from '../../core/errors.ts'
import type { HeldJob, HeldJobs } from '../attempt/held-job.ts'
import type { Part } from '../part.ts'
import type { Report } from '../report/report.ts'

/** Durations of the newest attempts of a kind. */
class Durations {
  readonly #recent = new Float64Array(128)
  #count = 0

  add(ms: number): void {
    this.#recent[this.#count++ % this.#recent.length] = ms
  }

  /** The 95th percentile; undefined while there are too few attempts. */
  p95(): number | undefined {
    const count = Math.min(this.#count, this.#recent.length)
    if (count < 20) return undefined
    const sorted = this.#recent.slice(0, count).sort()
    return sorted[Math.floor(count * 0.95)]
  }
}

export interface SlowLimits {
  /** An attempt is slow from this many times the usual duration. */
  factor: number
  /** And from this duration on. */
  leastMs: number
}

const slowLimits: SlowLimits = { factor: 3, leastMs: 10_000 }

export interface DeadlinesConfig {
  held: HeldJobs
  /** How long a handler has to end after it was told to. */
  graceMs: number
  report: Pick<Report, 'slow'>
  /** Ends the attempt of a job whose handler was told to end and did not within the grace. */
  giveUp: (held: HeldJob) => void
  slow?: SlowLimits | undefined
}

/**
 * Watches running attempts: aborts those past their deadline, gives up on those that do not end then, and points out
 * those that take unusually long.
 */
export class Deadlines implements Part {
  readonly #config: DeadlinesConfig
  readonly #slow: SlowLimits
  readonly #durations = new Map<string, Durations>()
  #timer: NodeJS.Timeout | undefined
  #checkAt = Infinity

  constructor(config: DeadlinesConfig) {
    this.#config = config
    this.#slow = config.slow ?? slowLimits
  }

  /** Its handler is about to be called. */
  started(held: HeldJob): void {
    this.#checkBy(Math.min(held.deadlineAt, held.startedAt + this.#slow.leastMs))
  }

  /** It was told to end, and has `graceMs` to do so. */
  aborted(held: HeldJob): void {
    this.#checkBy(held.abortedAt + this.#config.graceMs)
  }

  /** The latest deadline of the running jobs. */
  latestDeadline(): number {
    let latest = -Infinity
    // An isolated handler does not block our event loop.
    for (const { phase, isIsolated, deadlineAt } of this.#config.held.all())
      if (phase === 'running' && !isIsolated && deadlineAt > latest) latest = deadlineAt
    return latest
  }

  ended({ job }: HeldJob, ranMs: number): void {
    let durations = this.#durations.get(job.kind)
    if (durations === undefined) this.#durations.set(job.kind, (durations = new Durations()))
    durations.add(ranMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#checkAt = -Infinity
  }

  /** One timer for all: a timer for each job would cost more than most jobs. */
  #checkBy(at: number): void {
    if (at >= this.#checkAt) return
    this.#checkAt = at
    clearTimeout(this.#timer)
    this.#timer = setTimeout(
      () => {
        this.#checkDeadlines()
      },
      Math.min(longestTimerMs, Math.max(5, at - performance.now())),
    )
    this.#timer.unref()
  }

  #checkDeadlines(): void {
    const now = performance.now()
    const { factor, leastMs } = this.#slow
    let next = Infinity
    for (const held of this.#config.held.all()) {
      if (held.phase !== 'running') continue
      if (held.deadlineAt <= now) held.abort('timeout', timeoutError(held))
      else if (held.abortedFor === undefined) next = Math.min(next, held.deadlineAt)
      const giveUpAt = this.#giveUpAt(held)
      if (giveUpAt < Infinity) {
        if (giveUpAt <= now) {
          this.#config.giveUp(held)
          continue
        }
        next = Math.min(next, giveUpAt)
      }
      if (held.isFlaggedSlow) continue
      const slowAt =
        held.startedAt + Math.max(leastMs, factor * (this.#durations.get(held.job.kind)?.p95() ?? Infinity))
      if (slowAt <= now) this.#flag(held, now)
      else next = Math.min(next, slowAt === Infinity ? now + leastMs : slowAt)
    }
    this.#checkAt = Infinity
    if (next < Infinity) this.#checkBy(next)
  }

  /** When to give up on a handler that was told to end; Infinity if another part decides that. */
  #giveUpAt({ isIsolated, abortedFor, abortedAt, deadlineAt }: HeldJob): number {
    // An isolated handler is killed, which ends it.
    if (isIsolated) return Infinity
    if (abortedFor === 'timeout' || abortedFor === 'cancel') return abortedAt + this.#config.graceMs
    // If the lease was renewed, the job is still ours, and its own deadline applies.
    return abortedFor === 'lease' ? Math.max(abortedAt, deadlineAt) + this.#config.graceMs : Infinity
  }

  #flag(held: HeldJob, now: number): void {
    held.flagSlow()
    const usualMs = this.#durations.get(held.job.kind)?.p95() ?? 0
    this.#config.report.slow(held, { ranMs: now - held.startedAt, usualMs })
  }
}

function timeoutError({ job, deadlineAt, startedAt }: HeldJob): StintError {
  return new StintError(
    'attempt-timeout',
    `Attempt ${job.attempt} of job ${job.id} ('${job.kind}') ran past its timeout of ${Math.round(deadlineAt - startedAt)} ms.`,
    { jobIds: [job.id] },
  )
}
