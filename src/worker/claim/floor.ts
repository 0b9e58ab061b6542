import { isBefore, isUsualTime, justBefore, start } from '../../jobs/position.ts'
import type { Position } from '../../jobs/position.ts'

/**
 * Where this process goes on claiming, for each priority of one queue.
 *
 * A claim scans an index from oldest to newest. Entries of claimed jobs leave the index only when vacuum may remove
 * them, and it may not while a session holds an old snapshot (a long report, a lagging replica): then every scan from
 * the start reads every job that ever ran, and a queue that kept up at noon does not at one. So a claim starts at the
 * *floor*, the position where the last one ended.
 *
 * Nothing depends on the floor being right. Jobs appear below it all the time: transactions that commit late, replays,
 * jobs given back. A survey from the very start, on a timer paced by its own cost, finds the first claimable job and
 * lowers the floor to it; the code that puts a job back lowers its floor directly. A floor that is too low costs a
 * longer scan, a floor that is too high costs a little time, and neither loses a job.
 *
 * `mayHaveMore` is the other half: after a claim that was not full, its priority is not claimed from again until a
 * hint, the poll or the survey says that it may have work.
 *
 * Hints are not to be trusted: any login may send them. So only a few priorities are claimed from because of a hint
 * alone, and a priority without jobs is claimed from again only after the others had their turn: until a claim finds
 * jobs, or all have been tried. However many hints arrive, the claimable jobs are found.
 */
export class Floors {
  readonly #levels = new Map<number, Level>()
  /** Priorities that had no jobs in this round. */
  readonly #empty = new Set<number>()

  /** The priority to claim from next, from `least` up: one that has aged, else the highest that may have work. */
  next(now: number, agingAfterMs: number, least = -Infinity): Level | undefined {
    const agedBefore = now - agingAfterMs
    const best = this.#best(agedBefore, least)
    if (best !== undefined || this.#empty.size === 0) return best
    this.#beginRound()
    return this.#best(agedBefore, least)
  }

  #best(agedBefore: number, least: number): Level | undefined {
    let best: Level | undefined
    for (const level of this.#levels.values()) {
      if (!level.mayHaveMore || level.priority < least || this.#empty.has(level.priority)) continue
      if (best === undefined || isServedBefore(level, best, agedBefore)) best = level
    }
    return best
  }

  get mayHaveWork(): boolean {
    return this.mayHaveWorkFrom(-Infinity)
  }

  /** Whether a priority from `least` up may have work. */
  mayHaveWorkFrom(least: number): boolean {
    for (const level of this.#levels.values()) if (level.mayHaveMore && level.priority >= least) return true
    return false
  }

  /**
   * A job was stored at this priority, above the jobs that we have seen. False if too many priorities are known from
   * hints alone to believe one more: then a survey has to find out.
   */
  hint(priority: number): boolean {
    const level = this.#levels.get(priority) ?? this.#guess(priority)
    level?.hint()
    return level !== undefined
  }

  /** Marks every known priority to be tried again. */
  probe(): void {
    for (const level of this.#levels.values()) level.hint()
  }

  /** There is a claimable job at this position: the next claim starts there or before. */
  lower(priority: number, position: Position): void {
    const level = this.#proven(priority)
    if (level === undefined) return
    if (!isBefore(level.floor, position)) level.floor = justBefore(position)
    level.hint()
  }

  /** A claim from the floor of this priority ended at this position, and was full or not. */
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

  /** Claims of this priority fail because of a value: it is not tried again before a survey finds a job there. */
  drop(priority: number): void {
    this.#levels.delete(priority)
  }

  /** A copy of the floors, for comparison when a survey ends: claims go on meanwhile. */
  snapshot(): Map<number, FloorBefore> {
    return new Map(
      [...this.#levels.values()].map(({ priority, floor, raises }) => [priority, { floor, raises }]),
    )
  }

  /** The first job that a survey found at a priority, compared with the floors at its begin. */
  found(
    priority: number,
    head: Position,
    { since, before }: { since: number; before: FloorBefore | undefined },
  ): void {
    const level = this.#proven(priority)
    if (level === undefined) return
    level.waitingSince = since
    // Claims have gone on from below this job, and have taken it if they passed it. A raise takes no job.
    const wasBelow = before !== undefined && isBefore(before.floor, head) && level.raises === before.raises
    if (wasBelow) level.hint()
    else this.lower(priority, head)
  }

  /** A survey found nothing to claim at the priorities it did not name. */
  forget(named: ReadonlySet<number>): void {
    for (const level of this.#levels.values()) if (!named.has(level.priority)) level.waitingSince = undefined
  }

  /** All priorities may be tried again. Those that are known from hints alone and had no jobs are forgotten. */
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

  /** A job was seen at this priority. Undefined if there is no room to remember it: the next survey finds it again. */
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

/** Priorities that are tried because of hints alone: each costs a claim. */
const mostGuesses = 16
/** Enqueue allows 201 priorities; rows that were written by hand may have 65,536. */
const mostLevels = 512

/** A floor at the begin of a survey. */
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
  /** Counts hints: a hint that comes while a claim is under way is not forgotten when the claim ends. */
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

  /** No job up to this position is for us. */
  raise(position: Position): void {
    if (!isBefore(this.floor, position)) return
    this.floor = position
    this.raises++
  }
}

/**
 * Whether the job's time is more than a day ahead: a ready job has no such time, unless its row was written by hand. A
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

/** Since when its oldest job waits, if that is too long; otherwise Infinity. */
function agedSince({ waitingSince = Infinity }: Level, agedBefore: number): number {
  return waitingSince < agedBefore ? waitingSince : Infinity
}
