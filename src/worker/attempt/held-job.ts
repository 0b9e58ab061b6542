import type { ClaimedJob } from '../../jobs/claim.ts'

/** The phase of a job between its claim and the confirmed settle. */
export type HeldState =
  /** Claimed; it has no slot yet. */
  | { readonly phase: 'waiting' }
  /** It has a slot; before its handler is called, the database notes that it begins. */
  | { readonly phase: 'starting'; readonly slot: Slot }
  /** Its handler is at work. */
  | {
      readonly phase: 'running'
      /** Undefined inside a child, which runs one job at a time. */
      readonly slot: Slot | undefined
      readonly startedAt: number
      /** When the attempt has to be over; Infinity while it waits for a child. */
      readonly deadlineAt: number
      readonly timeoutMs: number
      /** In a child process or thread: if this process ends, the job is not the cause. */
      readonly isIsolated: boolean
    }
  /** Its ending is decided, but not confirmed. */
  | {
      readonly phase: 'settling'
      /** 0 where its handler was never called. */
      readonly startedAt: number
      /** The attempt ended without its handler, which would not end: what the handler still does is ignored. */
      readonly isGivenUp: boolean
    }

/**
 * timeout   its deadline passed
 * cancel    a caller cancelled it
 * shutdown  the worker stops, and the drain is over
 * lease     another worker has it, or may have it soon
 * uncaught  an error of the job was never caught: it has failed
 */
export type AbortCause = 'timeout' | 'cancel' | 'shutdown' | 'lease' | 'uncaught'

interface Aborted {
  readonly cause: AbortCause
  readonly reason: unknown
  readonly at: number
}

const waiting: HeldState = { phase: 'waiting' }

/** A job that this process has claimed. Its state changes only through its methods. */
export class HeldJob {
  readonly job: ClaimedJob
  /** It has waited too long: it starts before jobs of higher priority. */
  readonly isAged: boolean
  readonly heldSince: number
  /** The worker it was claimed for: this process may have another id by the time it ends. */
  readonly workerId: string
  #state: HeldState = waiting
  #aborted: Aborted | undefined
  #listeners: ((cause: AbortCause, reason: unknown) => void)[] | undefined
  #isCompleted = false
  #isNotedBegun = false
  #isFlaggedSlow = false
  #flagged: Set<string> | undefined
  #thrownLate = 0

  constructor(
    job: ClaimedJob,
    {
      heldSince,
      workerId,
      isAged = false,
    }: { heldSince: number; workerId: string; isAged?: boolean | undefined },
  ) {
    this.job = job
    this.isAged = isAged
    this.heldSince = heldSince
    this.workerId = workerId
  }

  get phase(): HeldState['phase'] {
    return this.#state.phase
  }

  get slot(): Slot | undefined {
    const state = this.#state
    return state.phase === 'starting' || state.phase === 'running' ? state.slot : undefined
  }

  /** When its handler was called; 0 before that. */
  get startedAt(): number {
    const state = this.#state
    return state.phase === 'running' || state.phase === 'settling' ? state.startedAt : 0
  }

  /** When its attempt has to be over; Infinity unless its handler is at work. */
  get deadlineAt(): number {
    return this.#state.phase === 'running' ? this.#state.deadlineAt : Infinity
  }

  get isIsolated(): boolean {
    return this.#state.phase === 'running' && this.#state.isIsolated
  }

  get isGivenUp(): boolean {
    return this.#state.phase === 'settling' && this.#state.isGivenUp
  }

  /** It has a slot, and waits for the note that it begins. */
  prepare(slot: Slot): void {
    this.#state = { phase: 'starting', slot }
  }

  /** Its handler is about to be called. In a child it begins again: its timeout counts from there. */
  begin(slot: Slot | undefined, timeoutMs: number): void {
    const startedAt = performance.now()
    const { isIsolated } = this
    const deadlineAt = startedAt + timeoutMs
    this.#state = { phase: 'running', slot, startedAt, deadlineAt, timeoutMs, isIsolated }
  }

  /** It has stored a step: its timeout counts from here. Returns its new deadline. */
  progressed(): number {
    const state = this.#state
    if (state.phase === 'running' && state.deadlineAt < Infinity)
      this.#state = { ...state, deadlineAt: performance.now() + state.timeoutMs }
    return this.deadlineAt
  }

  /** Its handler runs in a child. Its timeout does not run while it waits for one. */
  waitForChild(): void {
    if (this.#state.phase !== 'running') return
    this.#state = { ...this.#state, deadlineAt: Infinity, isIsolated: true }
  }

  /** Its ending is decided. False if it was given up before. */
  end(): boolean {
    if (this.isGivenUp) return false
    this.#state = { phase: 'settling', startedAt: this.startedAt, isGivenUp: false }
    return true
  }

  /** Its attempt ends without its handler. */
  giveUp(): void {
    this.#state = { phase: 'settling', startedAt: this.startedAt, isGivenUp: true }
  }

  /** Why we aborted its handler; such an end is no failure of the handler. The first cause stays. */
  get abortedFor(): AbortCause | undefined {
    return this.#aborted?.cause
  }

  get abortReason(): unknown {
    return this.#aborted?.reason
  }

  get abortedAt(): number {
    return this.#aborted?.at ?? Infinity
  }

  abort(cause: AbortCause, reason: unknown): void {
    if (this.#aborted !== undefined) return
    this.#aborted = { cause, reason, at: performance.now() }
    for (const listener of this.#listeners ?? []) listener(cause, reason)
  }

  /** Calls the listener when the job is aborted; returns a function that stops listening. */
  listen(listener: (cause: AbortCause, reason: unknown) => void): () => void {
    this.#listeners = [...(this.#listeners ?? []), listener]
    return () => {
      this.#listeners = this.#listeners?.filter((one) => one !== listener)
    }
  }

  /** Its handler has stored its completion: that its row is gone is expected. */
  get isCompleted(): boolean {
    return this.#isCompleted
  }

  complete(): void {
    this.#isCompleted = true
  }

  /** The database knows that its handler has begun: if this process crashes now, the job may be the cause. */
  get isNotedBegun(): boolean {
    return this.#isNotedBegun
  }

  noteBegun(): void {
    this.#isNotedBegun = true
  }

  get isFlaggedSlow(): boolean {
    return this.#isFlaggedSlow
  }

  flagSlow(): void {
    this.#isFlaggedSlow = true
  }

  /** True the first time for each sort of output that had to be changed to be stored. */
  flag(output: string): boolean {
    this.#flagged ??= new Set()
    if (this.#flagged.has(output)) return false
    this.#flagged.add(output)
    return true
  }

  /** Counts an error that it threw after its attempt was over. */
  countLateError(): number {
    return ++this.#thrownLate
  }
}

/**
 * One call of a handler: for one job, or a batch of them.
 *
 * busy   the handler is at work
 * stuck  it still runs although all of its jobs were given up; a replacement slot is open
 * over   it has returned
 */
export class Slot {
  readonly batch: readonly HeldJob[]
  #state: 'busy' | 'stuck' | 'over' = 'busy'
  /** Jobs whose ending is not decided. */
  #open: number

  constructor(batch: readonly HeldJob[]) {
    this.batch = batch
    this.#open = batch.length
  }

  get isStuck(): boolean {
    return this.#state === 'stuck'
  }

  /** One of its jobs is given up. True if that was the last one: from now on the slot is stuck. */
  giveUpOne(): boolean {
    this.#open--
    if (this.#open > 0) return false
    this.#state = 'stuck'
    return true
  }

  /** The handler has returned. Returns the state before: `over` from the second of its jobs on. */
  leave(): 'busy' | 'stuck' | 'over' {
    const before = this.#state
    this.#state = 'over'
    return before
  }
}

/** All jobs that this process has claimed, by id: only the newest lease of a job counts. */
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

  /** The job that was claimed first, of those that are still held. */
  oldest(): HeldJob | undefined {
    const { value } = this.#byId.values().next()
    return value
  }
}
