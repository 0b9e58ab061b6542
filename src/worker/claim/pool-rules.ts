import { noRules } from '../../jobs/queue-rules.ts'
import type { OpenBreaker, QueueRules, RetryBudget } from '../../jobs/queue-rules.ts'
import type { Probe, Probes } from './probes.ts'

/** A pause that began or ended: of the queue, or of one kind or key of it. */
export interface PauseChange {
  readonly type: 'paused' | 'resumed'
  readonly kind: string | null
  readonly key: string | null
}

/**
 * The rules of flow control for one queue, as this worker last read them. They save claims that would find nothing: that a
 * paused queue gives no job and that no limit is passed is decided by the statements themselves. Paused kinds and keys are
 * held back here alone; so a queue counts as paused until its rules are read for the first time.
 */
export class PoolRules {
  readonly #probes: Probes
  #rules: QueueRules = noRules
  #isKnown = false
  #pausedUntil = Infinity
  #pausedKinds: ReadonlySet<string> = new Set()
  #pausedKeys: ReadonlySet<string> = new Set()
  #keyWeights: ReadonlyMap<string, number> = new Map()
  /** The kinds to claim, as JSON, and the JSON of all kinds that they were made of. */
  #kinds = { all: '', open: '' }
  #hasNews = false
  #pauseEndsAt = Infinity
  #readAt = 0
  readonly #tripped = new Map<string, { breaker: OpenBreaker; at: number }>()

  constructor(probes: Probes = new Map()) {
    this.#probes = probes
  }

  /** The rules as they have just been read. Returns the pauses that began or ended. */
  set(read: QueueRules, now: number): PauseChange[] {
    const rules = this.#withTripped(read, now)
    const before = this.#rules
    this.#rules = rules
    this.#isKnown = true
    this.#readAt = now
    this.#pausedUntil = now + rules.pausedForMs
    this.#pauseEndsAt = now + rules.pauseEndsInMs
    const wasPaused = before.pausedForMs > 0
    const isPaused = rules.pausedForMs > 0
    if (textOf(rules) !== textOf(before)) {
      this.#pausedKinds = new Set(rules.pausedKinds)
      this.#pausedKeys = new Set(rules.pausedKeys)
      this.#keyWeights = new Map(Object.entries(rules.keyWeights))
      this.#kinds = { all: '', open: '' }
      this.#hasNews = true
    } else if (isPaused === wasPaused) return []
    if (isPaused && !wasPaused) this.#hasNews = true
    return [
      ...changesOf(wasPaused ? [null] : [], isPaused ? [null] : [], () => ({ kind: null, key: null })),
      ...changesOf(before.pausedKinds, rules.pausedKinds, (kind) => ({ kind, key: null })),
      ...changesOf(before.pausedKeys, rules.pausedKeys, (key) => ({ kind: null, key })),
    ]
  }

  /** A breaker that this worker has just opened. */
  tripped(breaker: OpenBreaker, now: number): void {
    this.#tripped.set(breaker.name, { breaker, at: now })
    this.set(this.#rules, now)
  }

  /** A survey that began before a breaker was opened does not know of it. */
  #withTripped(rules: QueueRules, now: number): QueueRules {
    for (const [name, { at }] of this.#tripped)
      if (now - at > trippedMs || rules.breakers.some((known) => known.name === name))
        this.#tripped.delete(name)
    if (this.#tripped.size === 0) return rules
    const own = [...this.#tripped.values()].map(({ breaker }) => breaker)
    return { ...rules, breakers: [...rules.breakers, ...own] }
  }

  /** Whether something changed since this was asked last: jobs that wait for a slot may have to be given back. */
  takeNews(): boolean {
    const hadNews = this.#hasNews
    this.#hasNews = false
    return hadNews
  }

  /** When the rules must be read anew because a pause ends; Infinity if none ends by itself. */
  get pauseEndsAt(): number {
    return this.#pauseEndsAt
  }

  /** The rules are about to be read, because a pause has ended. */
  pauseEnded(): void {
    this.#pauseEndsAt = Infinity
  }

  /** Its jobs are claimed under limits or rates. */
  get isLimited(): boolean {
    return this.#rules.isLimited
  }

  /** What a person set instead of the concurrency in this worker's code. */
  get concurrency(): number | undefined {
    return this.#rules.concurrency
  }

  get retryBudget(): RetryBudget | undefined {
    return this.#rules.retryBudget
  }

  isPaused(now: number): boolean {
    return now < this.#pausedUntil
  }

  isKeyPaused(key: string): boolean {
    return this.#pausedKeys.has(key)
  }

  /** Whether a pause or a breaker may hold jobs of it back. */
  mayHoldBack(now: number): boolean {
    return (
      this.isPaused(now) ||
      this.#pausedKinds.size > 0 ||
      this.#pausedKeys.size > 0 ||
      this.#rules.breakers.length > 0
    )
  }

  /** The weight that a person gave to a key. */
  weightOf(key: string): number | undefined {
    return this.#keyWeights.get(key)
  }

  /** The breakers of this queue that are not closed. */
  get breakers(): readonly OpenBreaker[] {
    return this.#rules.breakers
  }

  /** When a breaker of this queue may be probed, as far as this worker knows. */
  dueAt({ probeInMs }: OpenBreaker): number {
    return this.#readAt + probeInMs
  }

  /** The kinds to claim, of all that this worker handles: JSON of kind → newest contract version. */
  kindsOf(all: string): string {
    if (this.#pausedKinds.size === 0 && this.#rules.breakers.length === 0) return all
    if (this.#kinds.all !== all) this.#kinds = { all, open: only(all, (kind) => !this.#isHeld(kind)) }
    return this.#kinds.open
  }

  /** Whether a claim may ask for jobs that probe a breaker. */
  hasProbe(now: number): boolean {
    return this.#rules.breakers.some(({ name }) => this.#probes.get(name)?.mayClaim(now) === true)
  }

  /** A probe that the next claim is for, and the kinds to claim for it. */
  nextProbe(all: string, now: number): { probe: Probe; kinds: string } | undefined {
    for (const { name, kinds } of this.#rules.breakers) {
      const probe = this.#probes.get(name)
      if (probe?.mayClaim(now) !== true) continue
      const own = only(all, (kind) => kinds.includes(kind) && !this.#isHeld(kind, name))
      if (own !== '{}') return { probe, kinds: own }
    }
    return undefined
  }

  /** Why a claimed job must not start, in words; undefined if it may. */
  whyNotStart(
    { id, kind, key }: { id: string; kind: string; key: string | null },
    now: number,
  ): string | undefined {
    // A job that was claimed before the rules were read was claimed past the guard: its queue was open.
    if (this.#isKnown && this.isPaused(now)) return 'its queue was paused'
    if (this.#pausedKinds.has(kind)) return 'its kind was paused'
    if (key !== null && this.#pausedKeys.has(key)) return 'its key was paused'
    const open = this.#rules.breakers.find(
      ({ name, kinds }) => kinds.includes(kind) && this.#probes.get(name)?.has(id) !== true,
    )
    return open === undefined ? undefined : `the breaker '${open.name}' is ${open.state}`
  }

  /** Whether a pause or a breaker keeps this kind back; the breaker `but` does not count. */
  #isHeld(kind: string, but?: string): boolean {
    if (this.#pausedKinds.has(kind)) return true
    return this.#rules.breakers.some(({ name, kinds }) => name !== but && kinds.includes(kind))
  }
}

/** Rules as text, without times that differ with every read. */
function textOf(rules: QueueRules): string {
  const breakers = rules.breakers.map((breaker) => ({ ...breaker, probeInMs: 0 }))
  return JSON.stringify({ ...rules, pausedForMs: 0, pauseEndsInMs: 0, breakers })
}

function changesOf<Name>(
  before: readonly Name[],
  now: readonly Name[],
  part: (name: Name) => Pick<PauseChange, 'kind' | 'key'>,
): PauseChange[] {
  const [known, found] = [new Set(before), new Set(now)]
  return [
    ...now.filter((name) => !known.has(name)).map((name) => ({ type: 'paused', ...part(name) }) as const),
    ...before.filter((name) => !found.has(name)).map((name) => ({ type: 'resumed', ...part(name) }) as const),
  ]
}

/** How long a breaker that this worker has opened counts as open, even if a survey does not say so. */
const trippedMs = 1_000

/** Some of the kinds: JSON of kind → newest contract version. */
function only(all: string, isWanted: (kind: string) => boolean): string {
  const versions = Object.entries(JSON.parse(all) as Record<string, number>)
  return JSON.stringify(Object.fromEntries(versions.filter(([kind]) => isWanted(kind))))
}
