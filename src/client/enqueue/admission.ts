import { StintError } from '../../core/errors.ts'
import { atMost } from '../../db/wait.ts'
import type { PreparedJob } from '../../jobs/new/new-job.ts'
import { passedBy, retryAfterMs, shedShare } from '../../limits/pressure/fullness.ts'
import type { Passed } from '../../limits/pressure/fullness.ts'
import { noteRefused, readPressure } from '../../limits/pressure/read-pressure.ts'
import type { QueuePressure } from '../../limits/pressure/read-pressure.ts'
import type { Connection } from '../connection.ts'
import { OwnStored } from './own-stored.ts'
import type { Sent } from './own-stored.ts'

/** How often a client that enqueues asks which queues have rules or are closed. */
const idleReadMs = 2_000
/** The same, while it enqueues into such a queue. */
const readMs = 500
/** A count that was read longer ago is read again before it decides. */
const freshMs = 1_500
/** How long an enqueue waits for that. */
const patienceMs = 1_000
/** The same inside a transaction, which may hold the last connection of the pool that the read needs. */
const patienceInTxMs = 50
/** After a failed read no enqueue waits for another one this long. */
const troubleMs = 5_000
const noteMs = 5_000

interface Ruled {
  pressure: QueuePressure
  /** When its count was read; -Infinity: not yet. */
  readAt: number
  /** This client enqueued into it since the last read. */
  isUsed: boolean
  readonly own: OwnStored
}

/** What one enqueue sends into one queue with a rule. */
interface Part extends Sent {
  readonly ruled: Ruled
  lowest: number
  jobs: number
  readonly keys: Map<string, number>
}

/** Jobs that were admitted; given back when it is known whether they are stored. */
export type Admitted = readonly Part[]

const nothing: Admitted = []
/** Never written to. */
const noKeys = new Map<string, number>()

/**
 * Decides which enqueues are refused because their queue is full or closed.
 *
 * The client's first enqueue waits for one read: which queues have a rule or are closed. From then on it reads on a timer,
 * only while it enqueues, and decides in memory: the last count plus the jobs that this process sent since. A client without
 * such queues pays a look into an empty map. Trouble with a read refuses nothing.
 */
export class Admission {
  readonly #connection: Connection
  #ruled = new Map<string, Ruled>()
  #isActive = false
  #hasRead = false
  #troubleUntil = -Infinity
  #reading: Promise<void> | undefined
  readonly #waiting = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #refused = new Map<string, number>()
  #notedAt = -Infinity
  #isClosed = false

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** A promise if this queue cannot be decided yet. */
  look(queue: string, isInTx = false): Promise<void> | undefined {
    this.#isActive = true
    if (this.#timer === undefined) this.#arm()
    if (this.#isKnown(queue) || !this.#mayWait()) return undefined
    const waiting = this.#wait(queue, isInTx ? patienceInTxMs : patienceMs).finally(() =>
      this.#waiting.delete(waiting),
    )
    this.#waiting.add(waiting)
    return waiting
  }

  /** The same for the queues of many jobs. */
  async lookAll(jobs: readonly PreparedJob[], isInTx: boolean): Promise<void> {
    let last: string | undefined
    for (const { queue } of jobs) {
      if (queue === last) continue
      last = queue
      await this.look(queue, isInTx)
      // Without any rule, no other queue has one.
      if (this.#ruled.size === 0) return
    }
  }

  /** Whether any queue has a rule or is closed, as far as is known. */
  get hasRules(): boolean {
    return this.#ruled.size > 0
  }

  /** Throws `queue-full` or `queue-closed` if one of these jobs is refused; then none of them may be sent. */
  admit(jobs: readonly PreparedJob[]): Admitted {
    if (this.#ruled.size === 0) return nothing
    const [only] = jobs
    const parts =
      jobs.length === 1 && only !== undefined ? partOf(only, this.#ruled) : partsOf(jobs, this.#ruled)
    for (const part of parts) {
      const refusal = refusalOf(part)
      if (refusal === undefined) continue
      const { queue } = part.ruled.pressure
      this.#refused.set(queue, (this.#refused.get(queue) ?? 0) + part.jobs)
      throw refusal
    }
    for (const part of parts) part.ruled.own.begin(part)
    return parts
  }

  /** Each batch once its queues are known to take it; what it admits goes into `admitted`. */
  async *admitting(
    batches: AsyncIterable<PreparedJob[]>,
    { admitted, isInTx }: { admitted: Admitted[]; isInTx: boolean },
  ): AsyncGenerator<PreparedJob[]> {
    for await (const batch of batches) {
      await this.lookAll(batch, isInTx)
      admitted.push(this.admit(batch))
      yield batch
    }
  }

  done(admitted: Admitted, isStored: boolean): void {
    for (const part of admitted) part.ruled.own.end(part, isStored)
  }

  /** Resolves when no enqueue waits to be decided. */
  async settled(): Promise<void> {
    await Promise.all(this.#waiting)
  }

  /** Waits for the last totals to be written, for a moment. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    if (this.#refused.size > 0 && this.#connection.url !== undefined)
      await atMost(
        patienceMs,
        this.#noteRefused().catch(() => undefined),
      )
  }

  #mayWait(): boolean {
    return performance.now() >= this.#troubleUntil
  }

  /** Whether this queue has no rule, or its count is fresh. */
  #isKnown(queue: string): boolean {
    if (!this.#hasRead) return false
    const ruled = this.#ruled.get(queue)
    if (ruled === undefined) return true
    ruled.isUsed = true
    return performance.now() - ruled.readAt <= freshMs
  }

  /** The first answer says which queues have rules, the next one how full this queue is. One may be under way already. */
  async #wait(queue: string, ms: number): Promise<void> {
    for (let reads = 0; reads < 3 && this.#mayWait() && !this.#isKnown(queue); reads++)
      await atMost(ms, this.#read())
  }

  #arm(): void {
    if (this.#isClosed) return
    const isUsed = [...this.#ruled.values()].some((ruled) => ruled.isUsed)
    this.#timer = setTimeout(
      () => {
        void this.#turn()
      },
      isUsed ? readMs : idleReadMs,
    ).unref()
  }

  async #turn(): Promise<void> {
    if (!this.#isActive) {
      this.#timer = undefined
      return
    }
    this.#isActive = false
    await this.#read()
    this.#arm()
  }

  /** One read at a time. Never throws. */
  #read(): Promise<void> {
    this.#reading ??= this.#readNow()
      .catch(() => {
        this.#troubleUntil = performance.now() + troubleMs
      })
      .finally(() => {
        this.#reading = undefined
      })
    return this.#reading
  }

  async #readNow(): Promise<void> {
    const asked = [...this.#ruled].filter(([, { isUsed }]) => isUsed).map(([queue]) => queue)
    for (const queue of asked) {
      const ruled = this.#ruled.get(queue)
      if (ruled !== undefined) ruled.isUsed = false
    }
    const db = await this.#connection.database()
    const sentAt = performance.now()
    const found = await readPressure(db, asked)
    this.#ruled = new Map(found.filter(isRuled).map((one) => [one.queue, this.#known(one, asked, sentAt)]))
    this.#hasRead = true
    if (this.#refused.size > 0 && performance.now() - this.#notedAt > noteMs) await this.#noteRefused()
  }

  #known(pressure: QueuePressure, asked: readonly string[], sentAt: number): Ruled {
    const before = this.#ruled.get(pressure.queue)
    const own = before?.own ?? new OwnStored()
    const isUsed = before?.isUsed ?? false
    if (!asked.includes(pressure.queue)) {
      const { count } = before?.pressure ?? pressure
      return { pressure: { ...pressure, count }, readAt: before?.readAt ?? -Infinity, isUsed, own }
    }
    // Counted from when the question was sent: the count cannot be older than that.
    own.countedAt(sentAt - (pressure.count?.agoMs ?? 0))
    return { pressure, readAt: performance.now(), isUsed, own }
  }

  async #noteRefused(): Promise<void> {
    const refused = this.#refused
    this.#refused = new Map()
    this.#notedAt = performance.now()
    await noteRefused(await this.#connection.database(), refused)
  }
}

function isRuled({ rule, takesJobs }: QueuePressure): boolean {
  return rule !== null || !takesJobs
}

/** The same for one job, which is what most calls send: without a map of queues. */
function partOf({ hint }: PreparedJob, ruled: ReadonlyMap<string, Ruled>): readonly Part[] {
  const of = ruled.get(hint.queue)
  if (of === undefined) return nothing
  const counts = hint.key !== undefined && of.pressure.rule?.keyMaxDepth != null
  const keys = counts ? new Map([[hint.key, 1]]) : noKeys
  return [{ ruled: of, jobs: 1, lowest: hint.priority, keys }]
}

/** What these jobs send into each queue with a rule. Jobs that are found in the same way share one hint. */
function partsOf(jobs: readonly PreparedJob[], ruled: ReadonlyMap<string, Ruled>): Part[] {
  const parts = new Map<string, Part>()
  let last: PreparedJob['hint'] | undefined
  let part: Part | undefined
  for (const { hint } of jobs) {
    if (hint !== last) {
      last = hint
      const of = ruled.get(hint.queue)
      part = of === undefined ? undefined : parts.get(hint.queue)
      if (of !== undefined && part === undefined) {
        part = { ruled: of, jobs: 0, lowest: hint.priority, keys: new Map() }
        parts.set(hint.queue, part)
      }
    }
    if (part === undefined) continue
    part.jobs++
    part.lowest = Math.min(part.lowest, hint.priority)
    if (hint.key !== undefined && part.ruled.pressure.rule?.keyMaxDepth != null)
      part.keys.set(hint.key, (part.keys.get(hint.key) ?? 0) + 1)
  }
  return [...parts.values()]
}

function refusalOf({ ruled, jobs, lowest, keys }: Part): StintError | undefined {
  const { pressure, own, readAt } = ruled
  const { queue, takesJobs, closeReason, rule, count } = pressure
  if (!takesJobs) return closed(queue, closeReason)
  if (rule === null || rule.whenFull === 'warn' || count === undefined) return undefined
  const share = rule.whenFull === 'shed' ? shedShare(lowest) : 1
  const level = {
    depth: count.depth + own.jobs,
    oldestMs: count.oldestMs === null ? null : count.oldestMs + performance.now() - readAt,
  }
  const passed = passedBy(rule, level, { jobs, share })
  if (passed !== undefined) return full({ queue, key: null, jobs, passed, share })
  for (const [key, keyJobs] of keys) {
    const keyDepth = (count.keys.get(key) ?? 0) + own.ofKey(key)
    const ofKey = passedBy(rule, { ...level, keyDepth }, { jobs, keyJobs, share })
    if (ofKey !== undefined) return full({ queue, key, jobs: keyJobs, passed: ofKey, share })
  }
  return undefined
}

interface Refused {
  queue: string
  key: string | null
  jobs: number
  passed: Passed
  share: number
}

function full({ queue, key, jobs, passed: { by, value, max }, share }: Refused): StintError {
  const number = (of: number): string => Math.round(of).toLocaleString('en-US')
  const reached =
    by === 'age'
      ? `its oldest ready job has waited ${number(value / 1_000)} s, and ${number(max / 1_000)} s is the most`
      : `depth ${number(value)} of ${number(max)}${by === 'key' ? ` for the key '${key ?? ''}'` : ''}`
  const part = share === 1 ? '' : ` Jobs of this priority may fill ${Math.round(share * 100)} % of it.`
  const isTooMany = by !== 'age' && jobs > Math.ceil(max * share)
  const way = isTooMany
    ? `${number(jobs)} jobs at once never fit: send fewer.`
    : 'Try again after `retryAfterMs`.'
  return new StintError(
    'queue-full',
    `The queue '${queue}' is full: ${reached}.${part} Nothing was stored. ${way}`,
    {
      retryAfterMs: retryAfterMs(),
      current: {
        queue,
        key,
        ...(by === 'age' ? { oldestMs: value, maxAgeMs: max } : { depth: value, maxDepth: max }),
      },
    },
  )
}

function closed(queue: string, reason: string | null): StintError {
  const why = reason === null ? '' : ` (${reason})`
  return new StintError(
    'queue-closed',
    `The queue '${queue}' is closed and takes no jobs${why}. Nothing was stored. \`stint queue open ${queue}\` opens it.`,
    { current: { queue, reason } },
  )
}
