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

  /** A job under limits has ended: its key, and queues that share a limit with it, may have room again. */
  reopen(pool: QueuePool, key: string | null): void {
    if (key !== null) pool.closing.reopenKey(key)
    const now = performance.now()
    for (const one of this.all) one.closing.reopen(now)
  }

  /** Rules of flow control were changed: limits may have room again. */
  rulesChanged(): void {
    const now = performance.now()
    for (const one of this.all) one.closing.ruleChanged(now)
  }

  /** The keys that may have work, by queue; only of queues that have had keys. */
  lanes(): Record<string, number> {
    const keyed = this.all.filter(({ lanes }) => lanes.hasKeys)
    return Object.fromEntries(keyed.map(({ config, lanes }) => [config.name, lanes.waiting]))
  }

  get isAnyClaiming(): boolean {
    return this.all.some(({ isClaiming }) => isClaiming)
  }
}
