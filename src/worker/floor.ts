import { isBefore, justBefore, start } from '../jobs/position.ts'
import type { Position } from '../jobs/position.ts'

/**
 * Where this process goes on claiming, for each priority of one queue.
 *
 * A claim scans an index from oldest to newest. What was claimed leaves the index only when the vacuum may remove it,
 * which it may not while somebody holds an old snapshot (a long report, a lagging replica): then every scan from the
 * start meets every job that ever ran, and a queue that kept up at noon does not at one. So a claim starts at the
 * *floor*, the place where the last one ended.
 *
 * Nothing depends on the floor being right. Jobs appear below it all the time: transactions that commit late, replays,
 * jobs given back. A survey from the very start, on a timer paced by its own cost, finds the first job that is there
 * to claim and lowers the floor to it; whoever puts a job back tells its floor directly. A floor that is too low costs
 * a longer scan, one that is too high a little patience, and neither costs a job.
 *
 * `mayHaveMore` is the other half: a priority that came back short is not asked again until something says that it
 * may have work, be it a hint, the poll or the survey.
 */
export class Floors {
  readonly #levels = new Map<number, Level>()

  /** The priority to claim from next: one that has aged, else the highest that may have work. */
  next(now: number, agingAfterMs: number): Level | undefined {
    let best: Level | undefined
    for (const level of this.#levels.values()) {
      if (!level.mayHaveMore) continue
      if (best === undefined || isServedBefore(level, best, now - agingAfterMs)) best = level
    }
    return best
  }

  get mayHaveWork(): boolean {
    for (const level of this.#levels.values()) if (level.mayHaveMore) return true
    return false
  }

  /** Something was stored at this priority, somewhere above what we have seen. */
  hint(priority: number): void {
    const level = this.#level(priority)
    level.hints++
    level.mayHaveMore = true
  }

  /** Asks every known priority again. */
  probe(): void {
    for (const { priority } of this.#levels.values()) this.hint(priority)
  }

  /** A job is there to claim at this place; begin there or before. */
  lower(priority: number, position: Position): void {
    const level = this.#level(priority)
    if (!isBefore(level.floor, position)) level.floor = justBefore(position)
    this.hint(priority)
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
    const level = this.#level(priority)
    level.waitingSince = since
    // Claims have gone on from below it, and taken it if they passed it. A raise takes nothing.
    const wasBelow = before !== undefined && isBefore(before.floor, head) && level.raises === before.raises
    if (wasBelow) this.hint(priority)
    else this.lower(priority, head)
  }

  /** A survey found nothing to claim at the priorities it did not name. */
  forget(named: ReadonlySet<number>): void {
    for (const level of this.#levels.values()) if (!named.has(level.priority)) level.waitingSince = undefined
  }

  #level(priority: number): Level {
    let level = this.#levels.get(priority)
    if (level === undefined) this.#levels.set(priority, (level = new Level(priority)))
    return level
  }
}

/** A floor as it was when a survey began. */
export interface FloorBefore {
  readonly floor: Position
  readonly raises: number
}

export class Level {
  readonly priority: number
  floor: Position = start
  mayHaveMore = false
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

  /** A claim from the floor came to this place, and was full or not. */
  claimed(last: Position | undefined, { isFull, hints }: { isFull: boolean; hints: number }): void {
    if (last !== undefined && isBefore(this.floor, last)) this.floor = last
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

function isServedBefore(a: Level, b: Level, agedBefore: number): boolean {
  const aSince = agedSince(a, agedBefore)
  const bSince = agedSince(b, agedBefore)
  return aSince === bSince ? a.priority > b.priority : aSince < bSince
}

/** Since when it waits, where that is too long; else never. */
function agedSince({ waitingSince = Infinity }: Level, agedBefore: number): number {
  return waitingSince < agedBefore ? waitingSince : Infinity
}
