import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { liveQueuesSql } from './live-queues.sql.ts'

export interface LiveQueue {
  queue: string
  /** Whether a live worker serves it. */
  isServed: boolean
}

/** How many queues are read. More are not expected: for a separation by customer there are keys. */
const limit = 500
/** How many running jobs are read. */
const most = 1_000

/** The queues with live jobs. */
export function liveQueues(db: Queryable): Promise<LiveQueue[]> {
  return run(db, liveQueuesSql, { limit, most }, (row: LiveQueue) => row)
}
