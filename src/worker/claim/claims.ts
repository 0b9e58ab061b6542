import { randomUUID } from 'node:crypto'
import { messageOf } from '../../core/failures/thrown.ts'
import { classify, isPerhapsOneRow } from '../../db/classify.ts'
import type { Database } from '../../db/database.ts'
import type { Queryable } from '../../db/statement.ts'
import {
  claim,
  claimable,
  claimableKeyed,
  claimLanes,
  claimLimited,
  claimThese,
  pickLimited,
  probeCandidates,
  putAside,
  toClosed,
} from '../../jobs/claim.ts'
import type { ClaimedJob, Claimant, ProbeCandidate } from '../../jobs/claim.ts'
import { applyPolicies } from '../../limits/policies/policies.ts'
import { Parked } from '../recovery/parked.ts'
import { tail, tailLanes } from '../../jobs/survey.ts'
import type { ClaimReport } from './claim-report.ts'
import type { Level } from './floor.ts'
import { laneOf } from './lane-key.ts'
import type { LaneTurn } from './lane-key.ts'
import { candidateLanes, limitedLanesOf, plainLane } from './limited-lanes.ts'
import type { Probe } from './probes.ts'
import type { QueuePool } from './queue-pool.ts'

/** A larger batch is no faster, and its jobs start later. */
const maxBatch = 1_000
/** A claim that took this long and found little has read past many jobs that this worker cannot run. */
const slowClaimMs = 10
/** The same for a claim in order: it reads past jobs only while a session holds an old snapshot. */
const slowOrderedMs = 100
/** Bad rows handled in one claim, at most. More of them may mean that the cause is not in single rows. */
const mostBad = 20
/** How long a claim may wait for a connection between its sending and its snapshot. */
const marginMs = 1_000

export interface Taken {
  jobs: ClaimedJob[]
  /** Whether a job has a priority that waited too long: it starts before jobs of higher priority. */
  isAged: (job: ClaimedJob) => boolean
}

const always = (): boolean => true
const never = (): boolean => false

export interface ClaimsConfig {
  db: Queryable & Pick<Database, 'transaction'>
  workerId: string
  kinds: string
  /** Jobs whose rows can neither be claimed nor put aside; they are skipped for a while. */
  parked?: Parked | undefined
  report?: Pick<ClaimReport, 'took' | 'limited' | 'putAside' | 'partlyFailed' | 'displaced'> | undefined
}

/** Sends claims for one worker, and knows the leases of claims whose reply has not arrived. */
export class Claims {
  readonly #config: ClaimsConfig
  readonly #db: ClaimsConfig['db']
  readonly workerId: string
  readonly #kinds: string
  readonly #parked: Parked
  /** Leases of claims whose jobs are not in our hands yet: rows under these are on their way to us, and no orphans. */
  readonly #pending = new Set<string>()
  /** Queues whose policies are being applied. */
  readonly #displacing = new Set<string>()

  constructor(config: ClaimsConfig) {
    this.#config = config
    this.#db = config.db
    this.workerId = config.workerId
    this.#kinds = config.kinds
    this.#parked = config.parked ?? new Parked(() => undefined)
  }

  get pending(): ReadonlySet<string> {
    return this.#pending
  }

  /** Takes up to `wanted` jobs of a queue, of one priority, or of its next keys. */
  async take(pool: QueuePool, wanted: number, now: number): Promise<Taken> {
    const probing = pool.rules.nextProbe(this.#kinds, now)
    const claimant = {
      worker: this.workerId,
      lease: randomUUID(),
      queue: pool.config.name,
      kinds: probing?.kinds ?? pool.rules.kindsOf(this.#kinds),
      limit: Math.min(wanted, maxBatch, probing?.probe.left ?? Infinity),
    }
    // Until the end and not only until the reply: the queries after it take time too.
    this.#pending.add(claimant.lease)
    try {
      return await (probing === undefined
        ? this.#take(pool, claimant, now)
        : this.#takeProbes(pool, claimant, probing.probe))
    } finally {
      this.#pending.delete(claimant.lease)
    }
  }

  /** Takes jobs that probe a breaker: the first of its kinds, wherever floors and lanes are. */
  async #takeProbes(pool: QueuePool, claimant: Claimant, probe: Probe): Promise<Taken> {
    probe.reserve(claimant.limit)
    let jobs: ClaimedJob[] = []
    try {
      const found = await probeCandidates(this.#db, { ...this.#listing(claimant), limit: claimant.limit })
      if (found.length > 0) jobs = await this.#claimProbes(pool, claimant, found.slice(0, claimant.limit))
      return { jobs, isAged: never }
    } finally {
      const ids = jobs.map(({ id }) => id)
      probe.claimed(claimant.limit, ids, performance.now())
    }
  }

  async #claimProbes(
    pool: QueuePool,
    claimant: Claimant,
    found: readonly ProbeCandidate[],
  ): Promise<ClaimedJob[]> {
    if (pool.rules.isLimited) {
      const lanes = candidateLanes(pool, found, claimant.limit)
      return (await this.#claimLimited({ ...claimant, lanes })).jobs
    }
    try {
      return await claimThese(this.#db, { ...claimant, ids: found.map(({ id }) => id), isPicked: false })
    } catch (error) {
      if (!isPerhapsOneRow(error)) throw error
      return this.#takeThese(found, { claimant, error })
    }
  }

  async #take(pool: QueuePool, asked: Claimant, now: number): Promise<Taken> {
    const found = pool.floors.next(now, pool.config.agingAfterMs, pool.leastPriority)
    const level = pool.nextSort(found !== undefined) === 'plain' ? found : undefined
    const limit = pool.most(asked.limit, level?.priority)
    const claimant = limit === asked.limit ? asked : { ...asked, limit }
    if (pool.rules.isLimited) return this.#takeLimited(pool, claimant, level, now)
    if (level === undefined) return this.#takeLanes(pool, claimant, now)
    const { hints, floor, priority } = level
    const isAged = level.hasAged(now, pool.config.agingAfterMs) ? always : never
    const sentAt = performance.now()
    let jobs: ClaimedJob[]
    try {
      jobs = await claim(this.#db, { ...claimant, priority, floor })
    } catch (error) {
      if (!isPerhapsOneRow(error)) throw error
      return { jobs: await this.#takeWithoutBad(pool, { claimant, level, error }), isAged }
    }
    const tookMs = performance.now() - sentAt
    this.#config.report?.took('plain', tookMs)
    pool.floors.claimed(level, jobs.at(-1), { isFull: jobs.length === limit, hints })
    if (jobs.length < limit && tookMs > slowClaimMs) {
      // The claim has read everything up to the end: the next one need not. The survey finds what commits below
      // meanwhile.
      const request = { queue: pool.config.name, priority, floor: level.floor, agoMs: tookMs + marginMs }
      // If this query fails, the next claim reads the same rows again; the claimed jobs are ours in any case.
      const askedAt = performance.now()
      const last = await tail(this.#db, request).catch(() => undefined)
      // An answer that took longer than the margin may include a job that was stored after the claim's snapshot.
      const isWithinMargin = performance.now() - askedAt < marginMs
      // A hint that came since may be about a job below.
      if (last !== undefined && isWithinMargin && level.hints === hints) level.raise(last)
    }
    return { jobs, isAged }
  }

  /** Under limits: the jobs of one priority without keys, or of the next keys. */
  async #takeLimited(
    pool: QueuePool,
    claimant: Claimant,
    level: Level | undefined,
    now: number,
  ): Promise<Taken> {
    const turns = level === undefined ? turnsOf(pool, claimant.limit, now) : []
    if (level === undefined && turns.length === 0) return { jobs: [], isAged: never }
    const { agingAfterMs } = pool.config
    const isAged =
      level === undefined
        ? agedOf(turns, now, agingAfterMs)
        : level.hasAged(now, agingAfterMs)
          ? always
          : never
    const hints = level?.hints ?? 0
    const sentAt = performance.now()
    const lanes =
      level === undefined ? turns.flatMap(limitedLanesOf(pool)) : [plainLane(level, claimant.limit)]
    const { jobs, closed } = await this.#claimLimited({ ...claimant, lanes }).catch((error: unknown) => {
      pool.lanes.failed(turns)
      throw error
    })
    const tookMs = performance.now() - sentAt
    this.#config.report?.took('limited', tookMs)
    if (level === undefined) {
      const isOrdered = pool.ordering === 'all'
      const isSlow = tookMs > slowOrderedMs
      const keys = new Set([...closed.keys, ...closed.dry.keys()])
      pool.lanes.answeredUnderLimits(turns, jobs, { ...closed, keys, isOrdered, isSlow })
    } else {
      const last = closed.gaps.has('') ? undefined : jobs.at(-1)
      pool.floors.claimed(level, last, { isFull: jobs.length === claimant.limit || closed.isFull, hints })
    }
    pool.isBound = jobs.length < claimant.limit && (closed.isFull || closed.keys.size > 0)
    pool.closing.answered(closed, { sentAt, now: performance.now() })
    const asked = lanes.map(({ key }) => key)
    this.#config.report?.limited({ queue: claimant.queue, asked, jobs, closed })
    if (closed.hasPolicy) void this.#applyPolicies(claimant.queue, asked)
    return { jobs, isAged }
  }

  /** Ends jobs that a limit does not let wait. The claimed jobs do not wait for it; the next claim asks again if it fails. */
  async #applyPolicies(queue: string, keys: readonly (string | null)[]): Promise<void> {
    if (this.#displacing.has(queue)) return
    this.#displacing.add(queue)
    try {
      for (const displaced of await applyPolicies(this.#db, { queue, keys }))
        this.#config.report?.displaced(queue, displaced)
    } catch (error) {
      this.#config.report?.partlyFailed(error)
    } finally {
      this.#displacing.delete(queue)
    }
  }

  /** One claim; when it fails because of one row, the jobs that it would have taken without that row, under the same lock. */
  async #claimLimited(request: Parameters<typeof claimLimited>[1]): ReturnType<typeof claimLimited> {
    try {
      return await claimLimited(this.#db, request)
    } catch (error) {
      if (!isPerhapsOneRow(error)) throw error
      const jobs = await this.#db.transaction(async (tx) => {
        const found = (await pickLimited(tx, request)).map((id) => ({ id }))
        return this.#takeThese(found, { claimant: request, error, tx })
      })
      return { jobs, closed: toClosed({ isFull: true }) }
    }
  }

  async #takeLanes(pool: QueuePool, claimant: Claimant, now: number): Promise<Taken> {
    const turns = turnsOf(pool, claimant.limit, now)
    if (turns.length === 0) return { jobs: [], isAged: never }
    const isAged = agedOf(turns, now, pool.config.agingAfterMs)
    const sentAt = performance.now()
    let jobs: ClaimedJob[]
    try {
      jobs = await claimLanes(this.#db, { ...claimant, lanes: turns.map(laneOf) })
    } catch (error) {
      pool.lanes.failed(turns)
      if (!isPerhapsOneRow(error)) throw error
      const listing = { ...this.#listing(claimant), limit: Math.max(claimant.limit, mostBad) }
      const found = await claimableKeyed(this.#db, listing)
      return { jobs: await this.#takeThese(found, { claimant, error }), isAged }
    }
    const lookedMs = performance.now() - sentAt
    this.#config.report?.took('lanes', lookedMs)
    pool.lanes.answered(turns, jobs)
    if (lookedMs > slowClaimMs) await this.#raiseShort(pool, turns, lookedMs)
    return { jobs, isAged }
  }

  /** As for jobs without keys: lanes that returned less than asked were read to their end, which is not read again. */
  async #raiseShort(pool: QueuePool, turns: readonly LaneTurn[], lookedMs: number): Promise<void> {
    const short = turns.filter(({ isShort, level, hints }) => isShort && level.hints === hints)
    if (short.length === 0) return
    const askedAt = performance.now()
    const lanes = short.map(laneOf)
    const request = { queue: pool.config.name, lanes, agoMs: lookedMs + marginMs }
    const ends = await tailLanes(this.#db, request).catch(() => [])
    if (performance.now() - askedAt >= marginMs) return
    const byLane = new Map(ends.map((end) => [`${end.priority} ${end.key}`, end]))
    for (const { key, level, hints } of short) {
      const end = byLane.get(`${level.priority} ${key.name}`)
      if (end !== undefined && level.hints === hints) level.raise(end)
    }
  }

  /** A claim failed, perhaps because of one row: takes the others, and puts that one aside. */
  async #takeWithoutBad(
    pool: QueuePool,
    { claimant, level, error }: { claimant: Claimant; level: Level; error: unknown },
  ): Promise<ClaimedJob[]> {
    const { priority, floor } = level
    const listing = { ...this.#listing(claimant), limit: Math.max(claimant.limit, mostBad) }
    try {
      const found = await claimable(this.#db, { ...listing, priority, floor })
      const jobs = await this.#takeThese(found, { claimant, error })
      const ids = new Set(jobs.map(({ id }) => id))
      // A row that could not be put aside stays below the floor; the survey finds it again.
      const last = found.findLast(({ id }) => ids.has(id))
      pool.floors.claimed(level, last, { isFull: true, hints: level.hints })
      return jobs
    } catch (thrown) {
      // No single row is the cause, so the request is (its priority, say). A survey finds the priority again if it has
      // jobs.
      if (thrown === error && classify(error) === 'value') pool.floors.drop(priority)
      throw thrown
    }
  }

  #listing({ queue, kinds }: Claimant): { queue: string; kinds: string; parked: string[] } {
    return { queue, kinds, parked: this.#parked.ids() }
  }

  /**
   * Claims as many of these jobs as possible: it splits them into smaller and smaller parts until each bad row is
   * alone. If it takes none, it throws the error again, so that the queue rests for a while: perhaps all claims fail
   * and no row is bad, and then the jobs must not all be put aside at once.
   */
  async #takeThese(
    found: readonly { id: string }[],
    { claimant, error, tx }: { claimant: Claimant; error: unknown; tx?: Queryable },
  ): Promise<ClaimedJob[]> {
    const taken: ClaimedJob[] = []
    const bad: { id: string; error: unknown }[] = []
    const take = async (ids: readonly string[]): Promise<void> => {
      if (bad.length >= mostBad) return
      try {
        taken.push(...(await this.#claimThese({ ...claimant, ids, isPicked: tx !== undefined }, tx)))
      } catch (thrown) {
        if (!isPerhapsOneRow(thrown)) throw thrown
        const [only] = ids
        if (ids.length === 1 && only !== undefined) {
          bad.push({ id: only, error: thrown })
          return
        }
        const middle = Math.ceil(ids.length / 2)
        await take(ids.slice(0, middle))
        await take(ids.slice(middle))
      }
    }
    try {
      const ids = found.map(({ id }) => id)
      for (let at = 0; at < ids.length && taken.length === 0 && bad.length < mostBad; at += claimant.limit)
        await take(ids.slice(at, at + claimant.limit))
      for (const one of bad) await this.#putAside(one)
    } catch (thrown) {
      // The jobs that were taken are ours even if others failed.
      if (taken.length === 0) throw thrown
      this.#config.report?.partlyFailed(thrown)
    }
    if (taken.length === 0) throw bad[0]?.error ?? error
    return taken
  }

  /** In a transaction, under a savepoint: the transaction goes on after a failure. */
  async #claimThese(
    request: Parameters<typeof claimThese>[1],
    tx: Queryable | undefined,
  ): Promise<ClaimedJob[]> {
    if (tx === undefined) return claimThese(this.#db, request)
    await tx.query('savepoint these', [])
    try {
      return await claimThese(tx, request)
    } catch (error) {
      await tx.query('rollback to savepoint these', [])
      throw error
    }
  }

  /** A row that fails because of a value will fail again, so it is put aside; other failures may pass. */
  async #putAside({ id, error }: { id: string; error: unknown }): Promise<void> {
    if (classify(error) !== 'value') {
      this.#parked.park(id, error)
      return
    }
    try {
      const why = messageOf(error)
      const gone = await putAside(this.#db, { id, why })
      if (gone !== undefined) this.#config.report?.putAside(gone)
    } catch (thrown) {
      if (!isPerhapsOneRow(thrown)) throw thrown
      this.#parked.park(id, thrown)
    }
  }
}

/** The keys to ask next: only for priorities with reserved slots where no other slot is free. */
function turnsOf({ lanes, leastPriority, config }: QueuePool, limit: number, now: number): LaneTurn[] {
  return leastPriority === -Infinity
    ? lanes.next(limit, now, config.agingAfterMs)
    : lanes.nextReserved(limit, now, config.agingAfterMs)
}

/** Whether a job belongs to a lane whose first job had waited too long, before the claim moved its floor. */
function agedOf(turns: readonly LaneTurn[], now: number, agingAfterMs: number): Taken['isAged'] {
  const aged = turns.filter(({ level }) => level.hasAged(now, agingAfterMs))
  if (aged.length === 0) return never
  const keys = new Set(aged.map(({ key }) => key.name))
  return ({ key }) => key !== null && keys.has(key)
}
