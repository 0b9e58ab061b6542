import { isStintError } from '../../core/errors.ts'
import { isPerhapsOneRow } from '../../db/classify.ts'
import type { Queryable } from '../../db/statement.ts'
import { countEndings } from '../../flows/endings/endings.ts'
import type { ReleasedHint } from '../../flows/endings/endings.ts'
import type { Announcer } from '../../jobs/wake-up/announcer.ts'
import type { Hint } from '../../jobs/wake-up/hint.ts'
import type { Troubles } from '../watch/troubles.ts'

export interface FlowCountsConfig {
  db: Queryable
  announcer: Pick<Announcer, 'stored'>
  troubles: Pick<Troubles, 'beside'>
}

/** One flow is counted this often at most: a group of 10,000 jobs ends in thousands of settles. */
const everyMs = 20
/** Flows of one statement. */
const mostFlows = 500

/**
 * Counts the endings of flows, once the endings are stored. One statement is on its way, and the next takes all flows that
 * were added meanwhile.
 *
 * No job depends on it: the leader counts everything that is left for more than a second. So a count that fails is reported
 * and not repeated here, except to find the flow that is the cause.
 */
export class FlowCounts {
  readonly #config: FlowCountsConfig
  /** When each flow is to be counted, by the process's monotonic clock. */
  readonly #due = new Map<string, number>()
  /** When each flow was counted, the oldest first; forgotten after `everyMs`. */
  readonly #countedAt = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #counting: Promise<void> | undefined

  constructor(config: FlowCountsConfig) {
    this.#config = config
  }

  /** Jobs of these flows have ended. */
  ended(flows: Iterable<string>): void {
    const now = performance.now()
    for (const flow of flows) {
      if (this.#due.has(flow)) continue
      this.#due.set(flow, Math.max(now, (this.#countedAt.get(flow) ?? -Infinity) + everyMs))
    }
    this.#schedule()
  }

  /** Counts what is left at once, and resolves after that. */
  async stop(): Promise<void> {
    // A count that ends may begin the next one at once, so the first line is part of the loop.
    while (this.#counting !== undefined || this.#due.size > 0) {
      await this.#counting
      if (this.#counting === undefined && this.#due.size > 0)
        await this.#count([...this.#due.keys()].slice(0, mostFlows), { isLast: true })
    }
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    if (this.#counting !== undefined || this.#due.size === 0) return
    clearTimeout(this.#timer)
    let first = Infinity
    for (const at of this.#due.values()) first = Math.min(first, at)
    const inMs = first - performance.now()
    if (inMs <= 0) this.#begin()
    else
      this.#timer = setTimeout(() => {
        this.#begin()
      }, inMs)
  }

  #begin(): void {
    if (this.#counting !== undefined) return
    const now = performance.now()
    const flows: string[] = []
    for (const [flow, at] of this.#due) {
      if (at <= now) flows.push(flow)
      if (flows.length === mostFlows) break
    }
    if (flows.length === 0) {
      this.#schedule()
      return
    }
    this.#counting = this.#count(flows).finally(() => {
      this.#counting = undefined
      this.#schedule()
    })
  }

  async #count(flows: readonly string[], { isLast = false } = {}): Promise<void> {
    const { db, announcer, troubles } = this.#config
    for (const flow of flows) this.#due.delete(flow)
    try {
      const { released, busy } = await countEndings(db, flows)
      this.#note(flows)
      if (released.length > 0) announcer.stored(new Set(released.map(toHint)))
      const again = performance.now() + 5 + 15 * Math.random()
      if (!isLast) for (const flow of busy) if (!this.#due.has(flow)) this.#due.set(flow, again)
    } catch (error) {
      if (flows.length > 1 && isPerhapsOneRow(error)) {
        for (const flow of flows) await this.#count([flow], { isLast })
        return
      }
      if (!isStintError(error, 'client-closed')) troubles.beside('count', error)
    }
  }

  #note(flows: readonly string[]): void {
    const now = performance.now()
    for (const [flow, at] of this.#countedAt) {
      if (at > now - everyMs) break
      this.#countedAt.delete(flow)
    }
    for (const flow of flows) {
      this.#countedAt.delete(flow)
      this.#countedAt.set(flow, now)
    }
  }
}

export function toHint({ queue, priority, key }: ReleasedHint): Hint {
  return { queue, priority, keyed: key !== null, key: key ?? undefined, inMs: 0 }
}
