import { randomUUID } from 'node:crypto'
import type { Queryable } from '../db/statement.ts'
import { claim, claimKeyed } from '../jobs/claim.ts'
import type { ClaimedJob, Claimant } from '../jobs/claim.ts'
import { tail } from '../jobs/survey.ts'
import type { QueuePool } from './queue-pool.ts'

/** More in one statement is no faster, and later to be started. */
const maxBatch = 1_000
/** Keys looked at in one statement while none of them has a job for us. */
const keysAtOnce = 1_000
/** A claim that took this long and found little has read past many jobs that are not for us. */
const longLookMs = 10
/** Between sending a claim and its snapshot lies the wait for a connection. */
const marginMs = 1_000

export interface Taken {
  jobs: ClaimedJob[]
  /** They are of a priority that had waited too long, and go before what is above them. */
  isAged: boolean
}

/** Sends claims for one worker, and knows which leases may be in the database without our knowing it. */
export class Claims {
  readonly #db: Queryable
  readonly workerId: string
  readonly #kinds: string
  /** Of claims whose jobs are not in our hands yet: rows under these are on their way to us, and no strays. */
  readonly #pending = new Set<string>()

  constructor({ db, workerId, kinds }: { db: Queryable; workerId: string; kinds: string }) {
    this.#db = db
    this.workerId = workerId
    this.#kinds = kinds
  }

  get pending(): ReadonlySet<string> {
    return this.#pending
  }

  /** Takes up to `wanted` jobs of a queue, of one priority, or one round of its keys. */
  async take(pool: QueuePool, wanted: number, now: number): Promise<Taken> {
    const claimant = {
      ...{ worker: this.workerId, lease: randomUUID(), queue: pool.config.name, kinds: this.#kinds },
      limit: Math.min(wanted, maxBatch),
    }
    // To the end, and not only until the reply: what is asked afterwards takes time too.
    this.#pending.add(claimant.lease)
    try {
      return await this.#take(pool, claimant, now)
    } finally {
      this.#pending.delete(claimant.lease)
    }
  }

  async #take(pool: QueuePool, claimant: Claimant, now: number): Promise<Taken> {
    const { limit } = claimant
    const level = pool.floors.next(now, pool.config.agingAfterMs)
    const isKeyed = level === undefined || (pool.mayHaveKeyed && pool.isKeyedNext)
    pool.isKeyedNext = !isKeyed
    if (isKeyed) return { jobs: await this.#takeKeyed(pool, claimant), isAged: false }
    const { hints, floor, priority } = level
    const isAged = level.hasAged(now, pool.config.agingAfterMs)
    const sentAt = performance.now()
    const jobs = await claim(this.#db, { ...claimant, priority, floor })
    level.claimed(jobs.at(-1), { isFull: jobs.length === limit, hints })
    const lookedMs = performance.now() - sentAt
    if (jobs.length < limit && lookedMs > longLookMs) {
      // All up to the end was looked at; not again. What is committed below meanwhile, the survey finds.
      const request = { queue: pool.config.name, priority, floor: level.floor, agoMs: lookedMs + marginMs }
      // Where it fails, the next claim looks again; the jobs of this one are ours all the same.
      const askedAt = performance.now()
      const last = await tail(this.#db, request).catch(() => undefined)
      // An answer that took longer than the margin may tell of a job that came after the claim had looked.
      const isOfThen = performance.now() - askedAt < marginMs
      // Whatever was said of it since may be about a job below.
      if (last !== undefined && isOfThen && level.hints === hints) level.raise(last)
    }
    return { jobs, isAged }
  }

  async #takeKeyed(pool: QueuePool, claimant: Claimant): Promise<ClaimedJob[]> {
    const { limit } = claimant
    const { afterKey, keyedHints, perKey } = pool
    const maxKeys = pool.isPastStrangers ? limit : keysAtOnce
    const { jobs, lastKey } = await claimKeyed(this.#db, { ...claimant, afterKey, maxKeys, perKey })
    pool.afterKey = lastKey ?? ''
    pool.isPastStrangers = jobs.length > 0 || lastKey === undefined
    // One of each key as long as there are keys enough; a queue of few keys gives more of each.
    if (lastKey !== undefined) pool.perKey = 1
    else if (jobs.length > 0) pool.perKey = Math.min(limit, perKey * 2)
    // A round that began in the middle has not seen the keys before.
    pool.mayHaveKeyed =
      jobs.length > 0 || lastKey !== undefined || afterKey !== '' || pool.keyedHints !== keyedHints
    return jobs
  }
}
