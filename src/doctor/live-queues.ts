import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { liveQueuesSql } from './live-queues.sql.ts'

export interface LiveQueue {
  queue: string
  /** Whether a live worker takes its jobs. */
  isServed: boolean
}

/** Queues that are looked at; a queue for each customer is what keys are for. */
const limit = 500
const most = 1_000

/** The queues with live jobs. */
export function liveQueues(db: Queryable): Promise<LiveQueue[]> {
  return run(db, liveQueuesSql, { limit, most }, (row: LiveQueue) => row)
}
