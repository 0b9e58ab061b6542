import { randomUUID } from 'node:crypto'
import type { Queryable } from '../db/statement.ts'
import { claim, claimKeyed } from '../jobs/claim.ts'
import type { ClaimedJob } from '../jobs/claim.ts'
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

interface Claimant {
  worker: string
  lease: string
  queue: string
  kinds: string
  limit: number
}

/** Sends claims for one worker, and knows which leases may be in the database without our knowing it. */
export class Claims {
  readonly #db: Queryable
  readonly workerId: string
  readonly #kinds: string
  /** Of claims that were sent and whose jobs are not in our hands: rows under these are on their way to us. */
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
    const lease = randomUUID()
    this.#pending.add(lease)
    try {
      return await this.#take(pool, { lease, limit: Math.min(wanted, maxBatch), now })
    } finally {
      this.#pending.delete(lease)
    }
  }

  async #take(
    pool: QueuePool,
    { lease, limit, now }: { lease: string; limit: number; now: number },
  ): Promise<Taken> {
    const level = pool.floors.next(now, pool.config.agingAfterMs)
    const isKeyed = level === undefined || (pool.mayHaveKeyed && pool.isKeyedNext)
    pool.isKeyedNext = !isKeyed
    const claimant = { worker: this.workerId, lease, queue: pool.config.name, kinds: this.#kinds, limit }
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
      // It only spares work: a failure of it must not cost the jobs that are here.
      const last = await tail(this.#db, request).catch(() => undefined)
      // Whatever was said of it since may be about a job below.
      if (last !== undefined && level.hints === hints) level.raise(last)
    }
    return { jobs, isAged }
  }

  async #takeKeyed(pool: QueuePool, claimant: Claimant): Promise<ClaimedJob[]> {
    const { limit } = claimant
    const { afterKey, keyedHints, perKey } = pool
    const maxKeys = pool.isPastStrangers ? limit : keysAtOnce
    const request = { afterKey, maxKeys, perKey }
    const { jobs, lastKey } = await claimKeyed(this.#db, { ...claimant, ...request })
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
