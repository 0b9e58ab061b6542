/** So long after its last failure a part counts as mended, where nobody says that it went well. */
const forgottenAfterMs = 90_000

interface Failing {
  since: number
  lastAt: number
  /** Since when it is refused, by a server that will refuse it again. */
  refusedSince: number | undefined
}

export interface FailedOnce {
  /** Not away or too busy: the server says no, and will say it again. */
  isRefused: boolean
  /** How long ago it last went well, where that is known. */
  sinceOkMs?: number | undefined
}

/**
 * The parts of a worker that fail again and again, and for how long. Each by itself: that surveys go well says nothing of
 * claims, and a worker that can look and not take would else be taken for a healthy one.
 */
export class FailingParts {
  readonly #parts = new Map<string, Failing>()

  /** It failed once more. Says for how long it has been refused. */
  failed(part: string, { isRefused, sinceOkMs = Infinity }: FailedOnce): number {
    const now = performance.now()
    const known = this.#parts.get(part)
    const isSameTrouble = known !== undefined && now - known.lastAt < Math.min(forgottenAfterMs, sinceOkMs)
    const refusedSince = isRefused ? ((isSameTrouble ? known.refusedSince : undefined) ?? now) : undefined
    this.#parts.set(part, { since: isSameTrouble ? known.since : now, lastAt: now, refusedSince })
    return refusedSince === undefined ? 0 : now - refusedSince
  }

  wentWell(part: string): void {
    this.#parts.delete(part)
  }

  /** Why the worker could not do its work now. What is merely away is none of that before its time. */
  problems(patienceMs: number): string[] {
    const now = performance.now()
    const current = [...this.#parts].filter(([, { lastAt }]) => now - lastAt < forgottenAfterMs)
    const refused = current.filter(([, { refusedSince }]) => refusedSince !== undefined).map(([part]) => part)
    const late = current.filter(([, { since, refusedSince }]) => !refusedSince && now - since > patienceMs)
    return [
      ...(refused.length === 0 ? [] : [`the database refuses its statements: ${refused.sort().join(', ')}`]),
      ...late.map(
        ([part, { since }]) => `'${part}' has not succeeded for ${Math.round((now - since) / 1_000)} s`,
      ),
    ]
  }
}
