import { waitAfterMs } from '../../db/wait.ts'
import { Floors } from './floor.ts'
import { KeyRounds } from './key-rounds.ts'
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

/** What a queue's claims are at. */
type ClaimState =
  | { readonly type: 'idle' }
  /** A claim is under way; it was sent at `since`. */
  | { readonly type: 'claiming'; readonly since: number }
  /** The last claim failed: nothing is asked before `until`. */
  | { readonly type: 'holding'; readonly until: number }

/** The two sorts of claims: for jobs with a key, and for jobs without. */
export type ClaimSort = 'keyed' | 'plain'

const idle: ClaimState = { type: 'idle' }

/** One queue as this worker sees it: where its work is, how many of its jobs are here, how fast they go. */
export class QueuePool {
  readonly config: QueueConfig
  readonly floors = new Floors()
  readonly keys = new KeyRounds()
  /** Jobs that one slot may take at once, where a batch handler serves this queue. */
  readonly batchSize: number
  /** Of the slots of the worker, those that it can count on: fewer than it may use where others have work too. */
  #slots: number
  /** What starting costs it under weighted order: the lowest goes first. */
  #turn = 0
  /** Handler calls at work, and the jobs in them: more than one where it is a batch. */
  #running = 0
  #runningJobs = 0
  /** Claimed and not confirmed to be settled: waiting, running and settling ones. */
  #held = 0
  #claims: ClaimState = idle
  /** How long claims take lately. */
  #claimMs = 0
  /** Whether the last claim found something: then the next one probably does. The first may too. */
  #lastFound = true
  #lastSort: ClaimSort = 'keyed'
  /** Claims that failed in a row. */
  #failures = 0
  /** The sort of the claim that failed; undefined while claims go well. */
  #failedSort: ClaimSort | undefined
  /** Prefetched jobs had to be given back: none are prefetched until a slot is free. */
  #isPrefetchPaused = false
  readonly #waiting = new Map<number, HeldJob[]>()
  #waitingCount = 0
  #meanRunMs: number | undefined

  constructor(config: QueueConfig, batchSize = 1) {
    this.config = config
    this.batchSize = batchSize
    this.#slots = config.concurrency
  }

  get waiting(): number {
    return this.#waitingCount
  }

  get turn(): number {
    return this.#turn
  }

  get mayHaveWork(): boolean {
    return this.keys.mayHaveWork || this.floors.mayHaveWork
  }

  get isClaiming(): boolean {
    return this.#claims.type === 'claiming'
  }

  /** When the claim that is under way was sent. */
  get claimingSince(): number | undefined {
    return this.#claims.type === 'claiming' ? this.#claims.since : undefined
  }

  /** When it may be asked again after a claim that failed; 0 where none did. */
  get holdUntil(): number {
    return this.#claims.type === 'holding' ? this.#claims.until : 0
  }

  /** A claim is sent now. */
  claimSent(now: number): void {
    this.#claims = { type: 'claiming', since: now }
  }

  /** No further claim follows now. */
  claimsEnded(): void {
    if (this.#claims.type === 'claiming') this.#claims = idle
  }

  /** Which sort of claim comes next: in turn where there is work of both. */
  nextSort(hasPlain: boolean): ClaimSort {
    const isKeyed = !hasPlain || (this.keys.mayHaveWork && this.#lastSort === 'plain')
    return (this.#lastSort = isKeyed ? 'keyed' : 'plain')
  }

  /** Its last claim failed: nothing is asked for a while, longer each time. */
  claimFailed(): void {
    this.#failedSort = this.#lastSort
    this.#claims = { type: 'holding', until: performance.now() + waitAfterMs(this.#failures++) }
    // What could not be asked is still to be asked.
    this.floors.probe()
    this.keys.hint()
  }

  /**
   * Its last claim was answered. Says whether its claims go well: where those for jobs with keys are answered, those for
   * jobs without may still fail, and the other way round.
   */
  claimAnswered({ jobs, tookMs }: { jobs: number; tookMs: number }): boolean {
    this.#claimMs += 0.3 * (tookMs - this.#claimMs)
    this.#lastFound = jobs > 0
    this.#failures = 0
    const mayStillFail = this.#failedSort === 'keyed' ? this.keys.mayHaveWork : this.floors.mayHaveWork
    if (this.#failedSort !== undefined && this.#failedSort !== this.#lastSort && mayStillFail) return false
    this.#failedSort = undefined
    return true
  }

  /** It can count on so many slots. */
  share(slots: number): void {
    this.#slots = slots
  }

  /** A handler is called for so many of its jobs. */
  started(jobs: number): void {
    this.#turn += jobs / this.config.weight
    this.#running++
    this.#runningJobs += jobs
  }

  /** The slot of a call for so many of its jobs is free. */
  vacated(jobs: number): void {
    this.#running--
    this.#runningJobs -= jobs
  }

  /** It had no work: it does not get to catch up on the turns it missed. */
  skipTurnsTo(turn: number): void {
    this.#turn = Math.max(this.#turn, turn)
  }

  /** A job was claimed that does not wait in this list. */
  hold(): void {
    this.#held++
  }

  /** The ending of a job is confirmed. */
  letGo(): void {
    this.#held--
  }

  get isPrefetchPaused(): boolean {
    return this.#isPrefetchPaused
  }

  pausePrefetch(): void {
    this.#isPrefetchPaused = true
  }

  resumePrefetch(): void {
    this.#isPrefetchPaused = false
  }

  /** Whether it has work, as far as this worker knows. */
  get isBusy(): boolean {
    return this.#running > 0 || this.#waitingCount > 0 || this.mayHaveWork
  }

  /** How many more this process should have in hand: for its free slots, and some work in advance. */
  room(): number {
    const { concurrency, prefetch } = this.config
    const unsettled = this.#held - this.#waitingCount - this.#runningJobs
    if (unsettled > maxUnsettled) return 0
    const slots = concurrency * this.batchSize - this.#runningJobs - (prefetch === 0 ? unsettled : 0)
    return slots + this.ahead() - this.#waitingCount
  }

  /** Whether it is worth asking for more: slots are free, or what was taken in advance is half used up. */
  isHungry(): boolean {
    const room = this.room()
    return room > 0 && (this.#waitingCount === 0 || room * 2 >= this.ahead())
  }

  get canStart(): boolean {
    const { concurrency, prefetch } = this.config
    if (this.#waitingCount === 0 || this.#running >= concurrency) return false
    // Without prefetch a slot is free only when its job's ending is stored.
    return prefetch > 0 || this.#held - this.#waitingCount < concurrency * this.batchSize
  }

  /** Whether it would start something, were the jobs here that it has asked for. */
  isOwed(): boolean {
    const { claimingSince } = this
    if (!this.#lastFound || claimingSince === undefined) return false
    if (this.#waitingCount > 0 || this.#running >= this.config.concurrency) return false
    return performance.now() - claimingSince < owedForMs
  }

  /** How much longer it pays to keep slots free for what its claim will bring. */
  worthWaitingMs(): number {
    const { claimingSince } = this
    if (claimingSince === undefined) return 0
    const worth = Math.min(worthMs, worthShare * (this.#meanRunMs ?? 0))
    return worth - (performance.now() - claimingSince)
  }

  add(held: HeldJob): void {
    const list = this.#waiting.get(held.rank)
    if (list === undefined) this.#waiting.set(held.rank, [held])
    else list.push(held)
    this.#waitingCount++
    this.#held++
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
    if (this.#meanRunMs === undefined || this.#isPrefetchPaused) return 0
    const inMs = (this.#slots * (aheadMs + this.#claimMs)) / Math.max(this.#meanRunMs, 0.001)
    return Math.min(this.config.prefetch, Math.floor(inMs))
  }
}
