import type { Queryable } from '../../db/statement.ts'
import { run } from '../../db/statement.ts'
import { lockRules, markLimited } from '../synchronise.ts'
import { clearKeySql } from './clear-key.sql.ts'
import { deleteRuleSql } from './delete-rule.sql.ts'
import { overrideLimitSql } from './override-limit.sql.ts'
import { overrideRateSql } from './override-rate.sql.ts'
import { penaliseSql } from './penalise.sql.ts'
import { setKeySql } from './set-key.sql.ts'

/** Null in all but name and version: no override. */
export interface OverrideChange {
  name: string
  version: string
  amount: number | null
  until: string | null
  by: string | null
  reason: string | null
}

/** Overrides a limit or a rate; false if it has changed since it was read. */
export async function overrideRule(
  db: Queryable,
  type: 'concurrency' | 'rate',
  change: OverrideChange,
): Promise<boolean> {
  const statement = type === 'concurrency' ? overrideLimitSql : overrideRateSql
  return (await run(db, statement, change, (row: { name: string }) => row.name)).length > 0
}

export interface KeyChange {
  name: string
  key: string
  max: number | null
  weight: number | null
  tier: string | null
  until: string
  by: string | null
  reason: string | null
}

export async function setKeyRule(db: Queryable, change: KeyChange): Promise<void> {
  await run(db, setKeySql, change, () => undefined)
}

/** False if there was none. */
export async function clearKeyRule(db: Queryable, request: { name: string; key: string }): Promise<boolean> {
  return (await run(db, clearKeySql, request, (row: { key: string }) => row.key)).length > 0
}

/**
 * Deletes a limit or a rate with all that belongs to it, in a transaction of the caller. False if there is none, or a live
 * worker has it in its code.
 */
export async function deleteRule(tx: Queryable, name: string): Promise<boolean> {
  await lockRules(tx)
  const rows = await run(tx, deleteRuleSql, { name }, (row: { queue: string }) => row.queue)
  const queues = rows.filter((queue) => queue !== '')
  if (queues.length > 0) await markLimited(tx, queues)
  return rows.length > 0
}

export async function penaliseBucket(
  db: Queryable,
  request: { name: string; key: string; until: string },
): Promise<void> {
  await run(db, penaliseSql, request, () => undefined)
}
