import { isPerhapsOneRow } from '../../db/classify.ts'
import type { Database } from '../../db/database.ts'
import type { Statement } from '../../db/statement.ts'
import { countEndings } from '../../flows/endings/endings.ts'
import type { ReleasedHint } from '../../flows/endings/endings.ts'
import {
  cancelMembers,
  dropEndings,
  dropOrphans,
  firstId,
  flowWork,
  orphans,
  recount,
  stuckFlows,
  wakeWatchers,
} from '../../flows/upkeep/upkeep.ts'
import type { Announcer } from '../../jobs/wake-up/announcer.ts'
import { toHint } from '../settle/flow-counts.ts'
import type { ServiceContext } from './service.ts'

/** Tells workers what may start, and whom to stop. */
export type FlowAnnouncer = Pick<Announcer, 'stored' | 'askedToStop'>

export interface FlowUpkeepConfig {
  announcer?: FlowAnnouncer | undefined
  /** When this process last did something for a job, by its monotonic clock. */
  stirredAt?: (() => number) | undefined
  /** How old an ending must be to be counted here: the worker that wrote it counts it too. @default 1,000 */
  olderThanMs?: number | undefined
}

const quietAfterMs = 10_000
/** Between two passes while nothing happens, if a flow is open and if none is. */
const [quietMs, emptyMs] = [2_900, 19_900]

/** Pages of one scan for orphans in a pass: 20,000 jobs. */
const pagesOfPass = 20

/**
 * What the leader does for flows: counts endings that no worker has counted, wakes jobs that watch others, ends the jobs of
 * cancelled flows, and repairs what was lost.
 */
export class FlowUpkeep {
  readonly #announcer: FlowAnnouncer | undefined
  readonly #stirredAt: () => number
  readonly #olderThanMs: number
  #foundAt = -Infinity
  #lookedAt = -Infinity
  /** A pass that took long is followed by a longer pause: counting must not be all that the server does. */
  #notBefore = 0
  /** While this process learns of no change, it looks less often. */
  #quietUntil = 0
  #recountedTo = firstId
  readonly #scannedTo = new Map<Statement<'after'>, string>()

  constructor({ announcer, stirredAt = () => -Infinity, olderThanMs = 1_000 }: FlowUpkeepConfig) {
    this.#olderThanMs = olderThanMs
    this.#announcer = announcer
    this.#stirredAt = stirredAt
  }

  /** Every second; while nothing happens every third, or every twentieth if no flow is open. An idle pass is one statement. */
  async tend(db: Database, context: ServiceContext): Promise<void> {
    const now = performance.now()
    const isQuiet = now < this.#quietUntil && this.#stirredAt() < this.#lookedAt
    if (now >= this.#notBefore && !isQuiet) await this.tendNow(db, context)
  }

  /** Returns how much was done. */
  async tendNow(db: Database, context: ServiceContext): Promise<number> {
    const begunAt = performance.now()
    this.#lookedAt = begunAt
    let done = 0
    let after: string | null = firstId
    let isFirst = true
    let hasOpen = false
    while (after !== null && !context.signal.aborted) {
      const work = await flowWork(db, { after, olderThanMs: this.#olderThanMs })
      after = work.last
      hasOpen = work.hasOpen
      if (work.flows.length > 0 || work.hasWatches || work.hasCancelled) this.#foundAt = begunAt
      if (work.flows.length > 0) await this.#count(db, work.flows, context)
      done += work.flows.length
      if (isFirst && work.hasWatches) done += await this.#wake(db, context)
      if (isFirst && work.hasCancelled) done += await this.#cancel(db, context)
      isFirst = false
    }
    const isQuiet = Math.max(this.#stirredAt(), this.#foundAt) < begunAt - quietAfterMs
    this.#notBefore = begunAt + 20 * Math.min(performance.now() - begunAt, 500)
    this.#quietUntil = isQuiet ? begunAt + (hasOpen ? quietMs : emptyMs) : 0
    return done
  }

  /** Every five minutes: counts what was lost, and removes what belongs to no job. */
  async repair(db: Database, context: ServiceContext): Promise<void> {
    await this.#recount(db, context)
    for (const statement of orphans) await this.#dropOrphans(db, statement, context)
  }

  /** If one flow may be the cause of a failure, each is counted alone. */
  async #count(db: Database, flows: readonly string[], context: ServiceContext): Promise<void> {
    try {
      const { released } = await countEndings(db, flows)
      this.#announce(released)
    } catch (error) {
      if (!isPerhapsOneRow(error)) throw error
      if (flows.length === 1) {
        context.onPassedBy(`flow ${flows.join()}`, error)
        return
      }
      for (const flow of flows) if (!context.signal.aborted) await this.#count(db, [flow], context)
      return
    }
    await dropEndings(db, flows)
  }

  async #wake(db: Database, { signal }: ServiceContext): Promise<number> {
    let done = 0
    for (let isMore = true; isMore && !signal.aborted;) {
      const { looked, woken } = await wakeWatchers(db)
      this.#announce(woken)
      done += looked
      isMore = looked === 500
    }
    return done
  }

  async #cancel(db: Database, { signal }: ServiceContext): Promise<number> {
    let done = 0
    let after: string | null = firstId
    while (after !== null && !signal.aborted) {
      const { ended, last, workers } = await cancelMembers(db, after)
      for (const worker of workers) this.#announcer?.askedToStop(worker)
      done += ended
      if (ended < 500) after = last
    }
    return done
  }

  async #recount(db: Database, { signal }: ServiceContext): Promise<void> {
    for (let pages = 0; pages < pagesOfPass && !signal.aborted; pages++) {
      const page = await stuckFlows(db, this.#recountedTo)
      const stuck = page.filter(({ isStuck }) => isStuck).map(({ id }) => id)
      if (stuck.length > 0) await recount(db, stuck)
      this.#recountedTo = page.length === 500 ? (page.at(-1)?.id ?? firstId) : firstId
      if (this.#recountedTo === firstId) return
    }
  }

  async #dropOrphans(db: Database, statement: Statement<'after'>, { signal }: ServiceContext): Promise<void> {
    for (let pages = 0; pages < pagesOfPass && !signal.aborted; pages++) {
      const last = await dropOrphans(db, statement, this.#scannedTo.get(statement) ?? firstId)
      this.#scannedTo.set(statement, last ?? firstId)
      if (last === undefined) return
    }
  }

  #announce(released: readonly ReleasedHint[]): void {
    if (released.length > 0) this.#announcer?.stored(new Set(released.map(toHint)))
  }
}
