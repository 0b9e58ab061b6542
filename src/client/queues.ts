import type { Duration } from '../core/duration.ts'
import { nameOption } from '../core/names.ts'
import { durationOption, integerOption, invalidOption, rejectUnknown } from '../core/options.ts'
import { keyText } from '../jobs/new/enqueue-options.ts'
import { concurrencyOf, setConcurrency } from '../jobs/queue-concurrency.ts'
import type { ConcurrencyOverride } from '../jobs/queue-concurrency.ts'
import { allSettings, setSettings, settingsOf } from '../jobs/queue-settings.ts'
import type { QueueSettings } from '../jobs/queue-settings.ts'
import { mostPauses, pause, resume } from '../jobs/pauses/pauses.ts'
import type { Calls } from './calls.ts'
import { endAt, endOption } from './end-option.ts'
import type { EndOptions } from './end-option.ts'
import { resolvePause, resolveResume } from './pause-options.ts'
import type { PausedPart, PauseOptions } from './pause-options.ts'
import { closeQueue, openQueue } from '../limits/pressure/read-pressure.ts'
import type { PressureReport } from '../limits/pressure/state.ts'
import { reasonOption } from './operator/actor.ts'
import { pressureOf } from './pressure.ts'

export interface SetQueueOptions {
  /** How long finished jobs are kept; 0: a few minutes; 'default': 7 days. @default what it was */
  keep?: Duration | undefined
  /** How long dead letters are kept, or 'forever'. @default what it was */
  keepDead?: Duration | undefined
}

/** Without an end it holds until it is cleared. */
export interface SetConcurrencyOptions extends EndOptions {
  /** Jobs of the queue that each worker runs at once; 1 to 10,000. */
  concurrency: number
  /** Why, for people. */
  reason?: string | undefined
}

export interface QueuesConfig {
  /** Who pauses. */
  by: string
  /** Called when workers must read the rules of queues anew. */
  onChanged: () => void
}

export interface DrainOptions {
  /** Why, for those whose enqueues are refused; up to 1,000 characters. */
  reason?: string | undefined
}

/** Settings, pauses and drains of queues, which apply to all workers and producers: `stint.queues`. */
export class Queues {
  readonly #calls: Calls
  readonly #config: QueuesConfig

  constructor(calls: Calls, config: QueuesConfig) {
    this.#calls = calls
    this.#config = config
  }

  /** The queues that have settings or are paused, by name; of each queue up to 20 paused kinds and keys. */
  list(): Promise<QueueSettings[]> {
    return this.#calls.send(allSettings)
  }

  /** The settings of a queue, with defaults for those that are not set, and its pauses that are in effect. */
  async get(queue: string): Promise<QueueSettings> {
    const name = nameOption('queue', queue)
    return this.#calls.send((db) => settingsOf(db, name))
  }

  /** Changes the given settings and keeps the others. The next run of upkeep uses them. */
  async set(queue: string, options: SetQueueOptions): Promise<QueueSettings> {
    const name = nameOption('queue', queue)
    const { keep, keepDead, ...rest } = options
    rejectUnknown('queues.set()', rest, ['keep', 'keepDead'])
    if (keep === undefined && keepDead === undefined)
      throw invalidOption('options', 'an object with `keep`, `keepDead` or both', options)
    const change = {
      keepMs: keep === 'default' ? null : optional('keep', keep),
      keepDeadMs: keepDead === 'forever' ? null : optional('keepDead', keepDead),
    }
    return this.#calls.write(async (db) => {
      await setSettings(db, name, change)
      return settingsOf(db, name)
    })
  }

  /**
   * Stops workers from starting jobs of a queue, or of one kind or key of it, until a time or until `resume()`. Running jobs
   * go on; enqueues go on; no attempt is lost. A claim that begins after this call has returned takes no job of a paused
   * queue; workers learn of a paused kind or key within a second. The queue need not exist yet.
   */
  async pause(queue: string, options: PauseOptions): Promise<QueueSettings> {
    const request = resolvePause(queue, options, this.#config.by)
    const settings = await this.#calls.write(async (db) => {
      if (!(await pause(db, request)))
        throw invalidOption(
          request.kind === undefined ? 'key' : 'kind',
          `one of at most ${mostPauses} paused kinds and keys of a queue (pause the queue, or resume some)`,
          request.kind ?? request.key,
        )
      return settingsOf(db, request.queue)
    })
    this.#config.onChanged()
    return settings
  }

  /**
   * Ends a pause: of the queue itself, or of this kind or key of it. Each pause ends on its own: the pause of a key stays
   * when its queue is resumed. Does nothing if there is no such pause.
   */
  async resume(queue: string, options: PausedPart = {}): Promise<QueueSettings> {
    const request = resolveResume(queue, options)
    const settings = await this.#calls.write(async (db) => {
      await resume(db, request)
      return settingsOf(db, request.queue)
    })
    this.#config.onChanged()
    return settings
  }

  /**
   * Closes a queue for enqueues and lets it run empty: `queue-closed`. Its jobs run on, retries too. A producer that is
   * enqueueing learns of it within 2 s, stint.enqueue() in SQL at once. The queue need not exist yet.
   */
  async drain(queue: string, options: DrainOptions = {}): Promise<PressureReport> {
    const name = nameOption('queue', queue)
    const { reason, ...rest } = options
    rejectUnknown('queues.drain()', rest, ['reason'])
    const why = reasonOption(reason)
    return this.#calls.write(async (db) => {
      await closeQueue(db, name, why)
      return pressureOf(db, { queue: name, key: null })
    })
  }

  /** Lets a closed queue take jobs again; does nothing if it is not closed. */
  async open(queue: string): Promise<PressureReport> {
    const name = nameOption('queue', queue)
    return this.#calls.write(async (db) => {
      await openQueue(db, name)
      return pressureOf(db, { queue: name, key: null })
    })
  }

  /** The concurrency that holds now instead of that in the workers' code; null if none is set. */
  async concurrency(queue: string): Promise<ConcurrencyOverride | null> {
    const name = nameOption('queue', queue)
    return this.#calls.send((db) => concurrencyOf(db, name))
  }

  /**
   * Sets how many jobs of a queue each running worker runs at once, instead of what its code says. Workers follow within their
   * `pollFloor`; lowering it stops no job. It ends by itself, or by clearConcurrency().
   */
  async setConcurrency(queue: string, options: SetConcurrencyOptions): Promise<ConcurrencyOverride | null> {
    const name = nameOption('queue', queue)
    const { concurrency, until, for: span, reason, ...rest } = options
    rejectUnknown('queues.setConcurrency()', rest, ['concurrency', 'until', 'for', 'reason'])
    const end = endOption({ until, for: span })
    const override = {
      concurrency: integerOption('concurrency', concurrency, { min: 1, max: 10_000 }),
      until: end === undefined ? null : endAt(end, Date.now()),
      reason: keyText('reason', reason, 2_000) ?? null,
    }
    return this.#override(name, override)
  }

  /** Ends the override: workers run as many jobs as their code says. */
  async clearConcurrency(queue: string): Promise<void> {
    await this.#override(nameOption('queue', queue), null)
  }

  async #override(queue: string, override: ConcurrencyOverride | null): Promise<ConcurrencyOverride | null> {
    const stored = await this.#calls.write(async (db) => {
      await setConcurrency(db, queue, override)
      return concurrencyOf(db, queue)
    })
    this.#config.onChanged()
    return stored
  }
}

function optional(name: string, value: Duration | undefined): number | undefined {
  return value === undefined ? undefined : durationOption(name, value)
}
