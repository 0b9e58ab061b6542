import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { burySql } from './bury.sql.ts'
import { countSql } from './count.sql.ts'
import { endSql } from './end.sql.ts'

/** Running jobs, by the two lists that jobs/settle.ts explains. */
interface Batch {
  ids: readonly string[]
  leaseIds: readonly string[]
  /** How long the server may wait for a locked row; null keeps the limit of the transaction. */
  lockMs: number | null
}

export interface EndBatch extends Batch {
  state: 'succeeded' | 'cancelled'
  /** JSON texts of objects by job id; null if no job has such a value. */
  results: string | null
  steps: string | null
  items: string | null
}

/** Ends jobs that have a flow or records of steps; returns the ids it moved. A job that is missing had lost its lease. */
export function end(db: Queryable, batch: EndBatch): Promise<string[]> {
  return run(db, endSql, batch, toId)
}

/** Moves jobs of flows to the dead letters; returns the ids it moved. */
export function bury(db: Queryable, batch: Batch & { items: string }): Promise<string[]> {
  return run(db, burySql, batch, toId)
}

function toId(row: { id: string }): string {
  return row.id
}

/** Where workers find jobs that were released. */
export interface ReleasedHint {
  queue: string
  priority: number
  key: string | null
}

export interface Counted {
  released: ReleasedHint[]
  /** Flows that another session counts at this moment. What is left of them has to be counted again. */
  busy: string[]
}

interface CountRow extends ReleasedHint {
  type: string
  id: string | null
}

/** Counts the endings of flows, and releases the jobs that may start now. */
export async function countEndings(db: Queryable, flows: readonly string[]): Promise<Counted> {
  const rows = await run(db, countSql, { flows }, (row: CountRow) => row)
  const released = rows
    .filter(({ type }) => type === 'ready')
    .map(({ queue, priority, key }) => ({ queue, priority, key }))
  const busy = rows.flatMap(({ type, id }) => (type === 'busy' && id !== null ? [id] : []))
  return { released, busy }
}
