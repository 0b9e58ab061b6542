/** A part counts as recovered this long after its last failure, if it never reports a success. */
const forgottenAfterMs = 90_000

interface Failing {
  since: number
  lastAt: number
  /** Since when the server refuses it, with an error that will come again. */
  refusedSince: number | undefined
}

export interface FailedOnce {
  /** The server answered with a refusal, and will refuse again: it is neither unreachable nor too busy. */
  isRefused: boolean
  /** How long ago it last succeeded, if that is known. */
  sinceOkMs?: number | undefined
}

/**
 * The parts of a worker that fail again and again, and for how long. Each counts by itself: surveys that succeed say
 * nothing about claims, and a worker that can read but not claim would otherwise count as healthy.
 */
export class FailingParts {
  readonly #parts = new Map<string, Failing>()

  /** It failed once more. Returns for how long it has been refused. */
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

  /** Why the worker cannot do its work now. A connection failure counts only after `patienceMs`. */
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
