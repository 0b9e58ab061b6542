import type { ClaimedJob, Closed } from '../../jobs/claim.ts'
import type { LimitedFacts } from '../report/events.ts'

/** What a claim under limits asked for, and its answer. */
export interface LimitedAnswer {
  queue: string
  /** The keys that it asked; null for jobs without one. */
  asked: readonly (string | null)[]
  jobs: readonly Pick<ClaimedJob, 'key'>[]
  closed: Closed
}

interface ClosedLane extends Pick<LimitedFacts, 'queue' | 'key' | 'by'> {
  readonly since: number
  /** When a claim last found it closed. */
  seenAt: number
  isTold: boolean
}

/** A lane that is closed for shorter is normal under a limit, and not told. */
const tellAfterMs = 1_000
/** Lanes that are watched at once. */
const mostLanes = 10_000

/**
 * The keys and whole queues of which limits and rates let no job start, for the event `limited`. A lane is closed from a claim
 * that found it so until a claim takes a job of it or finds room. If no claim asks any more, because its jobs are gone, it
 * counts as free after `expireMs`.
 */
export class ClosedLanes {
  readonly #lanes = new Map<string, ClosedLane>()
  readonly #expireMs: number
  readonly #tell: (facts: LimitedFacts) => void

  constructor({ expireMs, tell }: { expireMs: number; tell: (facts: LimitedFacts) => void }) {
    this.#expireMs = expireMs
    this.#tell = tell
  }

  answered({ queue, asked, jobs, closed }: LimitedAnswer, now: number): void {
    const taken = new Set(jobs.map(({ key }) => key))
    const byAll = closed.isOnlyRate ? 'rate' : 'limit'
    this.#note({ queue, key: null, by: closed.isFull ? byAll : undefined, hasStarted: taken.size > 0 }, now)
    for (const key of new Set(asked)) {
      if (key === null) continue
      const by = closed.keys.has(key) ? 'limit' : closed.dry.has(key) ? 'rate' : undefined
      this.#note({ queue, key, by, hasStarted: taken.has(key) }, now)
    }
  }

  /** Forgets lanes that no claim has asked for long. */
  expire(now: number): void {
    for (const [id, lane] of this.#lanes)
      if (now - lane.seenAt > this.#expireMs) {
        this.#lanes.delete(id)
        this.#free(lane, now)
      }
  }

  #note(
    {
      queue,
      key,
      by,
      hasStarted,
    }: { queue: string; key: string | null; by: 'limit' | 'rate' | undefined; hasStarted: boolean },
    now: number,
  ): void {
    const id = JSON.stringify([queue, key])
    const known = this.#lanes.get(id)
    if (known !== undefined && (by === undefined || hasStarted)) {
      this.#lanes.delete(id)
      this.#free(known, now)
    }
    if (by === undefined) return
    const lane = this.#lanes.get(id) ?? { queue, key, by, since: now, seenAt: now, isTold: false }
    if (this.#lanes.size < mostLanes) this.#lanes.set(id, lane)
    lane.seenAt = now
    lane.by = by
    if (lane.isTold || now - lane.since < tellAfterMs) return
    lane.isTold = true
    this.#tell(factsOf(lane, 'closed', now))
  }

  #free(lane: ClosedLane, now: number): void {
    if (lane.isTold) this.#tell(factsOf(lane, 'free', now))
  }
}

function factsOf(
  { queue, key, by, since }: ClosedLane,
  state: LimitedFacts['state'],
  now: number,
): LimitedFacts {
  return { queue, key, by, state, forMs: Math.round(now - since) }
}
