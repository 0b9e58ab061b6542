import type { ClaimedJob } from '../jobs/claim.ts'

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
  /** When its attempt has to be over; Infinity before it starts. */
  deadlineAt = Infinity
  /** Why its handler was aborted by us, which is then no failure of its own; the first reason stays. */
  abortedFor: AbortCause | undefined
  abortReason: unknown
  #listeners: ((cause: AbortCause, reason: unknown) => void)[] | undefined
  isFlaggedSlow = false
  /** Given back while its handler would not end: whatever that still comes to is nobody's business. */
  isGivenUp = false
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

export type AbortCause = 'timeout' | 'shutdown' | 'lease'

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
}
