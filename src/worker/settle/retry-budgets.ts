import type { FailureClass } from '../../core/failures/failure.ts'
import { longestMs } from '../../core/options.ts'
import type { ClaimedJob } from '../../jobs/claim.ts'
import type { RetryBudget } from '../../jobs/queue-rules.ts'
import type { HeldJob } from '../attempt/held-job.ts'
import type { Outcome } from '../attempt/outcome.ts'
import type { Pools } from '../claim/pools.ts'

type Retry = Extract<Outcome, { type: 'retry' }>

/**
 * Keeps the retries of each queue within its budget: in each window at most `share` × the first attempts of the last window
 * + `least`, for each class of failures and in this process. A retry beyond that is put behind the others on a timeline of
 * that pace: it comes later, and is not lost. Nothing is stored but the later time, so this costs no statement. After a
 * restart the process begins with an empty timeline; the retries that it placed keep their times.
 */
export class RetryBudgets {
  readonly #pools: Pick<Pools, 'get'>
  readonly #queues = new Map<string, QueueRetries>()

  constructor(pools: Pick<Pools, 'get'>) {
    this.#pools = pools
  }

  /** An attempt begins. */
  started({ job, startedAt }: HeldJob): void {
    const budget = this.#pools.get(job.queue)?.rules.retryBudget
    if (budget === undefined || !isFirst(job)) return
    this.#of(job.queue, budget).starts.add(startedAt)
  }

  /** The retry at the time that the budget of its queue allows. */
  place({ job }: HeldJob, retry: Retry): Retry {
    const budget = this.#pools.get(job.queue)?.rules.retryBudget
    if (budget === undefined) return retry
    const now = performance.now()
    const wanted = now + retry.delayMs
    const at = Math.min(
      this.#of(job.queue, budget).place(retry.error.class, { wanted, now }),
      now + longestMs,
    )
    const movedMs = Math.round(at - wanted)
    return movedMs < 1 ? retry : { ...retry, delayMs: at - now, movedMs }
  }

  #of(queue: string, budget: RetryBudget): QueueRetries {
    const known = this.#queues.get(queue)
    if (known?.takes(budget) === true) return known
    const added = new QueueRetries(budget)
    this.#queues.set(queue, added)
    return added
  }
}

/** A retry that burned no attempt has the number of the first attempt again, but has failed before. */
function isFirst({ attempt, more }: ClaimedJob): boolean {
  return attempt - (more?.attemptsBefore ?? 0) === 1 && (more?.failures ?? null) === null
}

/** The first attempts of one queue, and the places of its retries. */
class QueueRetries {
  budget: RetryBudget
  readonly starts: WindowCount
  readonly #timelines = new Map<FailureClass, Timeline>()

  constructor(budget: RetryBudget) {
    this.budget = budget
    this.starts = new WindowCount(budget.windowMs)
  }

  /** Whether it can go on with another budget: the counts belong to one length of the window. */
  takes(budget: RetryBudget): boolean {
    if (budget.windowMs !== this.budget.windowMs) return false
    this.budget = budget
    return true
  }

  /** When a retry that wants to come at a time may come. */
  place(failureClass: FailureClass, { wanted, now }: { wanted: number; now: number }): number {
    const { share, least, windowMs } = this.budget
    // Half of `least` may come at once, the other half belongs to the pace: so that any window has no more than all of it.
    const stepMs = windowMs / (share * this.starts.total(now) + least / 2)
    const aheadMs = Math.max(0, least / 2 - 1) * stepMs
    let timeline = this.#timelines.get(failureClass)
    if (timeline === undefined) this.#timelines.set(failureClass, (timeline = new Timeline()))
    return timeline.place(wanted, { stepMs, aheadMs, now })
  }
}

const slots = 20

/** Counts events of the last window. */
export class WindowCount {
  readonly #slotMs: number
  readonly #counts = new Float64Array(slots)
  #last = 0
  #total = 0

  constructor(windowMs: number) {
    this.#slotMs = windowMs / slots
  }

  add(now: number): void {
    this.#turn(now)
    const index = this.#last % slots
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
    this.#total++
  }

  total(now: number): number {
    this.#turn(now)
    return this.#total
  }

  #turn(now: number): void {
    const slot = Math.floor(now / this.#slotMs)
    for (let passed = Math.min(slots, slot - this.#last); passed > 0; passed--) {
      const index = (slot - passed + 1) % slots
      this.#total -= this.#counts[index] ?? 0
      this.#counts[index] = 0
    }
    this.#last = Math.max(this.#last, slot)
  }
}

/** From the first retry of a series to the first time that is free behind it. */
interface Series {
  readonly from: number
  until: number
}

/** Beyond this many, the latest series is forgotten: its retries keep their times, and others may come beside them. */
const mostSeries = 20_000

/**
 * The places of retries to come. Retries that lie close together form a series, each a step behind the one before; a retry that
 * wants a time within a series goes to its end. Kept by time and not as one last place, because delays differ: a retry in 2
 * hours must not hold up one in 30 seconds.
 */
export class Timeline {
  #series: Series[] = []

  /** The time for a retry that wants to come at `wanted`. A series may run ahead of its pace by `aheadMs`. */
  place(wanted: number, { stepMs, aheadMs, now }: { stepMs: number; aheadMs: number; now: number }): number {
    this.#forgetBefore(now)
    const index = this.#lastFrom(wanted)
    const series = this.#series[index]
    if (series === undefined || series.until <= wanted) {
      this.#series.splice(index + 1, 0, { from: wanted, until: wanted + stepMs })
      this.#join(index + 1)
      if (this.#series.length > mostSeries) this.#series.pop()
      return wanted
    }
    const at = Math.max(wanted, series.until - aheadMs)
    series.until += stepMs
    this.#join(index)
    return at
  }

  /** A series that reaches the next one goes on behind it. */
  #join(index: number): void {
    const series = this.#series[index]
    let next = this.#series[index + 1]
    while (series !== undefined && next !== undefined && next.from <= series.until) {
      series.until += next.until - next.from
      this.#series.splice(index + 1, 1)
      next = this.#series[index + 1]
    }
  }

  /** The index of the last series that begins at a time or before; -1 if none does. */
  #lastFrom(time: number): number {
    let [low, high] = [0, this.#series.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#series[middle]?.from ?? Infinity) <= time) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  #forgetBefore(now: number): void {
    const over = this.#series.findIndex(({ until }) => until > now)
    if (over === -1) this.#series = []
    else if (over > 0) this.#series.splice(0, over)
  }
}
