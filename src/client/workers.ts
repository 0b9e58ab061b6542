import { StintError } from '../core/errors.ts'
import { keyText } from '../jobs/new/enqueue-options.ts'
import { invalidOption, rejectUnknown } from '../core/options.ts'
import { isUuid } from '../core/uuid.ts'
import { want } from '../jobs/leases/wanted.ts'
import type { Wanted } from '../jobs/leases/wanted.ts'
import { liveWorkers } from '../stats/read/fleet/workers.ts'
import type { LiveWorker } from '../stats/read/fleet/workers.ts'
import type { Calls } from './calls.ts'

export interface ControlOptions {
  /** Why, for people. */
  reason?: string | undefined
}

/** Running workers, and how to control them from outside: `stint.workers`. A worker acts within its `pollFloor`. */
export class Workers {
  readonly #calls: Calls
  readonly #onChanged: () => void

  constructor(calls: Calls, { onChanged }: { onChanged: () => void }) {
    this.#calls = calls
    this.#onChanged = onChanged
  }

  /** Up to 500 live workers, oldest first. */
  async list(): Promise<LiveWorker[]> {
    return (await this.#calls.send(liveWorkers)).workers
  }

  /** The worker claims nothing and finishes the jobs that run, until it is resumed. */
  async pause(id: string, options: ControlOptions = {}): Promise<void> {
    await this.#want('workers.pause()', id, 'paused', options)
  }

  /** A paused worker works again. */
  async resume(id: string, options: ControlOptions = {}): Promise<void> {
    await this.#want('workers.resume()', id, undefined, options)
  }

  /** The worker stops as on SIGTERM: it claims nothing, and running jobs get its `drain`. This cannot be undone. */
  async drain(id: string, options: ControlOptions = {}): Promise<void> {
    await this.#want('workers.drain()', id, 'draining', options)
  }

  async #want(
    what: string,
    id: string,
    state: Wanted['state'] | undefined,
    options: ControlOptions,
  ): Promise<void> {
    if (!isUuid(id)) throw invalidOption('id', 'the id of a worker, a UUID', id)
    const { reason, ...rest } = options
    rejectUnknown(what, rest, ['reason'])
    const said = keyText('reason', reason, 2_000) ?? null
    await this.#calls.write(async (db) => {
      if (!(await want(db, id, state === undefined ? null : { state, reason: said }))) throw notFound(id)
    })
    this.#onChanged()
  }
}

function notFound(id: string): StintError {
  return new StintError(
    'worker-not-found',
    `No live worker has the id ${id}. \`stint worker list\` shows those that are.`,
  )
}
