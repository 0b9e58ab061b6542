import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { concurrencySql } from './concurrency.sql.ts'
import { setConcurrencySql } from './set-concurrency.sql.ts'

/** The concurrency of a queue in each worker, instead of that in their code. */
export interface ConcurrencyOverride {
  concurrency: number
  /** Null: until it is cleared. */
  until: Date | null
  reason: string | null
}

/** Null ends the override. */
export async function setConcurrency(
  db: Queryable,
  queue: string,
  override: ConcurrencyOverride | null,
): Promise<void> {
  const { concurrency = null, until = null, reason = null } = override ?? {}
  await run(db, setConcurrencySql, { queue, concurrency, until, reason }, () => undefined)
}

/** The override that holds now, if there is one. */
export async function concurrencyOf(db: Queryable, queue: string): Promise<ConcurrencyOverride | null> {
  const [found] = await run(db, concurrencySql, { queue }, (row: ConcurrencyOverride) => row)
  return found ?? null
}
