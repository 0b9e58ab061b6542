import { numberIn, numbersIn, textIn } from '../../../core/json/stored-json.ts'
import { peek } from '../../../core/failures/thrown.ts'
import { toWanted } from '../../../jobs/leases/wanted.ts'
import type { Wanted } from '../../../jobs/leases/wanted.ts'
import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { workersSql } from './workers.sql.ts'

/** A worker that is not known to be lost. */
export interface LiveWorker {
  id: string
  host: string | null
  pid: number | null
  /** The version of the app's code, as the worker's option says. */
  version: string | null
  stintVersion: string | null
  /** How many jobs of each queue it runs at once. */
  queues: Readonly<Record<string, number>>
  kinds: readonly string[]
  startedAt: Date
  /** Past, by the database's clock, for one that missed its heartbeats. */
  leaseUntil: Date
  /** What a person asked it to do; null: to work as usual. */
  wanted: Wanted | null
}

interface WorkerRow {
  as_of: Date
  id: string | null
  started_at: Date
  lease_until: Date
  about: unknown
  wanted: unknown
}

const limit = 500

/** Up to 500 live workers, oldest first, and the database's time. */
export async function liveWorkers(db: Queryable): Promise<{ asOf: Date; workers: LiveWorker[] }> {
  const rows = await run(db, workersSql, { limit }, (row: WorkerRow) => row)
  return { asOf: rows[0]?.as_of ?? new Date(), workers: rows.flatMap(toWorker) }
}

function toWorker({
  id,
  started_at: startedAt,
  lease_until: leaseUntil,
  about,
  wanted,
}: WorkerRow): LiveWorker[] {
  if (id === null) return []
  return [{ id, ...aboutWorker(about), startedAt, leaseUntil, wanted: toWanted(wanted) }]
}

/** What a worker wrote about itself. It may be of any version of Stint, so every field may be missing. */
export function aboutWorker(about: unknown): Omit<LiveWorker, 'id' | 'startedAt' | 'leaseUntil' | 'wanted'> {
  const kinds = peek(about, 'kinds')
  return {
    host: textIn(about, 'host'),
    pid: numberIn(about, 'pid'),
    version: textIn(about, 'version'),
    stintVersion: textIn(about, 'stintVersion'),
    queues: numbersIn(peek(about, 'queues')),
    kinds: Array.isArray(kinds) ? kinds.filter((kind) => typeof kind === 'string') : [],
  }
}
