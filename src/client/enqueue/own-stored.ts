/** How long what was stored is added up before a new sum begins: the error of `since()`. */
const sliceMs = 100

interface Slice {
  startedAt: number
  /** When the last of them was stored. */
  endedAt: number
  jobs: number
  readonly keys: Map<string, number>
}

/** The jobs of one enqueue, with their keys where those count. */
export interface Sent {
  readonly jobs: number
  readonly keys: ReadonlyMap<string, number>
}

/** What this process sent into a queue and the last count may have missed: a few sums, however many jobs it sends. */
export class OwnStored {
  #slices: Slice[] = []
  /** Sent, and not yet answered. */
  #underWay = { jobs: 0, keys: new Map<string, number>() }
  #sum = 0
  #keySums = new Map<string, number>()

  /** Jobs since the count. */
  get jobs(): number {
    return this.#underWay.jobs + this.#sum
  }

  ofKey(key: string): number {
    return (this.#underWay.keys.get(key) ?? 0) + (this.#keySums.get(key) ?? 0)
  }

  begin({ jobs, keys }: Sent): void {
    this.#underWay.jobs += jobs
    add(this.#underWay.keys, keys, 1)
  }

  end({ jobs, keys }: Sent, isStored: boolean): void {
    this.#underWay.jobs -= jobs
    add(this.#underWay.keys, keys, -1)
    if (!isStored) return
    const now = performance.now()
    let last = this.#slices.at(-1)
    if (last === undefined || now - last.startedAt > sliceMs) {
      last = { startedAt: now, endedAt: now, jobs: 0, keys: new Map() }
      this.#slices.push(last)
    }
    last.endedAt = now
    last.jobs += jobs
    add(last.keys, keys, 1)
    this.#sum += jobs
    add(this.#keySums, keys, 1)
  }

  /** The count includes all that was stored until then. */
  countedAt(at: number): void {
    this.#slices = this.#slices.filter(({ endedAt }) => endedAt >= at)
    this.#sum = this.#slices.reduce((sum, { jobs }) => sum + jobs, 0)
    this.#keySums = new Map()
    for (const { keys } of this.#slices) add(this.#keySums, keys, 1)
  }
}

function add(sums: Map<string, number>, keys: ReadonlyMap<string, number>, sign: 1 | -1): void {
  for (const [key, jobs] of keys) {
    const sum = (sums.get(key) ?? 0) + sign * jobs
    if (sum === 0) sums.delete(key)
    else sums.set(key, sum)
  }
}
