/** The rules of flow control that hold for a queue, as its workers must know them: see stint.queue_rules(). */
export interface QueueRules {
  /** Its jobs are claimed under limits or rates. */
  readonly isLimited: boolean
  /** How long it stays paused; Infinity: until it is resumed; 0: it is not. */
  readonly pausedForMs: number
  readonly pausedKinds: readonly string[]
  readonly pausedKeys: readonly string[]
  /** The breakers of its kinds that are not closed. */
  readonly breakers: readonly OpenBreaker[]
}

export interface OpenBreaker {
  readonly name: string
  readonly kinds: readonly string[]
  readonly state: 'open' | 'half-open'
  /** The worker that probes it. */
  readonly probeBy: string | null
  readonly isForced: boolean
  /** When it may be probed. */
  readonly probeInMs: number
}

/** A queue without any rule. */
export const noRules: QueueRules = Object.freeze({
  isLimited: false,
  pausedForMs: 0,
  pausedKinds: [],
  pausedKeys: [],
  breakers: [],
})

/** Members that do not apply are left out of the row. */
export function toQueueRules(row: Partial<QueueRules>): QueueRules {
  const { isLimited = false, pausedForMs = 0, pausedKinds = [], pausedKeys = [], breakers = [] } = row
  return {
    isLimited,
    // As the function says "until someone ends it".
    pausedForMs: pausedForMs === -1 ? Infinity : pausedForMs,
    pausedKinds,
    pausedKeys,
    breakers: breakers.map((breaker) => ({
      ...breaker,
      kinds: (breaker.kinds as readonly string[] | null) ?? [],
      probeBy: breaker.probeBy ?? null,
      probeInMs: (breaker.probeInMs as number | null) ?? 0,
    })),
  }
}
