import { binCount, binOf, mergeBins, toBins } from '../../core/histogram.ts'
import type { Bins } from '../../core/histogram.ts'
import { claimWays } from '../../jobs/leases/claim-figures.ts'
import type { ClaimWay } from '../../jobs/leases/claim-figures.ts'

type Counts = Partial<Record<ClaimWay, Uint32Array>>

const halfMs = 30_000

/** How long the claims of the last 30 to 60 seconds took. A heartbeat stores it; nothing is written per claim. */
export class ClaimTimes {
  #counts: Counts = {}
  #before: Counts = {}
  #endsAt = performance.now() + halfMs

  took(way: ClaimWay, ms: number): void {
    this.#turn()
    const counts = (this.#counts[way] ??= new Uint32Array(binCount))
    const bin = binOf(ms)
    counts[bin] = (counts[bin] ?? 0) + 1
  }

  /** Of the ways that were used. */
  ways(): Partial<Record<ClaimWay, Bins>> {
    this.#turn()
    const used = claimWays.flatMap((way) => {
      const halves = [this.#counts[way], this.#before[way]].filter((counts) => counts !== undefined)
      return halves.length === 0 ? [] : [[way, mergeBins(...halves.map(toBins))] as const]
    })
    return Object.fromEntries(used)
  }

  #turn(): void {
    const now = performance.now()
    if (now < this.#endsAt) return
    this.#before = now < this.#endsAt + halfMs ? this.#counts : {}
    this.#counts = {}
    this.#endsAt = now + halfMs
  }
}
