import type { Duration } from '../core/duration.ts'
import { nameOption } from '../core/names.ts'
import { durationOption, invalidOption, rejectUnknown } from '../core/options.ts'
import { allSettings, setSettings, settingsOf } from '../jobs/queue-settings.ts'
import type { QueueSettings } from '../jobs/queue-settings.ts'
import type { Calls } from './calls.ts'

export interface SetQueueOptions {
  /** How long finished jobs are kept; 0: a few minutes; 'default': 7 days. @default what it was */
  keep?: Duration | undefined
  /** How long dead letters are kept, or 'forever'. @default what it was */
  keepDead?: Duration | undefined
}

/** Settings of queues, which apply to all workers that serve them: `stint.queues`. */
export class Queues {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** The queues that have settings, by name. */
  list(): Promise<QueueSettings[]> {
    return this.#calls.send(allSettings)
  }

  /** The settings of a queue, with defaults for those that are not set. */
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
}

function optional(name: string, value: Duration | undefined): number | undefined {
  return value === undefined ? undefined : durationOption(name, value)
}
