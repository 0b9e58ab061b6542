/**
 * A breaker that this worker probes: it claims a few jobs of the kinds that all other workers leave alone, and says how they
 * ended.
 */
export class Probe {
  readonly name: string
  readonly counts: readonly unknown[]
  /** Probes to start. */
  left: number
  /** Probes that succeeded, to be written. */
  succeeded = 0
  /** The error of a probe that failed, to be written; the probe is over. */
  failure: { error: string; fingerprint?: string } | undefined
  readonly #jobs = new Set<string>()
  /** When its lease ends, unless probes run and it is renewed. */
  endsAt: number
  /** When a claim may ask for jobs of its kinds. */
  nextTryAt = 0

  constructor(
    name: string,
    { left, counts, endsAt }: { left: number; counts: readonly unknown[]; endsAt: number },
  ) {
    this.name = name
    this.left = left
    this.counts = counts
    this.endsAt = endsAt
  }

  get isRunning(): boolean {
    return this.#jobs.size > 0
  }

  /** Whether a claim may ask for jobs of its kinds now. */
  mayClaim(now: number): boolean {
    return this.left > 0 && this.failure === undefined && now < this.endsAt && now >= this.nextTryAt
  }

  /** A claim asks for this many jobs: no other claim may ask for the same probes. */
  reserve(count: number): void {
    this.left -= count
  }

  /** The claim is answered with these jobs. */
  claimed(reserved: number, ids: readonly string[], now: number): void {
    this.left += reserved - ids.length
    for (const id of ids) this.#jobs.add(id)
    if (ids.length === 0) this.nextTryAt = now + restMs
  }

  has(id: string): boolean {
    return this.#jobs.has(id)
  }

  /** A probe has ended, and said nothing about the downstream: another takes its place. */
  replace(id: string): void {
    if (this.#jobs.delete(id)) this.left++
  }

  passed(id: string): void {
    if (this.#jobs.delete(id)) this.succeeded++
  }

  failed(id: string, failure: { error: string; fingerprint?: string }): void {
    if (this.#jobs.delete(id)) this.failure = failure
  }
}

/** After a claim that found no job to probe with, the next one waits for this long. */
const restMs = 200

/** The breakers that this worker probes, by name. */
export type Probes = ReadonlyMap<string, Probe>
