import type { Database } from '../../db/database.ts'
import { waitAfterMs } from '../../db/wait.ts'
import { survey } from '../../jobs/survey.ts'
import type { Finding, Served } from '../../jobs/survey.ts'
import type { Parked } from '../recovery/parked.ts'
import { promote } from '../recovery/promote.ts'
import type { Returned } from '../recovery/promote.ts'
import type { Bell } from '../../jobs/wake-up/bell.ts'
import type { Hint } from '../../jobs/wake-up/hint.ts'
import type { Part, Watched } from '../part.ts'
import type { Troubles } from '../watch/troubles.ts'
import type { FloorBefore } from './floor.ts'
import type { Pools } from './pools.ts'
import type { QueuePool } from './queue-pool.ts'

export interface ScoutConfig {
  db: Database
  pools: Pools
  served: Served
  bell: Bell
  /** Due jobs that cannot be made ready, and are left for a while. */
  parked: Parked
  troubles: Pick<Troubles, 'of' | 'wentWell'>
}

/** A survey may cost this share of the time at most; with a snapshot held open it is not cheap. */
const surveyShare = 1 / 20
/** So may promotes that found nothing, as far as hints ask for them: any login may send those. */
const vainShare = 1 / 5
/** A little before the poll is due, so that a jittered one does not come just too soon for it. */
const early = 0.95
const promoteBatch = 500

/** Finds out where there is work: by being told, by looking, and by a timer for what falls due. */
export class Scout implements Part {
  readonly #config: ScoutConfig
  #nextSurveyAt = 0
  #surveyingSince: number | undefined
  #surveyPaysAt = 0
  #mustSurveyAgain = false
  readonly #surveyedAt = new Map<QueuePool, number>()
  #isUnsure = false
  #nextDueAt = Infinity
  #promotingSince: number | undefined
  #promotePaysAt = 0
  #surveyFailures = 0
  #promoteFailures = 0

  constructor(config: ScoutConfig) {
    this.#config = config
  }

  /** When it has to do something at the latest. */
  get wakeAt(): number {
    return Math.min(this.#nextDueAt, this.#nextSurveyAt)
  }

  readonly turns: readonly Watched[] = [
    { name: 'survey', since: () => this.#surveyingSince },
    { name: 'promote', since: () => this.#promotingSince },
  ]

  /** Does what is due by now. */
  turn(now: number): void {
    if (now >= this.#nextSurveyAt) void this.#survey()
    if (now >= this.#nextDueAt) void this.#promote()
  }

  /**
   * The bell did not ring. A survey finds all there is, also what was committed late and lies below the floor; where that costs
   * much and was done a moment ago, a look from the floors has to do.
   */
  lookForYourself(): void {
    if (performance.now() >= this.#surveyPaysAt) this.surveySoon()
    else for (const pool of this.#config.pools.all) pool.floors.probe()
  }

  /** Surveys every queue, without waiting for its time. */
  surveySoon(): void {
    const isSurveying = this.#surveyingSince !== undefined
    this.#mustSurveyAgain = isSurveying
    this.#surveyedAt.clear()
    if (!isSurveying) this.#nextSurveyAt = 0
    this.#config.bell.ring()
  }

  /** Surveys every queue as soon as its cost allows: hints named more jobs than a worker believes unchecked. */
  #surveyWhenItPays(): void {
    this.#isUnsure = true
    if (this.#surveyingSince !== undefined) return
    this.#surveyedAt.clear()
    this.#nextSurveyAt = Math.min(this.#nextSurveyAt, this.#surveyPaysAt)
  }

  async #survey(): Promise<void> {
    if (this.#surveyingSince !== undefined) return
    this.#surveyingSince = performance.now()
    this.#isUnsure = false
    const startedAt = performance.now()
    const pools = this.#config.pools.all.filter((pool) => startedAt >= this.#surveyDueAt(pool))
    this.#nextSurveyAt = Infinity
    try {
      const floors = new Map(pools.map((pool) => [pool.config.name, pool.floors.snapshot()]))
      const queues = pools.map(({ config }) => config.name)
      const findings = await survey(this.#config.db, { queues, kinds: this.#config.served.kinds })
      this.#config.troubles.wentWell('survey')
      this.#surveyFailures = 0
      this.#take(findings, { floors, since: performance.now() })
    } catch (error) {
      this.#surveyFailures++
      this.#config.troubles.of('survey', error)
    } finally {
      this.#surveyingSince = undefined
      const now = performance.now()
      for (const pool of pools) this.#surveyedAt.set(pool, now)
      const nextAt = Math.min(...this.#config.pools.all.map((pool) => this.#surveyDueAt(pool)))
      const holdMs = this.#surveyFailures === 0 ? 0 : waitAfterMs(this.#surveyFailures)
      this.#surveyPaysAt = now + Math.max(holdMs, (now - startedAt) / surveyShare)
      this.#nextSurveyAt = Math.max(nextAt, this.#surveyPaysAt)
      this.#config.bell.ring()
      if (this.#isToldMore()) this.#surveyWhenItPays()
      // What was looked at may have changed behind its back.
      if (this.#mustSurveyAgain) this.surveySoon()
    }
  }

  #surveyDueAt(pool: QueuePool): number {
    return (this.#surveyedAt.get(pool) ?? -Infinity) + early * pool.config.pollFloorMs
  }

  /** A method, so that it is read again after `await`. */
  #isToldMore(): boolean {
    return this.#isUnsure
  }

  #take(
    findings: readonly Finding[],
    { floors, since }: { floors: ReadonlyMap<string, ReadonlyMap<number, FloorBefore>>; since: number },
  ): void {
    let nextDueMs = Infinity
    const named = new Map<string, Set<number>>([...floors.keys()].map((queue) => [queue, new Set()]))
    for (const finding of findings) {
      const pool = this.#config.pools.get(finding.queue)
      if (finding.type === 'due') nextDueMs = Math.min(nextDueMs, finding.inMs)
      else if (finding.type === 'keyed') {
        if (pool !== undefined) pool.keys.hint()
      } else {
        const { priority, head, ageMs, queue } = finding
        named.get(queue)?.add(priority)
        pool?.floors.found(priority, head, { since: since - ageMs, before: floors.get(queue)?.get(priority) })
      }
    }
    for (const [queue, priorities] of named) this.#config.pools.get(queue)?.floors.forget(priorities)
    this.dueIn(nextDueMs)
  }

  /** Something falls due in so long; a timer is set to the earliest. */
  dueIn(ms: number): void {
    this.#nextDueAt = Math.min(this.#nextDueAt, performance.now() + Math.max(0, ms))
  }

  async #promote(): Promise<void> {
    if (this.#promotingSince !== undefined) return
    this.#promotingSince = performance.now()
    this.#nextDueAt = Infinity
    let isInVain = false
    try {
      const { ready, nextInMs } = await promote(this.#config.db, {
        queues: this.#config.served.queues,
        limit: promoteBatch,
        parked: this.#config.parked,
      })
      this.#promoteFailures = 0
      this.#config.troubles.wentWell('promote')
      isInVain = ready.length === 0
      this.returned(ready)
      // A full batch means that more is probably due already.
      if (ready.length >= promoteBatch) this.dueIn(0)
      else if (nextInMs !== undefined) this.dueIn(nextInMs)
    } catch (error) {
      this.#config.troubles.of('promote', error)
      this.dueIn(waitAfterMs(this.#promoteFailures++))
    } finally {
      const now = performance.now()
      this.#promotePaysAt = isInVain ? now + (now - this.#promotingSince) / vainShare : now
      this.#promotingSince = undefined
      this.#config.bell.ring()
    }
  }

  /** Jobs are ready again, below the floor perhaps. */
  returned(returned: readonly Returned[]): void {
    for (const one of returned) this.mayReturn(one)
    this.#config.bell.ring()
  }

  mayReturn({ queue, priority, runAt, id, key }: Returned): void {
    const pool = this.#config.pools.get(queue)
    if (key !== null) pool?.keys.hint()
    else pool?.floors.lower(priority, { runAt, id })
  }

  hear(hints: readonly Hint[]): void {
    const promotePaysInMs = this.#promotePaysAt - performance.now()
    let isBelieved = true
    for (const { queue, priority, keyed, inMs } of hints) {
      const pool = this.#config.pools.get(queue)
      if (pool === undefined) continue
      if (inMs > 0) this.dueIn(Math.max(inMs, promotePaysInMs))
      else if (keyed) pool.keys.hint()
      else isBelieved = pool.floors.hint(priority) && isBelieved
    }
    if (!isBelieved) this.#surveyWhenItPays()
    this.#config.bell.ring()
  }
}
