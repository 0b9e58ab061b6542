import type { HeldJob } from './held-job.ts'
import type { QueuePool } from '../claim/queue-pool.ts'

/** One call of a handler: a job, or a batch of them. */
export class Slot {
  readonly pool: QueuePool
  readonly batch: readonly HeldJob[]
  /** Those of them whose ending is not decided. */
  open: number
  /** Its handler goes on although each of its jobs was given up. */
  isStuck = false

  constructor(pool: QueuePool, batch: readonly HeldJob[]) {
    this.pool = pool
    this.batch = batch
    this.open = batch.length
    for (const held of batch) held.slot = this
  }
}
