import type { ClaimedJob, Closed } from '../../jobs/claim.ts'
import { justBefore } from '../../jobs/position.ts'
import type { Position } from '../../jobs/position.ts'
import { Key, turnOf } from './lane-key.ts'
import type { LaneTurn } from './lane-key.ts'

/**
 * Whose turn it is among the keys of one queue.
 *
 * A *lane* is a key and a priority of it; each lane has a floor (floor.ts). The keys that may have work form a ring. A claim
 * takes a share of the next keys of the ring: as many jobs as the key's weight, times a quantum that grows with the claim,
 * because one job of each of 500 lanes costs twice as much as five of each of 100. So a key with a million jobs and a key with
 * ten get the same share of the slots, as long as both have jobs.
 *
 * A key that had nothing waiting goes to the front: it is claimed at once, even when enough jobs of other keys are in hand.
 * In hand, jobs start by their *start tags*: each job of a key is tagged one step behind the job before it, a step being
 * 1 ÷ weight, and no earlier than the job that started last. So a new key is one free slot away from its first start, however
 * many jobs of other keys are in hand.
 *
 * A lane that returns fewer jobs than were asked for is idle until a hint, a survey or a job put back names it. Nothing depends
 * on the ring being right: a survey walks through all lanes of the queue, page by page, and puts the missing ones in.
 *
 * Hints are not to be trusted: any login may send them. So only some keys are believed from hints alone, and a key that turns
 * out to be empty is forgotten.
 */
export class Lanes {
  readonly #weightOf: (key: string) => number
  /** The known keys, the least recently claimed first. */
  readonly #keys = new Map<string, Key>()
  /** Keys that had nothing waiting before: they go first. */
  readonly #fresh = new Set<Key>()
  /** Keys that may have work, the next one first. */
  readonly #ring = new Set<Key>()
  /** The key whose turn the last claim could not use up. */
  #current: Key | undefined
  #guesses = 0
  /** Jobs that a lane gave in the last claim, on average. */
  #perLane = Infinity
  /** The start tag of the job that started last. */
  #time = 0
  /** Counts the claims that found jobs. */
  #claims = 0
  /** Counts the pages of surveys. */
  #page = 0

  readonly #isPaused: (key: string) => boolean
  /** Priorities from here up have reserved slots; Infinity if none has. */
  readonly #reservedFrom: number
  /** Keys that may have jobs of those priorities. */
  readonly #reserved = new Set<Key>()

  constructor(
    weightOf: (key: string) => number = () => 1,
    { isPaused = () => false, reservedFrom = Infinity }: LanesOptions = {},
  ) {
    this.#weightOf = weightOf
    this.#isPaused = isPaused
    this.#reservedFrom = reservedFrom
  }

  /** Whether jobs with keys may wait. */
  get mayHaveWork(): boolean {
    return this.waiting > 0
  }

  /** Counts the claims that found jobs. */
  get claims(): number {
    return this.#claims
  }

  /** Whether it knows any key. */
  get hasKeys(): boolean {
    return this.#keys.size > 0
  }

  /** Keys that may have work. */
  get waiting(): number {
    return this.#fresh.size + this.#ring.size + (this.#current === undefined ? 0 : 1)
  }

  /** Jobs to claim at once for keys that had nothing waiting, even when the hand is full. */
  get urgent(): number {
    let jobs = 0
    for (const { weight } of this.#fresh) if ((jobs += weight) >= fewLanes) break
    return Math.min(jobs, fewLanes)
  }

  /** The lanes to ask next, for `limit` jobs together. */
  next(limit: number, now: number, agingAfterMs: number): LaneTurn[] {
    const turns = new Map<Key, LaneTurn>()
    const most = this.#lanesFor(limit)
    const quantum = Math.max(1, Math.ceil(limit / most))
    let left = limit
    while (left > 0) {
      const key = this.#shift()
      if (key === undefined) break
      const isPaused = this.#isPaused(key.name)
      const turn = turns.get(key) ?? (isPaused ? undefined : turnOf(key, key.floors.next(now, agingAfterMs)))
      if (turn === undefined) {
        this.#rest(key)
        continue
      }
      if (turns.size >= most && !turns.has(key)) {
        this.#goOnWith(key)
        break
      }
      turns.set(key, turn)
      if (key.credit === 0) key.credit = key.weight * quantum
      const take = Math.min(key.credit, left)
      key.credit -= take
      turn.take += take
      left -= take
      if (key.credit > 0) this.#goOnWith(key)
      else this.#ring.add(key)
    }
    return [...turns.values()]
  }

  /** Whether jobs that may take reserved slots may wait. */
  get mayHaveReserved(): boolean {
    return this.#reserved.size > 0
  }

  /** The same as `next`, of the priorities that have reserved slots: one turn of each key that may have such jobs. */
  nextReserved(limit: number, now: number, agingAfterMs: number): LaneTurn[] {
    const turns: LaneTurn[] = []
    let left = limit
    for (const key of [...this.#reserved]) {
      if (left <= 0 || turns.length >= this.#lanesFor(limit)) break
      this.#reserved.delete(key)
      const level = this.#isPaused(key.name)
        ? undefined
        : key.floors.next(now, agingAfterMs, this.#reservedFrom)
      const turn = turnOf(key, level)
      if (turn === undefined) continue
      this.#reserved.add(key)
      turn.take = Math.min(key.weight, left)
      left -= turn.take
      turns.push(turn)
    }
    return turns
  }

  /** A claim of these lanes was answered with these jobs, those of a lane in order. */
  answered(turns: readonly LaneTurn[], jobs: readonly ClaimedJob[]): void {
    const byKey = jobsByKey(jobs)
    for (const turn of turns) {
      const { key, level, take, hints } = turn
      const found = byKey.get(key.name) ?? []
      turn.isShort = found.length < take
      this.#moved(key, found.length)
      key.floors.claimed(level, found.at(-1), { isFull: !turn.isShort, hints })
      if (!key.floors.mayHaveWork) this.#rest(key)
    }
    this.#counted(turns, jobs)
  }

  /**
   * The same under limits. A key whose limit is reached is closed: it leaves the ring until one of its jobs ends here, or a
   * survey finds it again. A key that returned less than asked may have more jobs when something else kept them back.
   */
  answeredUnderLimits(
    turns: readonly LaneTurn[],
    jobs: readonly ClaimedJob[],
    { keys: closed, gaps, isFull, isOrdered, isSlow }: Closed & { isOrdered: boolean; isSlow: boolean },
  ): void {
    const byKey = jobsByKey(jobs)
    for (const turn of turns) {
      const { key, level, take, hints } = turn
      const found = byKey.get(key.name) ?? []
      const last = gaps.has(key.name) ? undefined : found.at(-1)
      const floor = isOrdered ? orderedFloor(last, isSlow) : last
      const mayHaveMore = found.length >= take || isFull || closed.has(key.name) || isOrdered
      this.#moved(key, found.length)
      key.floors.claimed(level, floor, { isFull: mayHaveMore, hints })
      if (closed.has(key.name) || isOrdered) this.#close(key)
      else if (!key.floors.mayHaveWork) this.#rest(key)
    }
    this.#counted(turns, jobs)
  }

  /** A job of this key has ended here: its limit may have room again. It waits for its turn behind the others. */
  reopen(name: string): void {
    const key = this.#keys.get(name)
    if (key === undefined || key.closedAt === undefined) return
    key.closedAt = undefined
    key.isWaiting = true
    this.#ring.add(key)
    if (key.floors.mayHaveWorkFrom(this.#reservedFrom)) this.#reserved.add(key)
  }

  #close(key: Key): void {
    this.#rest(key)
    key.closedAt = performance.now()
  }

  #moved(key: Key, found: number): void {
    key.noteFloors(this.#page)
    if (found > 0) this.#prove(key)
    if (this.#keys.delete(key.name)) this.#keys.set(key.name, key)
  }

  #counted(turns: readonly LaneTurn[], jobs: readonly ClaimedJob[]): void {
    this.#perLane = jobs.length / turns.length
    if (jobs.length > 0) this.#claims++
  }

  /** A claim of these lanes failed: they are still to be asked. */
  failed(turns: readonly LaneTurn[]): void {
    for (const { key, level } of turns) {
      level.hint()
      this.#enter(key, level.priority)
    }
  }

  /** Jobs of a key were stored. False where too many keys are known from hints alone: a survey has to find out. */
  hint(name: string, priority: number): boolean {
    const known = this.#keys.get(name)
    if (known === undefined && this.#guesses >= mostGuesses) return false
    const key = known ?? this.#add(name)
    if (key === undefined || !key.floors.hint(priority)) return false
    this.#enter(key, priority)
    return true
  }

  /** A job of this key is there to claim at this position. */
  lower(name: string, priority: number, position: Position): void {
    const key = this.#keys.get(name) ?? this.#add(name)
    if (key === undefined) return
    this.#prove(key)
    key.closedAt = undefined
    key.floors.lower(priority, position)
    this.#enter(key, priority)
  }

  /** The weights may have changed: all known keys get theirs anew. */
  weigh(): void {
    for (const key of this.#keys.values()) key.weight = this.#weightOf(key.name)
  }

  /** A survey reads a page of lanes now: floors that claims move meanwhile are noted. */
  beginPage(): void {
    this.#page++
  }

  /** The first job that the survey found in a lane. */
  found({ key: name, priority, head, since }: FoundLane): void {
    const key = this.#keys.get(name) ?? this.#add(name)
    // There is no room to know of it: a later walk finds it again.
    if (key === undefined) return
    this.#prove(key)
    const before = key.floorsAt(this.#page).get(priority)
    key.floors.found(priority, head, { since, before })
    if (key.closedAt === undefined) this.#enter(key, priority)
    else if (performance.now() - key.closedAt > closedMs) this.reopen(name)
  }

  /** The start tag of a claimed job of this key. */
  tag(name: string): number {
    const key = this.#keys.get(name)
    return key === undefined ? this.#time : key.nextTag(this.#time)
  }

  /** A job with this tag has started. */
  started(tag: number): void {
    this.#time = Math.max(this.#time, tag)
  }

  /** Few lanes with several jobs each are cheaper; where lanes have one job each, more lanes make up for it. */
  #lanesFor(limit: number): number {
    return Math.max(fewLanes, Math.min(mostLanes, limit / Math.max(1, this.#perLane)))
  }

  #shift(): Key | undefined {
    const [fresh] = this.#fresh
    if (fresh !== undefined) {
      this.#fresh.delete(fresh)
      return fresh
    }
    const [first] = this.#ring
    const key = this.#current ?? first
    if (key === undefined) return undefined
    if (key === this.#current) this.#current = undefined
    else this.#ring.delete(key)
    return key
  }

  /** The next claim begins with this key. A key that had to wait for new ones comes last: it has had part of its turn. */
  #goOnWith(key: Key): void {
    if (this.#current !== undefined) this.#ring.add(this.#current)
    this.#current = key
  }

  /** The key may have work of this priority: it waits for its turn, at the front where it had nothing before. */
  #enter(key: Key, priority: number): void {
    if (key.closedAt !== undefined) return
    if (priority >= this.#reservedFrom) this.#reserved.add(key)
    if (key.isWaiting) return
    key.isWaiting = true
    this.#fresh.add(key)
  }

  /** The key has nothing to claim, as far as is known. */
  #rest(key: Key): void {
    key.isWaiting = false
    key.credit = 0
    this.#fresh.delete(key)
    this.#ring.delete(key)
    this.#reserved.delete(key)
    if (this.#current === key) this.#current = undefined
    if (key.isProven) return
    this.#keys.delete(key.name)
    this.#guesses--
  }

  #prove(key: Key): void {
    if (key.isProven) return
    key.isProven = true
    this.#guesses--
  }

  #add(name: string): Key | undefined {
    if (this.#keys.size >= mostKeys) this.#forgetResting()
    if (this.#keys.size >= mostKeys) return undefined
    const key = new Key(name, this.#weightOf(name))
    this.#keys.set(name, key)
    this.#guesses++
    return key
  }

  /** Makes room for a thousand keys, of those that wait for nothing. */
  #forgetResting(): void {
    let room = 1_000
    for (const [name, key] of this.#keys) {
      if (key.isWaiting) continue
      this.#keys.delete(name)
      if (--room === 0) return
    }
  }
}

/** Lanes that one claim asks, usually and at most. */
const fewLanes = 100
const mostLanes = 500
/** Keys that are known at once; beyond these the survey finds them in turn. */
const mostKeys = 100_000
/** How long a closed key is not asked on the word of surveys: jobs of other processes keep its limit reached. */
const closedMs = 500
/** Keys that are asked on the word of hints alone. */
const mostGuesses = 1_000

interface LanesOptions {
  isPaused?: (key: string) => boolean
  reservedFrom?: number
}

/** What a survey found of one lane. */
export interface FoundLane {
  readonly key: string
  readonly priority: number
  readonly head: Position
  /** When its first job became ready, by this process's clock. */
  readonly since: number
}

/**
 * The floor of an ordered key. Its first live job stays the first until it has ended, so the floor must not hide it. It is
 * raised only where a claim had to read past much: a replay brings back a job that comes before all others.
 */
function orderedFloor(last: Position | undefined, isSlow: boolean): Position | undefined {
  return last !== undefined && isSlow ? justBefore(last) : undefined
}

function jobsByKey(jobs: readonly ClaimedJob[]): Map<string | null, ClaimedJob[]> {
  const byKey = new Map<string | null, ClaimedJob[]>()
  for (const job of jobs) {
    const known = byKey.get(job.key)
    if (known === undefined) byKey.set(job.key, [job])
    else known.push(job)
  }
  return byKey
}
