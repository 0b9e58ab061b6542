import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { countsSql } from './counts.sql.ts'
import { namesSql } from './names.sql.ts'
import { runningSql } from './running.sql.ts'

/** Counted up to 10,000 and no further: an exact count of millions is of no use, and expensive. */
export interface Count {
  count: number
  /** False where there are more, or may be. */
  isExact: boolean
}

export interface QueueStatus {
  queue: string
  scheduled: Count
  waiting: Count
  ready: Count
  running: Count
  retrying: Count
  /** Without those in the trash and those edited into another job. */
  dead: Count
  /** How long the oldest ready job has waited, of those that were counted; null where none is ready. */
  oldestReadyMs: number | null
}

/** Most queues of a sort that are looked for; an app that needs one per customer should use keys instead. */
const maxQueues = 500
const maxCount = 10_000
/** One more, to know whether there are more. */
const limit = maxCount + 1

/** What every queue has in each state, those of `known` too where they have nothing. */
export async function queueStatus(db: Queryable, known: readonly string[]): Promise<QueueStatus[]> {
  type Running = { queue: string; jobs: number }
  const runs = await run(db, runningSql, { limit }, (row: Running) => row)
  const running = new Map(runs.map(({ queue, jobs }) => [queue, jobs]))
  const isRunningExact = runs.reduce((total, { jobs }) => total + jobs, 0) <= maxCount
  const named = await run(db, namesSql, { limit: maxQueues }, (row: { queue: string }) => row.queue)
  const queues = [...new Set([...named, ...running.keys(), ...known])]
  return run(db, countsSql, { queues, limit }, (row: CountsRow) => ({
    queue: row.queue,
    scheduled: counted(row.scheduled, row.scheduled + row.retrying),
    waiting: counted(row.waiting),
    ready: counted(row.ready, row.ready_seen),
    running: { ...counted(running.get(row.queue) ?? 0), isExact: isRunningExact },
    retrying: counted(row.retrying, row.scheduled + row.retrying),
    dead: counted(row.dead, row.dead_seen),
    oldestReadyMs: row.oldest_ready_ms === null ? null : Math.round(row.oldest_ready_ms),
  }))
}

interface CountsRow {
  queue: string
  scheduled: number
  waiting: number
  ready: number
  /** Of those with or without a key, whichever are more: each sort is counted up to the limit. */
  ready_seen: number
  retrying: number
  dead: number
  dead_seen: number
  oldest_ready_ms: number | null
}

/** `seen` is how many were looked at to count these. */
function counted(count: number, seen = count): Count {
  return { count: Math.min(count, maxCount), isExact: count <= maxCount && seen <= maxCount }
}
