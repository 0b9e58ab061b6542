import type { HeldJob } from '../attempt/held-job.ts'

/**
 * Claimed jobs of one rank that wait for a slot. Jobs without a key start in the order in which they came, jobs with a key by
 * their start tags (lanes.ts). Where there are both, they take turns.
 */
export class Hand {
  #plain: HeldJob[] = []
  /** By tag; those of one tag as they came. */
  #keyed: Tagged[] = []
  #wasKeyed = false

  get size(): number {
    return this.#plain.length + this.#keyed.length
  }

  add(held: HeldJob): void {
    this.#plain.push(held)
  }

  addTagged(held: HeldJob, tag: number): void {
    let at = this.#keyed.length
    while (at > 0 && (this.#keyed[at - 1]?.tag ?? 0) > tag) at--
    this.#keyed.splice(at, 0, { held, tag })
  }

  /** The job to start next. Calls `onTag` with the tag of a job that has a key. */
  take(onTag: (tag: number) => void): HeldJob | undefined {
    if (this.#keyed.length === 0) return this.#plain.shift()
    this.#wasKeyed = this.#plain.length === 0 || !this.#wasKeyed
    if (!this.#wasKeyed) return this.#plain.shift()
    const { held, tag } = this.#keyed.shift() ?? {}
    if (tag !== undefined) onTag(tag)
    return held
  }

  /** Takes out the jobs that satisfy a test, at most `limit`, in order. */
  takeWhere(test: (held: HeldJob) => boolean, limit: number): HeldJob[] {
    const taken: HeldJob[] = []
    const isKept = (held: HeldJob): boolean => {
      const isTaken = taken.length < limit && test(held)
      if (isTaken) taken.push(held)
      return !isTaken
    }
    this.#plain = this.#plain.filter(isKept)
    this.#keyed = this.#keyed.filter(({ held }) => isKept(held))
    return taken
  }
}

interface Tagged {
  held: HeldJob
  tag: number
}

/** The hand of a rank. */
export function handOf(hands: Map<number, Hand>, rank: number): Hand {
  let hand = hands.get(rank)
  if (hand === undefined) hands.set(rank, (hand = new Hand()))
  return hand
}

/** The highest rank that has jobs. */
export function highest(hands: ReadonlyMap<number, Hand>): number | undefined {
  let best: number | undefined
  for (const [rank, hand] of hands) {
    if (hand.size > 0 && (best === undefined || rank > best)) best = rank
  }
  return best
}
