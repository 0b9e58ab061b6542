import type { Handlers } from '../handlers.ts'
import type { QueueConfig } from '../options.ts'
import type { Probes } from './probes.ts'
import { QueuePool } from './queue-pool.ts'

/** The queues that this worker serves, in their order. */
export class Pools {
  readonly all: readonly QueuePool[]
  readonly #byName: ReadonlyMap<string, QueuePool>

  constructor(queues: readonly QueueConfig[], handlers: Pick<Handlers, 'servedIn'>, probes?: Probes) {
    this.all = queues.map((queue) => new QueuePool(queue, handlers.servedIn(queue.name), probes))
    this.#byName = new Map(this.all.map((pool) => [pool.config.name, pool]))
  }

  get(queue: string): QueuePool | undefined {
    return this.#byName.get(queue)
  }

  get isAnyClaiming(): boolean {
    return this.all.some(({ isClaiming }) => isClaiming)
  }
}
