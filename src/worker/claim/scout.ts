import type { Database } from '../../db/database.ts'
import { waitAfterMs } from '../../db/wait.ts'
import { noRules, queueRules } from '../../jobs/queue-rules.ts'
import type { QueueRules } from '../../jobs/queue-rules.ts'
import { survey, surveyLanes } from '../../jobs/survey.ts'
import type { Finding, Served } from '../../jobs/survey.ts'
import type { Parked } from '../recovery/parked.ts'
import { promote } from '../recovery/promote.ts'
import type { Returned } from '../recovery/promote.ts'
import type { Bell } from '../../jobs/wake-up/bell.ts'
import type { Hint } from '../../jobs/wake-up/hint.ts'
import type { Part, Watched } from '../part.ts'
import type { Report } from '../report/report.ts'
import type { Wanted } from '../../jobs/leases/wanted.ts'
import type { Troubles } from '../watch/troubles.ts'
import type { FloorBefore } from './floor.ts'
import type { Pools } from './pools.ts'
import type { QueuePool } from './queue-pool.ts'

export interface ScoutConfig {
  db: Database
  pools: Pools
  served: Served
  bell: Bell
  /** Due jobs that cannot be made ready; they are skipped for a while. */
  parked: Parked
  troubles: Pick<Troubles, 'of' | 'wentWell'>
  report: Pick<Report, 'pauseChanged'>
  workerId: () => string
  /** What a person asks of this worker; null: to work as usual. */
  onWanted: (wanted: Wanted | null) => void
}

/** Surveys may take this share of the time at most; while a session holds an old snapshot they are not cheap. */
const surveyShare = 1 / 20
/** The same for promotes that a hint caused and that found nothing: any login may send hints. */
const emptyPromoteShare = 1 / 5
/** A survey is due a little before the poll, so that a jittered poll does not come just too early for it. */
const early = 0.95
const promoteBatch = 500
/** Lanes that one statement of a walk reads. */
const lanesAtOnce = 1_000
/** A walk reads its pages at least this far apart, unless few keys are left. */
const pageEveryMs = 50
/** The same after a page that failed. */
const failedRestMs = 1_000
/** With fewer keys to claim from than this, a walk goes on at once. */
const fewKeys = 100

/** Finds out where there is work: by hints, by surveys, and by a timer for the next due job. */
export class Scout implements Part {
  readonly #config: ScoutConfig
  #nextSurveyAt = 0
  #surveyingSince: number | undefined
  #surveyPaysAt = 0
  #mustSurveyAgain = false
  readonly #surveyedAt = new Map<QueuePool, number>()
  #wantsSurvey = false
  #nextDueAt = Infinity
  #promotingSince: number | undefined
  #promotePaysAt = 0
  readonly #walks = new Map<QueuePool, Walk>()
  #isReadingRules = false
  #surveyFailures = 0
  #promoteFailures = 0

  constructor(config: ScoutConfig) {
    this.#config = config
  }

  /** When it has to act at the latest. */
  get wakeAt(): number {
    const walkAt = Math.min(...[...this.#walks].map(([pool, walk]) => nextPageAt(pool, walk)))
    const pauseEndsAt = Math.min(...this.#config.pools.all.map(({ rules }) => rules.pauseEndsAt))
    return Math.min(this.#nextDueAt, this.#nextSurveyAt, walkAt, pauseEndsAt)
  }

  /** Whether it looks for ready jobs, or is about to. */
  get isLooking(): boolean {
    const isSurveying = this.#surveyingSince !== undefined || this.#nextSurveyAt === 0
    const isWalking = ({ since, nextAt }: Walk): boolean => since !== undefined || nextAt !== Infinity
    return isSurveying || [...this.#walks.values()].some(isWalking)
  }

  readonly turns: readonly Watched[] = [
    { name: 'survey', since: () => this.#surveyingSince },
    { name: 'promote', since: () => this.#promotingSince },
    { name: 'walk', since: () => this.#walkingSince() },
  ]

  /** Starts a survey and a promote if they are due. */
  turn(now: number): void {
    this.#endPauses(now)
    if (now >= this.#nextSurveyAt) void this.#survey()
    if (now >= this.#nextDueAt) void this.#promote()
    for (const [pool, walk] of this.#walks) if (now >= nextPageAt(pool, walk)) void this.#walk(pool, walk)
  }

  /**
   * No hint came until the poll. A survey finds all claimable jobs, also those that were committed late and lie below
   * the floor; if a survey is expensive and the last one is recent, claims from the floors have to do.
   */
  poll(): void {
    if (performance.now() >= this.#surveyPaysAt) this.surveySoon()
    else {
      for (const pool of this.#config.pools.all) pool.floors.probe()
      void this.#readRules()
    }
  }

  /** Where a pause ends now, the rules are read anew. */
  #endPauses(now: number): void {
    const ended = this.#config.pools.all.filter(({ rules }) => now >= rules.pauseEndsAt)
    for (const { rules } of ended) rules.pauseEnded()
    if (ended.length > 0) this.surveySoon()
  }

  /** Reads the rules alone: a survey that costs much comes rarely, and a pause must be known within a poll. */
  async #readRules(): Promise<void> {
    if (this.#isReadingRules) return
    this.#isReadingRules = true
    try {
      const { queues } = this.#config.served
      this.#setRules(queues, await queueRules(this.#config.db, { queues }))
      this.#config.bell.ring()
    } catch (error) {
      this.#config.troubles.of('survey', error)
    } finally {
      this.#isReadingRules = false
    }
  }

  #setRules(queues: Iterable<string>, found: ReadonlyMap<string, QueueRules>): void {
    const { served, report } = this.#config
    const now = performance.now()
    let hasOtherKinds = false
    for (const queue of queues) {
      const pool = this.#config.pools.get(queue)
      if (pool === undefined) continue
      const kinds = pool.rules.kindsOf(served.kinds)
      for (const change of pool.rules.set(found.get(queue) ?? noRules, now))
        report.pauseChanged(queue, change)
      if (pool.rules.kindsOf(served.kinds) !== kinds) hasOtherKinds = true
    }
    // The survey looked for jobs of the kinds that were open before.
    if (hasOtherKinds) this.surveySoon()
  }

  /** Surveys every queue, without waiting for its time. */
  surveySoon(): void {
    const isSurveying = this.#surveyingSince !== undefined
    this.#mustSurveyAgain = isSurveying
    this.#surveyedAt.clear()
    if (!isSurveying) this.#nextSurveyAt = 0
    this.#config.bell.ring()
  }

  /**
   * Surveys every queue as soon as the cost of surveys allows: hints named more priorities than a worker believes
   * without a survey.
   */
  #surveyWhenItPays(): void {
    this.#wantsSurvey = true
    if (this.#surveyingSince !== undefined) return
    this.#surveyedAt.clear()
    this.#nextSurveyAt = Math.min(this.#nextSurveyAt, this.#surveyPaysAt)
  }

  async #survey(): Promise<void> {
    if (this.#surveyingSince !== undefined) return
    this.#surveyingSince = performance.now()
    this.#wantsSurvey = false
    const startedAt = performance.now()
    const pools = this.#config.pools.all.filter((pool) => startedAt >= this.#surveyDueAt(pool))
    this.#nextSurveyAt = Infinity
    try {
      const floors = new Map(pools.map((pool) => [pool.config.name, pool.floors.snapshot()]))
      const queues = pools.map(({ config }) => config.name)
      const kinds = pools.map(({ rules }) => rules.kindsOf(this.#config.served.kinds))
      const { db, workerId } = this.#config
      const findings = await survey(db, { queues, kinds, worker: workerId() })
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
      if (this.#isSurveyWanted()) this.#surveyWhenItPays()
      // What the survey has read may have changed meanwhile.
      if (this.#mustSurveyAgain) this.surveySoon()
    }
  }

  #surveyDueAt(pool: QueuePool): number {
    return (this.#surveyedAt.get(pool) ?? -Infinity) + early * pool.config.pollFloorMs
  }

  /** A method, so that it is read again after `await`. */
  #isSurveyWanted(): boolean {
    return this.#wantsSurvey
  }

  #take(
    findings: readonly Finding[],
    { floors, since }: { floors: ReadonlyMap<string, ReadonlyMap<number, FloorBefore>>; since: number },
  ): void {
    let nextDueMs = Infinity
    let wanted: Wanted | null = null
    const rules = new Map<string, QueueRules>()
    const named = new Map<string, Set<number>>([...floors.keys()].map((queue) => [queue, new Set()]))
    for (const finding of findings) if (finding.type === 'rules') rules.set(finding.queue, finding.rules)
    // First of all: what is paused is not walked through.
    this.#setRules(floors.keys(), rules)
    for (const finding of findings) {
      if (finding.type === 'wanted') {
        wanted = finding.wanted
        continue
      }
      const pool = this.#config.pools.get(finding.queue)
      if (finding.type === 'due') nextDueMs = Math.min(nextDueMs, finding.inMs)
      else if (finding.type === 'keyed') {
        if (pool !== undefined) this.#walkSoon(pool)
      } else if (finding.type === 'ready') {
        const { priority, head, ageMs, queue } = finding
        named.get(queue)?.add(priority)
        pool?.floors.found(priority, head, { since: since - ageMs, before: floors.get(queue)?.get(priority) })
      }
    }
    for (const [queue, priorities] of named) this.#config.pools.get(queue)?.floors.forget(priorities)
    this.#config.onWanted(wanted)
    this.dueIn(nextDueMs)
  }

  /** Jobs with keys may wait that the ring does not know of: a walk through the lanes begins, unless one is under way. */
  #walkSoon(pool: QueuePool): void {
    // The first survey after the pause begins it.
    if (pool.rules.isPaused(performance.now())) return
    const walk = this.#walks.get(pool) ?? {
      afterKey: '',
      since: undefined,
      nextAt: Infinity,
      paysAt: 0,
      claims: 0,
    }
    this.#walks.set(pool, walk)
    if (walk.since !== undefined || walk.nextAt !== Infinity) return
    walk.nextAt = walk.paysAt
    // A second page follows the first, when the worker has claimed from what that found.
    walk.claims = -1
  }

  /** Reads the next page of a queue's lanes, and puts them into the ring. */
  async #walk(pool: QueuePool, walk: Walk): Promise<void> {
    if (walk.since !== undefined) return
    const startedAt = performance.now()
    walk.since = startedAt
    walk.nextAt = Infinity
    let isOver = true
    let restMs = pageEveryMs
    try {
      const kinds = pool.rules.kindsOf(this.#config.served.kinds)
      const request = { queue: pool.config.name, kinds, lanes: lanesAtOnce }
      pool.lanes.beginPage()
      const page = await surveyLanes(this.#config.db, { ...request, afterKey: walk.afterKey })
      this.#config.troubles.wentWell('walk')
      const now = performance.now()
      for (const { key, priority, head, ageMs } of page)
        if (head !== null) pool.lanes.found({ key, priority, head, since: now - ageMs })
      const after = page.length < lanesAtOnce ? undefined : pageEnd(page.map(({ key }) => key))
      walk.afterKey = after ?? ''
      isOver = after === undefined
    } catch (error) {
      this.#config.troubles.of('walk', error)
      restMs = failedRestMs
    } finally {
      const now = performance.now()
      walk.since = undefined
      walk.paysAt = now + Math.max(restMs, (now - startedAt) / surveyShare)
      // While keys are claimed from, a new key must not wait for the next survey: hints may be off or lost.
      const isMoving = pool.lanes.claims !== walk.claims
      walk.claims = pool.lanes.claims
      if (!isOver || isMoving) walk.nextAt = walk.paysAt
      this.#config.bell.ring()
    }
  }

  #walkingSince(): number | undefined {
    const since = [...this.#walks.values()].flatMap((walk) => walk.since ?? [])
    return since.length === 0 ? undefined : Math.min(...since)
  }

  /** A job falls due in `ms`; a timer is set to the earliest. */
  dueIn(ms: number): void {
    this.#nextDueAt = Math.min(this.#nextDueAt, performance.now() + Math.max(0, ms))
  }

  async #promote(): Promise<void> {
    if (this.#promotingSince !== undefined) return
    this.#promotingSince = performance.now()
    this.#nextDueAt = Infinity
    let foundNothing = false
    try {
      const { ready, nextInMs } = await promote(this.#config.db, {
        queues: this.#config.served.queues,
        limit: promoteBatch,
        parked: this.#config.parked,
      })
      this.#promoteFailures = 0
      this.#config.troubles.wentWell('promote')
      foundNothing = ready.length === 0
      this.returned(ready)
      // A full batch means that more is probably due already.
      if (ready.length >= promoteBatch) this.dueIn(0)
      else if (nextInMs !== undefined) this.dueIn(nextInMs)
    } catch (error) {
      this.#config.troubles.of('promote', error)
      this.dueIn(waitAfterMs(this.#promoteFailures++))
    } finally {
      const now = performance.now()
      this.#promotePaysAt = foundNothing ? now + (now - this.#promotingSince) / emptyPromoteShare : now
      this.#promotingSince = undefined
      this.#config.bell.ring()
    }
  }

  /** Jobs are ready again, perhaps below the floor. */
  returned(returned: readonly Returned[]): void {
    for (const one of returned) this.jobReturned(one)
    this.#config.bell.ring()
  }

  jobReturned({ queue, priority, runAt, id, key }: Returned): void {
    const pool = this.#config.pools.get(queue)
    if (key !== null) pool?.lanes.lower(key, priority, { runAt, id })
    else pool?.floors.lower(priority, { runAt, id })
  }

  hear(hints: readonly Hint[]): void {
    const promotePaysInMs = this.#promotePaysAt - performance.now()
    let isBelieved = true
    for (const { queue, priority, keyed, key, inMs } of hints) {
      const pool = this.#config.pools.get(queue)
      if (pool === undefined) continue
      if (inMs > 0) this.dueIn(Math.max(inMs, promotePaysInMs))
      else if (keyed) {
        if (key === undefined || !pool.lanes.hint(key, priority)) this.#walkSoon(pool)
      } else isBelieved = pool.floors.hint(priority) && isBelieved
    }
    if (!isBelieved) this.#surveyWhenItPays()
    this.#config.bell.ring()
  }
}

/** A walk through the lanes of one queue, page by page. */
interface Walk {
  /** The next page begins after this key. */
  afterKey: string
  /** When the page that is under way was asked for. */
  since: number | undefined
  /** When the next page is due; Infinity where none is. */
  nextAt: number
  /** When another page costs no more than its share of the time. */
  paysAt: number
  /** The claims from lanes by the end of the last page. */
  claims: number
}

/** When the next page is due. In the middle of a walk that is at once where few keys are left to claim from. */
function nextPageAt({ lanes }: QueuePool, { nextAt, afterKey, since }: Walk): number {
  if (since !== undefined || nextAt === Infinity) return Infinity
  return afterKey !== '' && lanes.waiting < fewKeys ? 0 : nextAt
}

/**
 * The key after which the next page begins. The last key of a full page may have more priorities than fit: it comes again,
 * unless it fills the page alone.
 */
function pageEnd(keys: readonly string[]): string | undefined {
  const last = keys.at(-1)
  return keys.findLast((key) => key !== last) ?? last
}
