import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { countedStates } from './figures.ts'
import type { CountedState, QueueCounts } from './figures.ts'
import { countsSql } from './counts.sql.ts'
import { namesSql } from './names.sql.ts'
import { runningSql } from './running.sql.ts'

/** Queues that are searched in each state; an app that needs one queue per customer should use keys instead. */
const maxQueues = 500
/** Jobs that are counted in each state of a queue: an exact count of millions is expensive and of no use. */
const maxCount = 10_000
/** One more than is counted: if there is one more, the count is not complete. */
const limit = maxCount + 1

/** Counts the jobs of every queue that has some, and lists the queues of `known` even if they have none. */
export async function countQueues(db: Queryable, known: Iterable<string>): Promise<QueueCounts[]> {
  type Running = { queue: string; jobs: number }
  const runs = await run(db, runningSql, { limit }, (row: Running) => row)
  const running = new Map(runs.map(({ queue, jobs }) => [queue, jobs]))
  // All queues share one limit: when it is reached, no queue's count is known to be complete.
  const allRunning = runs.reduce((total, { jobs }) => total + jobs, 0)
  const named = await run(db, namesSql, { limit: maxQueues }, (row: { queue: string }) => row.queue)
  const queues = [...new Set([...named, ...running.keys(), ...known])]
  return run(db, countsSql, { queues, limit }, (row: CountsRow) =>
    toCounts(row, running.get(row.queue) ?? 0, allRunning),
  )
}

interface CountsRow {
  queue: string
  scheduled: number
  waiting: number
  ready: number
  /** The larger one of the ready jobs with a key and those without: each are counted up to the limit. */
  ready_seen: number
  retrying: number
  dead: number
  dead_seen: number
  oldest_ready_ms: number | null
  counted_at: Date
}

function toCounts(row: CountsRow, running: number, allRunning: number): QueueCounts {
  const { queue, scheduled, waiting, ready, retrying, dead } = row
  const jobs = { scheduled, waiting, ready, running, retrying, dead }
  // How many jobs were read to count those of the state. Scheduled and retrying jobs are in one index.
  const read: Record<CountedState, number> = {
    scheduled: scheduled + retrying,
    waiting,
    ready: row.ready_seen,
    running: allRunning,
    retrying: scheduled + retrying,
    dead: row.dead_seen,
  }
  return {
    queue,
    scheduled: Math.min(scheduled, maxCount),
    waiting: Math.min(waiting, maxCount),
    ready: Math.min(ready, maxCount),
    running: Math.min(running, maxCount),
    retrying: Math.min(retrying, maxCount),
    dead: Math.min(dead, maxCount),
    estimated: [],
    atLeast: countedStates.filter((state) => Math.max(jobs[state], read[state]) > maxCount),
    oldestReadyMs: row.oldest_ready_ms === null ? null : Math.round(row.oldest_ready_ms),
    countedAt: row.counted_at,
  }
}
