import { Floors } from './floor.ts'
import type { HeldJob } from '../attempt/held-job.ts'
import type { QueueConfig } from '../options.ts'

/** How much work to take in advance: enough to hide a claim's round trip, too little to hold up what is urgent. */
const aheadMs = 100
/** A claim that takes longer is trouble: what others start meanwhile is not made up for. */
const owedForMs = 1_000
/** Slots wait for the jobs of the queue that is due for this share of the time that those will take, and no longer. */
const worthShare = 0.1
const worthMs = 50
/** Ended and not yet confirmed: beyond this many nothing more is taken, however free the slots are. */
const maxUnsettled = 4_000

/** One queue as this worker sees it: where its work is, what of it is in hand, how fast it goes. */
export class QueuePool {
  readonly config: QueueConfig
  readonly floors = new Floors()
  /** Jobs that one slot may take at once, where a batch handler serves this queue. */
  readonly batchSize: number
  /** Handler calls at work, and the jobs in them: more than one where it is a batch. */
  running = 0
  runningJobs = 0
  /** Claimed and not confirmed to be settled: waiting, running and settling ones. */
  held = 0
  /** How long claims take lately. */
  claimMs = 0
  isClaiming = false
  /** Claims that failed in a row. Nothing is asked before `holdUntil`. */
  #failures = 0
  /** Whether the claim that failed was for jobs with keys; undefined while claims go well. */
  #failedKeyed: boolean | undefined
  holdUntil = 0
  /** When the claim that is under way was sent. */
  claimingSince: number | undefined
  /** Its last claim found something: the next one probably does. So may the first. */
  gaveLast = true
  surveyedAt = -Infinity
  /** What was taken in advance had to be given back: until a slot is free, others can do more with it. */
  wasInVain = false
  /** Jobs with keys may wait; `afterKey` is where the next round of keys goes on. */
  mayHaveKeyed = false
  /** Jobs with and without keys are asked for in turn where there are both. */
  isKeyedNext = false
  afterKey = ''
  keyedHints = 0
  /** The last keys had jobs for us; else many are looked at in one statement, to get past those of others. */
  isPastStrangers = true
  /** Jobs of one key in one round. */
  perKey = 1
  /** Of the slots of the worker, those that it can count on: fewer than it may use where others have work too. */
  slots: number
  /** What starting costs it under weighted order: the lowest goes first. */
  turn = 0
  readonly #waiting = new Map<number, HeldJob[]>()
  #waitingCount = 0
  #meanRunMs: number | undefined

  constructor(config: QueueConfig, batchSize = 1) {
    this.config = config
    this.batchSize = batchSize
    this.slots = config.concurrency
  }

  get waiting(): number {
    return this.#waitingCount
  }

  get mayHaveWork(): boolean {
    return this.mayHaveKeyed || this.floors.mayHaveWork
  }

  /** Its last claim failed. Says how many before it did so in a row. */
  failed(): number {
    this.#failedKeyed = this.#wasKeyed
    return this.#failures++
  }

  /**
   * Its last claim was answered. Says whether its claims go well: where those for jobs with keys are answered, those for
   * jobs without may fail all the same, and the other way round.
   */
  wentWell(): boolean {
    this.#failures = 0
    const mayFailStill = this.#failedKeyed === true ? this.mayHaveKeyed : this.floors.mayHaveWork
    if (this.#failedKeyed !== undefined && this.#failedKeyed !== this.#wasKeyed && mayFailStill) return false
    this.#failedKeyed = undefined
    return true
  }

  get #wasKeyed(): boolean {
    return !this.isKeyedNext
  }

  /** Whether it has work, as far as this worker knows. */
  get isBusy(): boolean {
    return this.running > 0 || this.#waitingCount > 0 || this.mayHaveWork
  }

  /** How many more this process should have in hand: for its free slots, and some work in advance. */
  room(): number {
    const { concurrency, prefetch } = this.config
    const unsettled = this.held - this.#waitingCount - this.runningJobs
    if (unsettled > maxUnsettled) return 0
    const slots = concurrency * this.batchSize - this.runningJobs - (prefetch === 0 ? unsettled : 0)
    return slots + this.ahead() - this.#waitingCount
  }

  /** Whether it is worth asking for more: slots are free, or what was taken in advance is half used up. */
  isHungry(): boolean {
    const room = this.room()
    return room > 0 && (this.#waitingCount === 0 || room * 2 >= this.ahead())
  }

  get canStart(): boolean {
    const { concurrency, prefetch } = this.config
    if (this.#waitingCount === 0 || this.running >= concurrency) return false
    // Without prefetch a slot is free only when its job's ending is stored.
    return prefetch > 0 || this.held - this.#waitingCount < concurrency * this.batchSize
  }

  /** Whether it would start something, were the jobs here that it has asked for. */
  isOwed(): boolean {
    if (!this.gaveLast || this.claimingSince === undefined) return false
    if (this.#waitingCount > 0 || this.running >= this.config.concurrency) return false
    return performance.now() - this.claimingSince < owedForMs
  }

  /** How much longer it pays to keep slots free for what its claim will bring. */
  worthWaitingMs(): number {
    const { claimingSince } = this
    if (claimingSince === undefined) return 0
    const worth = Math.min(worthMs, worthShare * (this.#meanRunMs ?? 0))
    return worth - (performance.now() - claimingSince)
  }

  /** Jobs with keys may wait. */
  hintKeyed(): void {
    this.keyedHints++
    this.mayHaveKeyed = true
  }

  add(held: HeldJob): void {
    const list = this.#waiting.get(held.rank)
    if (list === undefined) this.#waiting.set(held.rank, [held])
    else list.push(held)
    this.#waitingCount++
    this.held++
  }

  /** The one to start next: of the highest rank, the first that came. */
  take(): HeldJob | undefined {
    let best: number | undefined
    for (const [rank, list] of this.#waiting) {
      if (list.length > 0 && (best === undefined || rank > best)) best = rank
    }
    if (best === undefined) return undefined
    this.#waitingCount--
    return this.#waiting.get(best)?.shift()
  }

  /** Takes those out that satisfy a test, at most `limit`, in order. */
  takeWhere(test: (held: HeldJob) => boolean, limit = Infinity): HeldJob[] {
    const taken: HeldJob[] = []
    for (const [rank, list] of [...this.#waiting].sort(([a], [b]) => (a < b ? 1 : -1))) {
      const kept: HeldJob[] = []
      for (const held of list) (taken.length < limit && test(held) ? taken : kept).push(held)
      this.#waiting.set(rank, kept)
    }
    this.#waitingCount -= taken.length
    return taken
  }

  /** A job of this queue ran for so long; newer ones count more. */
  ran(ms: number): void {
    this.#meanRunMs = this.#meanRunMs === undefined ? ms : this.#meanRunMs + 0.05 * (ms - this.#meanRunMs)
  }

  /** Jobs to have waiting beyond the free slots: what its slots get through in the time to be covered. */
  ahead(): number {
    if (this.#meanRunMs === undefined || this.wasInVain) return 0
    const inMs = (this.slots * (aheadMs + this.claimMs)) / Math.max(this.#meanRunMs, 0.001)
    return Math.min(this.config.prefetch, Math.floor(inMs))
  }
}
