import type { ClaimedJob } from '../../jobs/claim.ts'
import type { Slot } from './slot.ts'

/**
 * A job in this process's hands, from its claim to the confirmed settle.
 *
 * waiting   claimed, not started
 * running   its handler is at work
 * settling  ended, the ending not yet confirmed
 */
export class HeldJob {
  readonly job: ClaimedJob
  /** The highest is started first: its priority, or before all others where it has waited too long. */
  readonly rank: number
  readonly heldSince: number
  /** The worker it was claimed for: this process may be another one by the time it ends. */
  readonly workerId: string
  phase: 'waiting' | 'running' | 'settling' = 'waiting'
  startedAt = 0
  /** The call of its handler, once there is one. */
  slot: Slot | undefined
  /** When its attempt has to be over; Infinity before it starts. */
  deadlineAt = Infinity
  /** Why its handler was aborted by us, which is then no failure of its own; the first reason stays. */
  abortedFor: AbortCause | undefined
  abortReason: unknown
  abortedAt = Infinity
  #listeners: ((cause: AbortCause, reason: unknown) => void)[] | undefined
  isFlaggedSlow = false
  /** Of what sorts of its handler's output it was told that some was changed to be stored. */
  flagged: Set<string> | undefined
  /** Its ending was stored while its handler would not end: whatever that still comes to is nobody's business. */
  isGivenUp = false
  /** The database knows that its handler has begun: if this process ends now, the job was there. */
  isNotedBegun = false
  /** Errors that were thrown in its name after its attempt was over. */
  thrownLate = 0
  /** It runs in a child process or thread: the end of this process is none of its doing. */
  isIsolated = false
  /** Its handler has stored its completion: that its row is gone is no surprise. */
  isCompleted = false

  constructor(
    job: ClaimedJob,
    {
      heldSince,
      workerId,
      isAged = false,
    }: { heldSince: number; workerId: string; isAged?: boolean | undefined },
  ) {
    this.job = job
    this.rank = isAged ? Infinity : job.priority
    this.heldSince = heldSince
    this.workerId = workerId
  }

  abort(cause: AbortCause, reason: unknown): void {
    if (this.abortedFor !== undefined) return
    this.abortedFor = cause
    this.abortReason = reason
    this.abortedAt = performance.now()
    for (const listener of this.#listeners ?? []) listener(cause, reason)
  }

  /** Told when it is aborted; gives the way to be told no more. */
  listen(listener: (cause: AbortCause, reason: unknown) => void): () => void {
    this.#listeners = [...(this.#listeners ?? []), listener]
    return () => {
      this.#listeners = this.#listeners?.filter((one) => one !== listener)
    }
  }
}

/**
 * timeout   its deadline passed
 * cancel    somebody asked for its end
 * shutdown  the worker stops, and the drain is over
 * lease     it is another worker's, or may be soon
 * uncaught  something was thrown in its name that nobody caught: it has failed
 */
export type AbortCause = 'timeout' | 'cancel' | 'shutdown' | 'lease' | 'uncaught'

/** Everything in this process's hands, by job id: only the newest lease of a job counts. */
export class HeldJobs {
  readonly #byId = new Map<string, HeldJob>()

  get size(): number {
    return this.#byId.size
  }

  add(held: HeldJob): void {
    this.#byId.set(held.job.id, held)
  }

  remove(held: HeldJob): void {
    if (this.isCurrent(held)) this.#byId.delete(held.job.id)
  }

  get(id: string): HeldJob | undefined {
    return this.#byId.get(id)
  }

  /** Whether this is the newest lease we have for the job; an older one must never share a batch with it. */
  isCurrent(held: HeldJob): boolean {
    return this.#byId.get(held.job.id) === held
  }

  all(): HeldJob[] {
    return [...this.#byId.values()]
  }

  /** The one that came first, of those that are still here. */
  oldest(): HeldJob | undefined {
    const { value } = this.#byId.values().next()
    return value
  }
}
