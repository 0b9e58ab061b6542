import { isBefore, isUsualTime, justBefore, start } from '../../jobs/search/position.ts'
import type { Position } from '../../jobs/search/position.ts'

/**
 * Where this process goes on claiming, for each priority of one queue.
 *
 * A claim scans an index from oldest to newest. What was claimed leaves the index only when the vacuum may remove it,
 * which it may not while a session holds an old snapshot (a long report, a lagging replica): then every scan from the
 * start meets every job that ever ran, and a queue that kept up at noon does not at one. So a claim starts at the
 * *floor*, the place where the last one ended.
 *
 * Nothing depends on the floor being right. Jobs appear below it all the time: transactions that commit late, replays,
 * jobs given back. A survey from the very start, on a timer paced by its own cost, finds the first job that is there
 * to claim and lowers the floor to it; the code that puts a job back tells its floor directly. A floor that is too low costs
 * a longer scan, one that is too high a little patience, and neither costs a job.
 *
 * `mayHaveMore` is the other half: a priority that came back short is not asked again until something says that it
 * may have work, be it a hint, the poll or the survey.
 *
 * Hints are not to be trusted: any login may send them. So a few priorities at most are asked on the word of a hint
 * alone, and a priority that comes back empty is asked again only after the others had their turn: until a claim finds
 * jobs, or all have been asked. However many hints arrive, the jobs that are there are found.
 */
export class Floors {
  readonly #levels = new Map<number, Level>()
  /** Priorities that came back empty in this round. */
  readonly #empty = new Set<number>()

  /** The priority to claim from next: one that has aged, else the highest that may have work. */
  next(now: number, agingAfterMs: number): Level | undefined {
    const agedBefore = now - agingAfterMs
    const best = this.#best(agedBefore)
    if (best !== undefined || this.#empty.size === 0) return best
    this.#beginRound()
    return this.#best(agedBefore)
  }

  #best(agedBefore: number): Level | undefined {
    let best: Level | undefined
    for (const level of this.#levels.values()) {
      if (!level.mayHaveMore || this.#empty.has(level.priority)) continue
      if (best === undefined || isServedBefore(level, best, agedBefore)) best = level
    }
    return best
  }

  get mayHaveWork(): boolean {
    for (const level of this.#levels.values()) if (level.mayHaveMore) return true
    return false
  }

  /**
   * Something was stored at this priority, somewhere above what we have seen. False where too many priorities are known
   * from hints alone to believe one more: a survey has to find out.
   */
  hint(priority: number): boolean {
    const level = this.#levels.get(priority) ?? this.#guess(priority)
    level?.hint()
    return level !== undefined
  }

  /** Asks every known priority again. */
  probe(): void {
    for (const level of this.#levels.values()) level.hint()
  }

  /** A job is there to claim at this place; begin there or before. */
  lower(priority: number, position: Position): void {
    const level = this.#proven(priority)
    if (level === undefined) return
    if (!isBefore(level.floor, position)) level.floor = justBefore(position)
    level.hint()
  }

  /** A claim from the floor of this priority came to this place, and was full or not. */
  claimed(
    level: Level,
    last: Position | undefined,
    { isFull, hints }: { isFull: boolean; hints: number },
  ): void {
    level.claimed(last, { isFull, hints })
    if (last !== undefined) level.isProven = true
    else this.#empty.add(level.priority)
    if (last !== undefined || !this.mayHaveWork) this.#beginRound()
  }

  /** Claims of this priority fail because of a value: not asked again before a survey finds a job there. */
  drop(priority: number): void {
    this.#levels.delete(priority)
  }

  /** The floors as they are, for a survey to be compared with: claims go on while it looks. */
  snapshot(): Map<number, FloorBefore> {
    return new Map(
      [...this.#levels.values()].map(({ priority, floor, raises }) => [priority, { floor, raises }]),
    )
  }

  /** What a survey found first at a priority, against the floors it began with. */
  found(
    priority: number,
    head: Position,
    { since, before }: { since: number; before: FloorBefore | undefined },
  ): void {
    const level = this.#proven(priority)
    if (level === undefined) return
    level.waitingSince = since
    // Claims have gone on from below it, and taken it if they passed it. A raise takes nothing.
    const wasBelow = before !== undefined && isBefore(before.floor, head) && level.raises === before.raises
    if (wasBelow) level.hint()
    else this.lower(priority, head)
  }

  /** A survey found nothing to claim at the priorities it did not name. */
  forget(named: ReadonlySet<number>): void {
    for (const level of this.#levels.values()) if (!named.has(level.priority)) level.waitingSince = undefined
  }

  /** All may be asked again. Priorities that only hints told of and that had nothing are forgotten. */
  #beginRound(): void {
    for (const priority of this.#empty) {
      const level = this.#levels.get(priority)
      if (level?.isProven === false && !level.mayHaveMore) this.#levels.delete(priority)
    }
    this.#empty.clear()
  }

  #guess(priority: number): Level | undefined {
    let guesses = 0
    for (const { isProven } of this.#levels.values())
      if (!isProven && ++guesses === mostGuesses) return undefined
    return this.#add(priority)
  }

  /** A job was seen there. Undefined where there is no room to know of it: the next survey tells again. */
  #proven(priority: number): Level | undefined {
    const level = this.#levels.get(priority) ?? this.#add(priority)
    if (level !== undefined) level.isProven = true
    return level
  }

  #add(priority: number): Level | undefined {
    if (this.#levels.size >= mostLevels) {
      for (const one of this.#levels.values()) if (!one.mayHaveMore) this.#levels.delete(one.priority)
      if (this.#levels.size >= mostLevels) return undefined
    }
    const level = new Level(priority)
    this.#levels.set(priority, level)
    return level
  }
}

/** Priorities that are asked on the word of hints alone: each costs a claim. */
const mostGuesses = 16
/** Producers have 201; rows that others wrote may have 65,536. */
const mostLevels = 512

/** A floor as it was when a survey began. */
export interface FloorBefore {
  readonly floor: Position
  readonly raises: number
}

export class Level {
  readonly priority: number
  floor: Position = start
  mayHaveMore = false
  /** A job was seen at this priority: it is known from more than hints. */
  isProven = false
  /** Counts what was said of it: a hint that comes while a claim is under way is not forgotten when that ends. */
  hints = 0
  /** Counts how often the floor was raised past jobs that were not taken. */
  raises = 0
  /** Since when its oldest job waits, as the last survey saw it. */
  waitingSince: number | undefined

  constructor(priority: number) {
    this.priority = priority
  }

  /** Whether its oldest job has waited so long that it goes before higher ones. */
  hasAged(now: number, agingAfterMs: number): boolean {
    return agedSince(this, now - agingAfterMs) < Infinity
  }

  /** It may have work. */
  hint(): void {
    this.hints++
    this.mayHaveMore = true
  }

  claimed(last: Position | undefined, { isFull, hints }: { isFull: boolean; hints: number }): void {
    if (last !== undefined && isBefore(this.floor, last) && !isAhead(last)) this.floor = last
    this.mayHaveMore = isFull || this.hints !== hints
    this.waitingSince = undefined
  }

  /** Nothing up to here is for us. */
  raise(position: Position): void {
    if (!isBefore(this.floor, position)) return
    this.floor = position
    this.raises++
  }
}

/**
 * Whether a job's time is not to come for a day: a ready job has no such time, unless the row was written by hand. A
 * floor up there would hide all other jobs from claims.
 */
function isAhead({ runAt }: Position): boolean {
  return !isUsualTime(runAt) || runAt.slice(0, 10) > new Date(Date.now() + dayMs).toISOString().slice(0, 10)
}

const dayMs = 86_400_000

function isServedBefore(a: Level, b: Level, agedBefore: number): boolean {
  const aSince = agedSince(a, agedBefore)
  const bSince = agedSince(b, agedBefore)
  return aSince === bSince ? a.priority > b.priority : aSince < bSince
}

/** Since when it waits, where that is too long; else never. */
function agedSince({ waitingSince = Infinity }: Level, agedBefore: number): number {
  return waitingSince < agedBefore ? waitingSince : Infinity
}
