import { waitAfterMs } from '../../db/wait.ts'
import { Closing } from './closing.ts'
import { Floors } from './floor.ts'
import { handOf, highest } from './hand.ts'
import type { Hand } from './hand.ts'
import { Lanes } from './lanes.ts'
import { PoolRules } from './pool-rules.ts'
import type { Probes } from './probes.ts'
import type { ServedKinds } from './served-kinds.ts'
import type { HeldJob } from '../attempt/held-job.ts'
import type { QueueConfig } from '../options.ts'

/** How much work to prefetch: enough to hide a claim's round trip, too little to delay urgent jobs. */
const aheadMs = 100
/** A claim that takes longer is in trouble: the queue does not catch up on turns that others take meanwhile. */
const owedForMs = 1_000
/** Slots wait for the jobs of the queue whose turn it is for at most this share of the time that those jobs take. */
const worthShare = 0.1
const worthMs = 50
/** Ended but not confirmed jobs: beyond this many no more are claimed, even if slots are free. */
const maxUnsettled = 4_000

/** How long the highest priority is remembered after its last job was claimed. */
const topForMs = 5_000

/** The state of a queue's claims. */
type ClaimState =
  | { readonly type: 'idle' }
  /** A claim is under way; it was sent at `since`. */
  | { readonly type: 'claiming'; readonly since: number }
  /** The last claim failed: none is sent before `until`. */
  | { readonly type: 'holding'; readonly until: number }

/** The two sorts of claims: for jobs with a key, and for jobs without. */
export type ClaimSort = 'keyed' | 'plain'

const idle: ClaimState = { type: 'idle' }

/** One queue as this worker sees it: where its jobs are, how many are held here, how fast they run. */
export class QueuePool {
  readonly config: QueueConfig
  readonly floors = new Floors()
  readonly rules: PoolRules
  readonly lanes: Lanes
  /** What limits and rates keep back. */
  readonly closing: Closing
  /** Jobs that one slot may take at once, where a batch handler serves this queue. */
  readonly batchSize: number
  readonly ordering: ServedKinds['ordering']
  /** The worker's slots that this queue can count on: fewer than it may use if other queues have work too. */
  #slots: number
  /** Its turn under weighted order: the lowest goes first, and each start raises it. */
  #turn = 0
  /** Handler calls at work, and their jobs: more than one job per call for a batch. */
  #running = 0
  #runningJobs = 0
  /** Claimed but not confirmed as settled: waiting, running and settling jobs. */
  #held = 0
  #claims: ClaimState = idle
  /** Recent duration of claims. */
  #claimMs = 0
  /** Whether the last claim found jobs: then the next one probably does too. True before the first claim. */
  #lastFound = true
  #lastSort: ClaimSort = 'keyed'
  /** Claims that failed in a row. */
  #failures = 0
  /** The sort of the claim that failed; undefined while claims go well. */
  #failedSort: ClaimSort | undefined
  /** Prefetched jobs had to be given back: no job is prefetched until a slot is free. */
  #isPrefetchPaused = false
  /** Jobs that wait for a slot, by rank. */
  readonly #waiting = new Map<number, Hand>()
  #waitingCount = 0
  /** The same of the jobs that may not take reserved slots; empty where none are reserved. */
  readonly #lowWaiting = new Map<number, Hand>()
  readonly #low = { waiting: 0, running: 0, runningJobs: 0 }
  /** The highest priority of late, and when a job of it was claimed. */
  #top = { priority: -Infinity, at: -Infinity }
  #meanRunMs: number | undefined
  /** Limits gave the last claim less than it asked for. */
  isBound = true

  constructor(
    config: QueueConfig,
    { batchSize = 1, ordering = 'none' }: Partial<ServedKinds> = {},
    probes?: Probes,
  ) {
    this.config = config
    this.rules = new PoolRules(probes)
    this.batchSize = batchSize
    this.ordering = ordering
    this.lanes = new Lanes((key) => this.rules.weightOf(key) ?? config.keyWeight(key), {
      isPaused: (key) => this.rules.isKeyPaused(key),
      reservedFrom: config.reserve?.priority ?? Infinity,
    })
    this.closing = new Closing(this.lanes, config.pollFloorMs)
    this.#slots = config.concurrency
  }

  get waiting(): number {
    return this.#waitingCount
  }

  /** Handlers of this queue that may be at work at once. */
  get concurrency(): number {
    return this.rules.concurrency ?? this.config.concurrency
  }

  get turn(): number {
    return this.#turn
  }

  /** Whether a claim may find jobs. A paused queue has none, so it keeps no slots from other queues. */
  get mayHaveWork(): boolean {
    if (this.rules.isPaused(performance.now())) return false
    const least = this.leastPriority
    if (least === -Infinity) return this.lanes.mayHaveWork || this.floors.mayHaveWork
    return this.lanes.mayHaveReserved || this.floors.mayHaveWorkFrom(least)
  }

  /** Jobs below this priority are not claimed now: only reserved slots are free. -Infinity if all may be. */
  get leastPriority(): number {
    const { reserve } = this.config
    return reserve === undefined || this.#lowRoom() > 0 ? -Infinity : reserve.priority
  }

  /** The most jobs to claim when some of them may be below the reserved priority. */
  most(wanted: number, priority = -Infinity): number {
    return this.#isLow(priority) && this.leastPriority === -Infinity
      ? Math.min(wanted, Math.max(1, this.#lowRoom()))
      : wanted
  }

  #isLow(priority: number): boolean {
    const { reserve } = this.config
    return reserve !== undefined && priority < reserve.priority
  }

  /** The slots that are not reserved. */
  get #lowSlots(): number {
    const slots = this.config.reserve?.slots ?? 0
    return this.concurrency - Math.min(slots, this.concurrency - 1)
  }

  #lowRoom(): number {
    const { waiting, runningJobs } = this.#low
    return this.#lowSlots * this.batchSize - runningJobs + this.ahead() - waiting
  }

  get isClaiming(): boolean {
    return this.#claims.type === 'claiming'
  }

  /** When the claim that is under way was sent. */
  get claimingSince(): number | undefined {
    return this.#claims.type === 'claiming' ? this.#claims.since : undefined
  }

  /** When a claim may be sent after one that failed or met a limit; 0 if at once. */
  get holdUntil(): number {
    return Math.max(this.closing.until, this.#claims.type === 'holding' ? this.#claims.until : 0)
  }

  /** A claim is sent now. */
  claimSent(now: number): void {
    this.#claims = { type: 'claiming', since: now }
  }

  /** No further claim follows for now. */
  claimsEnded(): void {
    if (this.#claims.type === 'claiming') this.#claims = idle
  }

  /** Which sort of claim comes next: they alternate if both have work. */
  nextSort(hasPlain: boolean): ClaimSort {
    const isKeyed = !hasPlain || (this.lanes.mayHaveWork && this.#lastSort === 'plain')
    return (this.#lastSort = isKeyed ? 'keyed' : 'plain')
  }

  /** Its last claim failed: none is sent for a while, longer each time. */
  claimFailed(): void {
    this.#failedSort = this.#lastSort
    this.#claims = { type: 'holding', until: performance.now() + waitAfterMs(this.#failures++) }
    // The failed claim has not answered whether there are jobs.
    this.floors.probe()
  }

  /**
   * Its last claim was answered. Returns whether its claims go well: claims for jobs with keys may succeed while claims
   * for jobs without keys fail, and the other way round.
   */
  claimAnswered({ jobs, tookMs }: { jobs: number; tookMs: number }): boolean {
    this.#claimMs += 0.3 * (tookMs - this.#claimMs)
    this.#lastFound = jobs > 0
    this.#failures = 0
    const mayStillFail = this.#failedSort === 'keyed' ? this.lanes.mayHaveWork : this.floors.mayHaveWork
    if (this.#failedSort !== undefined && this.#failedSort !== this.#lastSort && mayStillFail) return false
    this.#failedSort = undefined
    return true
  }

  /** It can count on this many slots. */
  share(slots: number): void {
    this.#slots = slots
  }

  /** A handler is called for these of its jobs. */
  started({ length, 0: first }: readonly HeldJob[]): void {
    this.#turn += length / this.config.weight
    this.#count(first, 1, length)
  }

  /** The slot of a call for these of its jobs is free. */
  vacated({ length, 0: first }: readonly HeldJob[]): void {
    this.#count(first, -1, -length)
  }

  /** The first job of a slot decides whether the slot counts as one of those that are not reserved. */
  #count(first: HeldJob | undefined, slots: number, jobs: number): void {
    this.#running += slots
    this.#runningJobs += jobs
    if (!this.#isLow(first?.job.priority ?? 0)) return
    this.#low.running += slots
    this.#low.runningJobs += jobs
  }

  /** It had no work: it does not catch up on the turns it missed. */
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

  /** How many more jobs this process should hold: for its free slots, and some to prefetch. */
  room(): number {
    const { prefetch } = this.config
    const unsettled = this.#unsettled
    if (unsettled > maxUnsettled) return 0
    const slots = this.concurrency * this.batchSize - this.#runningJobs - (prefetch === 0 ? unsettled : 0)
    // Jobs that wait for slots that are not reserved keep no others from being claimed.
    return slots + this.ahead() - (this.#waitingCount - this.#low.waiting)
  }

  /**
   * Jobs to ask for although the hand is full: of keys that had nothing waiting, so that none waits for others' jobs. No more
   * than its slots: further ones would wait here, where other workers cannot start them.
   */
  urgent(): number {
    if (this.#unsettled > maxUnsettled || this.config.prefetch === 0) return 0
    if (this.leastPriority > -Infinity) return 0
    const most = this.config.concurrency * this.batchSize + this.ahead() - this.#waitingCount
    return Math.max(0, Math.min(this.lanes.urgent, most))
  }

  /** Jobs that have ended and are not confirmed as settled. */
  get #unsettled(): number {
    return this.#held - this.#waitingCount - this.#runningJobs
  }

  /** Whether to claim more: slots are free, or half of the prefetched jobs are used up. */
  isHungry(): boolean {
    const room = this.room()
    return room > 0 && (this.#waitingCount === 0 || room * 2 >= this.ahead())
  }

  get hasFreeSlot(): boolean {
    return this.#running < this.config.concurrency
  }

  get canStart(): boolean {
    const { concurrency } = this
    const { prefetch } = this.config
    if (this.#waitingCount === 0 || this.#running >= concurrency) return false
    if (this.#waitingCount === this.#low.waiting && !this.#isLowOpen) return false
    // Without prefetch a slot is free only when its job's ending is stored.
    return prefetch > 0 || this.#held - this.#waitingCount < concurrency * this.batchSize
  }

  /** Whether a slot that is not reserved is free. */
  get #isLowOpen(): boolean {
    return this.#low.running < this.#lowSlots
  }

  /** Whether it would start a job if the jobs of its claim were here. */
  isOwed(): boolean {
    const { claimingSince } = this
    if (!this.#lastFound || claimingSince === undefined) return false
    if (this.#waitingCount > 0 || this.#running >= this.concurrency) return false
    return performance.now() - claimingSince < owedForMs
  }

  /** How much longer to keep slots free for the jobs that its claim will return. */
  worthWaitingMs(): number {
    const { claimingSince } = this
    if (claimingSince === undefined) return 0
    const worth = Math.min(worthMs, worthShare * (this.#meanRunMs ?? 0))
    return worth - (performance.now() - claimingSince)
  }

  add(held: HeldJob): void {
    const { key, priority } = held.job
    const isLow = this.#isLow(priority)
    const hand = handOf(isLow ? this.#lowWaiting : this.#waiting, this.#rankOf(held))
    if (key === null) hand.add(held)
    else hand.addTagged(held, this.lanes.tag(key))
    if (isLow) this.#low.waiting++
    this.#waitingCount++
    this.#held++
  }

  /**
   * The highest rank starts first: a job's priority, unless it has waited too long. Then a job without a key goes before all
   * others, and a job with a key has the rank of the highest priority: from there its key's turn decides, so that a key with
   * many old jobs does not hold up the other keys.
   */
  #rankOf({ job: { key, priority }, heldSince, isAged }: HeldJob): number {
    if (priority >= this.#top.priority || heldSince - this.#top.at > topForMs) {
      this.#top.priority = priority
      this.#top.at = heldSince
    }
    if (!isAged) return priority
    return key === null ? Infinity : this.#top.priority
  }

  readonly #onTag = (tag: number): void => {
    this.lanes.started(tag)
  }

  /** The job to start next: one of the highest rank. */
  take(): HeldJob | undefined {
    const best = highest(this.#waiting)
    const low = this.#isLowOpen ? highest(this.#lowWaiting) : undefined
    const isLow = low !== undefined && (best === undefined || low > best)
    const rank = isLow ? low : best
    if (rank === undefined) return undefined
    this.#waitingCount--
    if (isLow) this.#low.waiting--
    return (isLow ? this.#lowWaiting : this.#waiting).get(rank)?.take(this.#onTag)
  }

  /** Takes out the jobs that satisfy a test, at most `limit`, in order. */
  takeWhere(test: (held: HeldJob) => boolean, limit = Infinity): HeldJob[] {
    const taken: HeldJob[] = []
    for (const [, hand] of [...this.#waiting, ...this.#lowWaiting].sort(([a], [b]) => (a < b ? 1 : -1)))
      taken.push(...hand.takeWhere(test, limit - taken.length))
    this.#waitingCount -= taken.length
    for (const { job } of taken) if (this.#isLow(job.priority)) this.#low.waiting--
    return taken
  }

  /** A job of this queue ran for this long; newer durations count more. */
  ran(ms: number): void {
    this.#meanRunMs = this.#meanRunMs === undefined ? ms : this.#meanRunMs + 0.05 * (ms - this.#meanRunMs)
  }

  /** Jobs to prefetch beyond the free slots: as many as its slots finish within `aheadMs`. */
  ahead(): number {
    if (this.#meanRunMs === undefined || this.#isPrefetchPaused) return 0
    const inMs = (this.#slots * (aheadMs + this.#claimMs)) / Math.max(this.#meanRunMs, 0.001)
    // A job in hand counts as running: where limits bind, it keeps others from running elsewhere.
    const { prefetch } = this.config
    const isBound = this.rules.isLimited && this.isBound
    return Math.min(isBound ? Math.min(prefetch, this.concurrency) : prefetch, Math.floor(inMs))
  }
}
