import { noRules } from '../../jobs/queue-rules.ts'
import type { QueueRules, RetryBudget } from '../../jobs/queue-rules.ts'

/**
 * The rules of flow control for one queue, as this worker last read them. They save claims that would find nothing: that a
 * paused queue gives no job and that no limit is passed is decided by the statements themselves.
 */
export class PoolRules {
  #rules: QueueRules = noRules
  #pausedUntil = 0
  #pausedKinds: ReadonlySet<string> = new Set()
  #pausedKeys: ReadonlySet<string> = new Set()
  /** The kinds to claim, as JSON, and the JSON of all kinds that they were made of. */
  #kinds = { all: '', open: '' }
  #hasNews = false

  /** The rules as a survey has just read them. */
  set(rules: QueueRules, now: number): void {
    this.#pausedUntil = now + rules.pausedForMs
    if (JSON.stringify({ ...rules, pausedForMs: 0 }) !== JSON.stringify({ ...this.#rules, pausedForMs: 0 })) {
      this.#pausedKinds = new Set(rules.pausedKinds)
      this.#pausedKeys = new Set(rules.pausedKeys)
      this.#kinds = { all: '', open: '' }
      this.#hasNews = true
    }
    if (rules.pausedForMs > 0 && this.#rules.pausedForMs === 0) this.#hasNews = true
    this.#rules = rules
  }

  /** Whether something changed since this was asked last: jobs that wait for a slot may have to be given back. */
  takeNews(): boolean {
    const hadNews = this.#hasNews
    this.#hasNews = false
    return hadNews
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
    if (this.isPaused(now)) return 'its queue was paused'
    if (this.#pausedKinds.has(kind)) return 'its kind was paused'
    return key !== null && this.#pausedKeys.has(key) ? 'its key was paused' : undefined
  }
}
