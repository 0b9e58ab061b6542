import { noRules } from '../../jobs/queue-rules.ts'
import type { QueueRules, RetryBudget } from '../../jobs/queue-rules.ts'

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

  /** The rules as they have just been read. Returns the pauses that began or ended. */
  set(rules: QueueRules, now: number): PauseChange[] {
    const before = this.#rules
    this.#rules = rules
    this.#isKnown = true
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

  get retryBudget(): RetryBudget | undefined {
    return this.#rules.retryBudget
  }

  isPaused(now: number): boolean {
    return now < this.#pausedUntil
  }

  isKeyPaused(key: string): boolean {
    return this.#pausedKeys.has(key)
  }

  /** Whether the queue or something of it is paused. */
  hasPauses(now: number): boolean {
    return this.isPaused(now) || this.#pausedKinds.size > 0 || this.#pausedKeys.size > 0
  }

  /** The weight that a person gave to a key. */
  weightOf(key: string): number | undefined {
    return this.#keyWeights.get(key)
  }

  /** The kinds to claim, of all that this worker handles: JSON of kind → newest contract version. */
  kindsOf(all: string): string {
    if (this.#pausedKinds.size === 0) return all
    if (this.#kinds.all !== all) {
      const versions = Object.entries(JSON.parse(all) as Record<string, number>)
      const open = versions.filter(([kind]) => !this.#pausedKinds.has(kind))
      this.#kinds = { all, open: JSON.stringify(Object.fromEntries(open)) }
    }
    return this.#kinds.open
  }

  /** Why a claimed job must not start, in words; undefined if it may. */
  whyNotStart({ kind, key }: { kind: string; key: string | null }, now: number): string | undefined {
    // A job that was claimed before the rules were read was claimed past the guard: its queue was open.
    if (this.#isKnown && this.isPaused(now)) return 'its queue was paused'
    if (this.#pausedKinds.has(kind)) return 'its kind was paused'
    return key !== null && this.#pausedKeys.has(key) ? 'its key was paused' : undefined
  }
}

/** Rules as text, without times that differ with every read. */
function textOf(rules: QueueRules): string {
  return JSON.stringify({ ...rules, pausedForMs: 0, pauseEndsInMs: 0 })
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
