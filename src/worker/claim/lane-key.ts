import type { Lane } from '../../jobs/claim.ts'
import { Floors } from './floor.ts'
import type { FloorBefore, Level } from './floor.ts'

/** A key of a queue, as its ring knows it (lanes.ts). */
export class Key {
  readonly name: string
  weight: number
  readonly floors = new Floors()
  /** A job of this key was seen: it is known from more than hints. */
  isProven = false
  isWaiting = false
  /** When its limit was found to be reached; undefined unless it is closed. */
  closedAt: number | undefined
  /** Jobs that it may still take in its turn. */
  credit = 0
  #tag = 0
  /** The floors as they were when the survey's page `#page` began. */
  #before: ReadonlyMap<number, FloorBefore> | undefined
  #page = 0

  constructor(name: string, weight: number) {
    this.name = name
    this.weight = weight
  }

  nextTag(time: number): number {
    const tag = Math.max(time, this.#tag)
    this.#tag = tag + 1 / this.weight
    return tag
  }

  /** Its floors are about to move. */
  noteFloors(page: number): void {
    if (this.#page === page) return
    this.#page = page
    this.#before = this.floors.snapshot()
  }

  /** Its floors as they were when this page began. */
  floorsAt(page: number): ReadonlyMap<number, FloorBefore> {
    return this.#page === page && this.#before !== undefined ? this.#before : this.floors.snapshot()
  }
}

/** What a claim asks of one key. */
export interface LaneTurn {
  readonly key: Key
  readonly level: Level
  readonly hints: number
  take: number
  /** It returned fewer jobs than it was asked for. */
  isShort: boolean
}

/** Undefined where the key has nothing to claim. */
export function turnOf(key: Key, level: Level | undefined): LaneTurn | undefined {
  return level === undefined ? undefined : { key, level, hints: level.hints, take: 0, isShort: false }
}

/** A lane as the statements take it. */
export function laneOf({ key, level, take }: LaneTurn): Lane {
  return { key: key.name, priority: level.priority, floor: level.floor, take }
}
