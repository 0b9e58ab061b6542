/*
 * Runs the jobs of a test database until nothing is left to do at the time of its clock.
 *
 * Each drain has a runtime of its own: the parts of a real worker, with a new lease, that claim, attempt and settle. It
 * works in rounds. A round takes back the jobs of lost workers, fires schedules, makes due jobs ready, surveys the queues,
 * and waits until every job that could be claimed has ended. The drain is over after a round in which nothing happened:
 * the claims themselves have then said that there is nothing to claim, so limits, pauses and breakers count as they do in
 * a real worker. No round waits for a time: the clock stands still.
 *
 * A new runtime, because it remembers nothing: what a worker would have in memory is gone between two drains, as after a
 * deploy. The probe of `steps.ts` sees each step of a handler, and can take the memory of a runtime away behind one of them.
 */
import type { Duration } from '../core/duration.ts'
import { StintError } from '../core/errors.ts'
import { messageOf } from '../core/failures/thrown.ts'
import { nameOption } from '../core/names.ts'
import { durationOption, integerOption, invalidOption, rejectUnknown } from '../core/options.ts'
import type { Database } from '../db/database.ts'
import { run } from '../db/statement.ts'
import { Handlers } from '../worker/handlers.ts'
import { resolveWorkerOptions } from '../worker/options.ts'
import type { QueueConfig } from '../worker/options.ts'
import type { StepProbe } from '../worker/attempt/steps/probe.ts'
import { Parked } from '../worker/recovery/parked.ts'
import { promote } from '../worker/recovery/promote.ts'
import { sweep } from '../worker/recovery/sweep.ts'
import type { Events } from '../worker/report/events.ts'
import { FlowUpkeep } from '../worker/upkeep/flows.ts'
import { Runtime } from '../worker/runtime.ts'
import type { OwnConfig } from '../worker/runtime.ts'
import { until } from '../worker/until.ts'
import { burySql } from './bury.sql.ts'
import { countStatesSql } from './count-states.sql.ts'
import { heldBySql } from './held-by.sql.ts'
import { loseWorkerSql } from './lose-worker.sql.ts'
import { openQueuesSql } from './open-queues.sql.ts'
import type { TestSteps } from './steps.ts'

export interface DrainOptions {
  /** Only jobs of these queues. @default all queues */
  queues?: readonly string[] | undefined
  /** Jobs to start, at most; a batch counts as the number of its jobs, and is not divided. @default no limit */
  limit?: number | undefined
  /** How long the drain may take, by the clock of the machine. @default '10s' */
  timeout?: Duration | undefined
}

/** Jobs that were attempted or ended in a drain, by the state that they are in now. */
export interface Drained {
  succeeded: number
  /** They failed, and will be tried again. */
  retrying: number
  dead: number
  cancelled: number
  /** They were snoozed. */
  scheduled: number
  /** They wait for something else than a time. */
  waiting: number
  /** Ready jobs that are left: without a handler here, paused, held back by a limit or a breaker, or past `limit`. */
  ready: number
}

/** What the drains of one test have in common. */
export interface DrainConfig {
  db: Database
  url: string
  /** What the worker of the test is made of. */
  own: OwnConfig
  /** What a test sees and changes of the steps of handlers. */
  steps: TestSteps
}

const promoteBatch = 500
/** Flows that cannot be counted are left for people, as by a real worker. */
const tending = { signal: new AbortController().signal, onPassedBy: (): void => undefined }
const noQueues: readonly string[] = []

export async function drain(config: DrainConfig, options: DrainOptions = {}): Promise<Drained> {
  const { queues, limit, timeout = '10s', ...rest } = options
  rejectUnknown('drain()', rest, ['queues', 'limit', 'timeout'])
  if (queues !== undefined && (!Array.isArray(queues) || queues.length === 0))
    throw invalidOption('queues', 'a list of at least one queue', queues)
  const session = new Drain(config, {
    queues: queues?.map((queue) => nameOption('queues', queue)),
    limit: limit === undefined ? Infinity : integerOption('limit', limit, { min: 1 }),
    timeoutMs: durationOption('timeout', timeout, { minMs: 1 }),
  })
  return session.run()
}

interface Bounds {
  queues: readonly string[] | undefined
  limit: number
  timeoutMs: number
}

/** One call of drain(). */
class Drain {
  readonly #config: DrainConfig
  readonly #bounds: Bounds
  readonly #handlers: Handlers
  readonly #timesOutAt: number
  /** The jobs that were started, or ended without a start. */
  readonly #touched = new Set<string>()
  #started = 0
  /** Rises with everything that a round does. */
  #acts = 0
  #trouble: unknown
  /** Why the runtime cannot go on. */
  #fatal: Error | undefined

  constructor(config: DrainConfig, bounds: Bounds) {
    this.#config = config
    this.#bounds = bounds
    this.#handlers = inProcess(config.own.handlers)
    this.#timesOutAt = performance.now() + bounds.timeoutMs
  }

  async run(): Promise<Drained> {
    const { db, own } = this.#config
    if (own.handlers.kinds.length === 0)
      throw new StintError(
        'unknown-handler',
        'drain() has no handlers to run jobs with: testStint({ handlers: (worker) => worker.handle(contract, handler) }).',
      )
    await run(db, burySql, {}, () => undefined)
    const silence = this.#listen(own.events)
    let served = noQueues
    try {
      // A handler may enqueue into a queue that had no job before.
      for (;;) {
        const queues = await this.#queues()
        if (queues.every((queue) => served.includes(queue)) || this.#isFull) break
        served = queues
        // A worker that has lost its memory is followed by another one.
        let isDropped: boolean
        do isDropped = await this.#serve(queues)
        while (isDropped)
      }
    } finally {
      silence()
    }
    return this.#count(served)
  }

  get #isFull(): boolean {
    return this.#started >= this.#bounds.limit
  }

  /** The queues that have jobs, and those that contracts and options name. */
  async #queues(): Promise<string[]> {
    const { queues } = this.#bounds
    if (queues !== undefined) return [...queues]
    const { db, own } = this.#config
    const open = await run(db, openQueuesSql, {}, (row: { queue: string }) => row.queue)
    const named = [
      ...own.worker.queues.map(({ name }) => name),
      ...own.handlers.contracts.map((one) => one.queue),
    ]
    return [...new Set([...named, ...open])]
  }

  /** Returns true if the worker has lost its memory: its jobs are ready for another one. */
  async #serve(queues: readonly string[]): Promise<boolean> {
    const { own, url, steps } = this.#config
    const probe = steps.probe(() => {
      runtime.parts.tenure.close()
    })
    const configs = queues.map((name) => own.worker.queues.find((one) => one.name === name) ?? oneByOne(name))
    const runtime = new Runtime({
      ...own,
      handlers: this.#handlers,
      worker: {
        ...own.worker,
        queues: configs,
        // Queues share no slots: what a queue does depends on no other one.
        concurrency: configs.reduce((sum, { concurrency }) => sum + concurrency, 0),
        // NOTIFY and upkeep would act between two drains as well.
        notify: false,
        upkeep: false,
        health: undefined,
      },
      url,
      giveUp: (error) => {
        this.#fatal = error
      },
      drain: () => undefined,
      probe,
    })
    try {
      await runtime.start()
    } catch (error) {
      await runtime.abandon()
      throw error
    }
    const hurry = new AbortController()
    const removeLimit = own.events.on('started', () => {
      if (++this.#started >= this.#bounds.limit) runtime.parts.tenure.close()
    })
    try {
      await this.#rounds(runtime, probe)
    } finally {
      removeLimit()
      hurry.abort()
      if (probe.isDropped) await this.#takeOver(runtime)
      await runtime.stop({ drainMs: 0, hurry: hurry.signal, isCut: probe.isDropped })
    }
    return probe.isDropped
  }

  /** Takes the jobs of a worker over, as after a kill. Done before it stops, so that it cannot give them back itself. */
  async #takeOver({ workerId, parts }: Runtime): Promise<void> {
    const { db, own } = this.#config
    const { crashLimit } = own.worker
    // Transactions end with the process that began them, and hold the rows of their jobs until then.
    parts.txDb.abandon()
    await run(db, loseWorkerSql, { id: workerId }, () => undefined)
    const isHeld = async (): Promise<boolean> =>
      (await run(db, heldBySql, { id: workerId }, () => undefined)).length > 0
    while ((await isHeld()) && performance.now() < this.#timesOutAt)
      await sweep(db, { limit: promoteBatch, crashLimit, parked: new Parked(() => undefined) })
  }

  async #rounds({ parts }: Runtime, probe: StepProbe): Promise<void> {
    const { db, served, scout, recovery, scheduler, held, pools, dispatcher, settler } = parts
    const isAtRest = (): boolean =>
      !pools.isAnyClaiming && (this.#isFull ? dispatcher.running === 0 : held.size === 0 && !scout.isLooking)
    let before: number
    do {
      before = this.#acts
      await recovery.sweeping.runOnce()
      await scheduler.fireDue()
      // What the settles of the round before have released, and what the leader of real workers does for flows.
      await settler.stop()
      this.#acts += await new FlowUpkeep({ olderThanMs: 0 }).tendNow(db, tending)
      const parked = new Parked(() => undefined)
      for (let isMore = true; isMore;) {
        const { ready } = await promote(db, { queues: served.queues, limit: promoteBatch, parked })
        scout.returned(ready)
        this.#acts += ready.length
        isMore = ready.length > 0
      }
      scout.surveySoon()
      const isOver = (): boolean => isAtRest() || this.#fatal !== undefined || probe.isDropped
      await until(isOver, { ms: this.#timesOutAt - performance.now() })
      if (probe.isDropped) return
      if (this.#fatal !== undefined) throw this.#fatal
      if (!isAtRest()) throw this.#timedOut(parts.held.all().map(({ job }) => job))
    } while (this.#acts !== before && !this.#isFull)
  }

  #listen(events: Events): () => void {
    const touch = ({ id }: { id: string }): void => {
      this.#touched.add(id)
      this.#acts++
    }
    const act = (): void => {
      this.#acts++
    }
    const silences = [
      ...(['started', 'dead', 'cancelled', 'shed', 'superseded'] as const).map((name) =>
        events.on(name, touch),
      ),
      ...(['failed', 'snoozed', 'fired'] as const).map((name) => events.on(name, act)),
      events.on('swept', ({ quarantined }) => {
        for (const one of quarantined) touch(one)
        act()
      }),
      events.on('trouble', ({ error }) => (this.#trouble ??= error)),
    ]
    return () => {
      for (const silence of silences) silence()
    }
  }

  async #count(queues: readonly string[]): Promise<Drained> {
    const { db } = this.#config
    const ids = [...this.#touched]
    type Row = { state: string; jobs: number }
    const rows = await run(db, countStatesSql, { ids, queues }, (row: Row) => [row.state, row.jobs] as const)
    const {
      succeeded = 0,
      retrying = 0,
      dead = 0,
      cancelled = 0,
      scheduled = 0,
      waiting = 0,
      left = 0,
    } = Object.fromEntries(rows) as Record<string, number | undefined>
    // A worker would try again until it works; a test should see the reason.
    if (left > 0 && this.#trouble !== undefined)
      throw new StintError(
        'database-rejected',
        `drain() left ${left} ready jobs, and the database was in trouble: ${messageOf(this.#trouble)}.`,
        { cause: this.#trouble },
      )
    return { succeeded, retrying, dead, cancelled, scheduled, waiting, ready: left }
  }

  #timedOut(jobs: readonly { id: string; kind: string }[]): StintError {
    const names = jobs.slice(0, 5).map(({ kind, id }) => `'${kind}' (${id})`)
    const what =
      jobs.length > 0
        ? `Still running: ${names.join(', ')}${jobs.length > names.length ? ' and more' : ''}. Its handler does not end, or takes longer`
        : 'Jobs keep coming: a job that enqueues or snoozes itself without a delay never lets the queue run empty'
    return new StintError(
      'drain-timeout',
      `drain() was not done after ${this.#bounds.timeoutMs} ms. ${what}. Raise it with drain({ timeout: '30s' }), or stop early with drain({ limit: 10 }).`,
      { jobIds: jobs.map(({ id }) => id), cause: this.#trouble },
    )
  }
}

/** The options of queues that a test says nothing about: the next job starts when the ending of the last one is stored. */
export const oneAtATime = { concurrency: 1, prefetch: 0 }

function oneByOne(name: string): QueueConfig {
  const [queue] = resolveWorkerOptions({ queues: { [name]: oneAtATime } }).queues
  if (queue === undefined) throw new Error(`No queue '${name}'`)
  return queue
}

/** The same handlers without isolation: a child would load the file of a worker, and not the handlers of the test. */
function inProcess(handlers: Handlers): Handlers {
  const copy = new Handlers()
  copy.middleware.push(...handlers.middleware)
  for (const kind of handlers.kinds) {
    const registered = handlers.get(kind)
    if (registered.type === 'batch')
      copy.addBatch(registered.contract, registered.handler, { size: registered.size })
    else copy.add(registered.contract, registered.handler, {})
  }
  return copy
}
