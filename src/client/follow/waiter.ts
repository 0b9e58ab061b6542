import { setImmediate as nextTurn } from 'node:timers/promises'
import { StintError } from '../../core/errors.ts'
import { hasEnded, readLooks, readStepLooks } from '../../jobs/follow/look.ts'
import type { Look, StepLook } from '../../jobs/follow/look.ts'
import type { Announcer } from '../../jobs/wake-up/announcer.ts'
import { Bell } from '../../jobs/wake-up/bell.ts'
import { endedIn, sayWaitingEveryMs } from '../../jobs/wake-up/ended.ts'
import type { Calls } from '../calls.ts'
import type { Listener } from '../listener.ts'

/*
 * How a client waits for jobs. A client has one Waiter, and a Waiter has one loop: it runs while a caller waits, and reads
 * all jobs that callers wait for in one statement, at first after 100 ms and then more and more slowly, up to every 500 ms.
 * A thousand callers cost the database as many statements as one.
 *
 * The poll is enough to find every end. To find it sooner, the client tells workers every 5 s that its callers wait; for
 * some seconds workers then name the jobs that end (worker/report/endings.ts), and the loop reads these jobs at once, and
 * no others. Workers may not have heard it yet when a job ends, so the loop also reads shortly after it has told them.
 * A client without waiting callers sends nothing, and then workers send nothing either.
 *
 * A database that does not answer is asked again for as long as the client's `timeout` says; then all callers get the
 * error.
 */

/** A caller that waits for a job, or follows it. */
export interface Watch {
  readonly id: string
  /** Its steps are read too. */
  readonly withSteps: boolean
  /** The job as it is now; undefined if it does not exist. */
  seen(look: Look | undefined, steps: readonly StepLook[]): void
  /** The job cannot be read. The watch is over. */
  failed(error: unknown): void
}

export interface WaiterConfig {
  calls: Calls
  announcer: Pick<Announcer, 'callersWait'>
  listener: Listener
}

const firstPollMs = 100
const slowestPollMs = 500
const pollGrowth = 1.5
/** How soon the client may tell workers again, if they seem not to know that callers wait. */
const sayAgainAfterMs = 1_000
/** How long workers may take to hear that callers wait. */
const heardWithinMs = 20
/** The LISTEN stays this long after the last caller: the next one may come soon. */
const lingerMs = 5_000
/** The most jobs that one statement reads. */
const mostIds = 1_000

export class Waiter {
  readonly #config: WaiterConfig
  readonly #watches = new Map<string, Set<Watch>>()
  /** Jobs to read at once. */
  readonly #soon = new Set<string>()
  readonly #bell = new Bell()
  #looping: Promise<void> | undefined
  #pollAt = Infinity
  #pollMs = firstPollMs
  #saidAt = -Infinity
  /** A poll found an end that no worker had named: workers may have started since the client told them last. */
  #isUnnamed = false
  #unhear: (() => Promise<void>) | undefined
  #linger: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(config: WaiterConfig) {
    this.#config = config
  }

  /** The number of jobs that callers wait for. */
  get size(): number {
    return this.#watches.size
  }

  /**
   * Tells the watch about its job after each read, the first one begins at once, until the returned function is called.
   * Throws `client-closed`.
   */
  watch(watch: Watch): () => void {
    if (this.#isClosed) throw closed()
    const watches = this.#watches.get(watch.id) ?? new Set()
    this.#watches.set(watch.id, watches.add(watch))
    this.#soon.add(watch.id)
    this.#pollMs = firstPollMs
    this.#pollBy(firstPollMs)
    this.#start()
    return () => {
      this.#remove(watch)
    }
  }

  /** Ends all watches with `client-closed`. */
  async close(): Promise<void> {
    this.#isClosed = true
    const error = closed()
    for (const watches of [...this.#watches.values()])
      for (const watch of [...watches]) this.#fail(watch, error)
    await this.#looping
    await this.#stopHearing()
  }

  #remove(watch: Watch): void {
    const watches = this.#watches.get(watch.id)
    if (watches?.delete(watch) !== true || watches.size > 0) return
    this.#watches.delete(watch.id)
    this.#soon.delete(watch.id)
    if (this.#watches.size === 0) this.#bell.ring()
  }

  #fail(watch: Watch, error: unknown): void {
    this.#remove(watch)
    watch.failed(error)
  }

  #start(): void {
    clearTimeout(this.#linger)
    this.#unhear ??= this.#config.listener.hear({
      onPayload: (payload) => {
        this.#readSoon(endedIn(payload, (id) => this.#watches.has(id)))
      },
      onConnected: () => {
        // Workers may have named jobs before.
        this.#pollBy(0)
      },
    })
    this.#looping ??= this.#loop().finally(() => {
      this.#looping = undefined
      // A caller may have come while the loop was ending.
      if (this.#watches.size > 0) this.#start()
      else this.#linger = setTimeout(() => void this.#stopHearing(), lingerMs).unref()
    })
    this.#bell.ring()
  }

  async #stopHearing(): Promise<void> {
    clearTimeout(this.#linger)
    const unhear = this.#unhear
    this.#unhear = undefined
    await unhear?.()
  }

  #readSoon(ids: readonly string[]): void {
    if (ids.length === 0) return
    for (const id of ids) this.#soon.add(id)
    this.#bell.ring()
  }

  /** All jobs are read within this time. */
  #pollBy(ms: number): void {
    const at = performance.now() + ms
    if (at >= this.#pollAt) return
    this.#pollAt = at
    this.#bell.ring()
  }

  async #loop(): Promise<void> {
    while (this.#watches.size > 0) {
      // Callers that come together share a statement.
      await nextTurn()
      this.#say()
      const isPoll = performance.now() >= this.#pollAt
      const ids = isPoll ? [...this.#watches.keys()] : [...this.#soon]
      this.#soon.clear()
      for (let at = 0; at < ids.length; at += mostIds) await this.#read(ids.slice(at, at + mostIds), isPoll)
      if (isPoll) {
        this.#pollAt = performance.now() + this.#pollMs
        this.#pollMs = Math.min(slowestPollMs, this.#pollMs * pollGrowth)
      }
      if (this.#watches.size > 0 && this.#soon.size === 0)
        await this.#bell.next(this.#pollAt - performance.now())
    }
    this.#pollAt = Infinity
  }

  /** Tells workers that callers wait, unless it has told them just now. */
  #say(): void {
    const everyMs = this.#isUnnamed ? sayAgainAfterMs : sayWaitingEveryMs
    if (performance.now() - this.#saidAt < everyMs) return
    this.#saidAt = performance.now()
    this.#isUnnamed = false
    void this.#config.announcer.callersWait().then(() => {
      if (this.#watches.size > 0) this.#pollBy(heardWithinMs)
    })
  }

  async #read(ids: readonly string[], isPoll: boolean): Promise<void> {
    const watches = ids.flatMap((id) => [...(this.#watches.get(id) ?? [])])
    const withSteps = [...new Set(watches.filter((watch) => watch.withSteps).map(({ id }) => id))]
    try {
      const { looks, steps } = await this.#config.calls.send(async (db) => ({
        looks: await readLooks(db, ids),
        // After the jobs: the steps of a dead job are complete then.
        steps: withSteps.length === 0 ? noSteps : await readStepLooks(db, withSteps),
      }))
      if (isPoll && looks.some(hasEnded)) this.#isUnnamed = true
      const byId = new Map(looks.map((look) => [look.id, look]))
      for (const watch of watches)
        if (this.#watches.get(watch.id)?.has(watch) === true)
          watch.seen(byId.get(watch.id), steps.get(watch.id) ?? [])
    } catch (error) {
      for (const watch of watches) this.#fail(watch, error)
    }
  }
}

const noSteps: ReadonlyMap<string, readonly StepLook[]> = new Map()

function closed(): StintError {
  return new StintError('client-closed', 'This Stint client was closed while a caller waited for a job.')
}
