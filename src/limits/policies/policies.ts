import type { Database } from '../../db/database.ts'
import { run } from '../../db/statement.ts'
import type { LimitPolicy } from '../rules/define-limit.ts'
import { lockSql } from './lock.sql.ts'
import { overLimitSql } from './over-limit.sql.ts'

/** A job that a limit did not let wait or run on. */
export interface Displaced {
  readonly id: string
  readonly kind: string
  readonly key: string | null
  readonly reason: string
  readonly policy: Exclude<LimitPolicy, 'wait'>
  /** The worker that runs it and was asked to stop it; null where the job was ready and is cancelled. */
  readonly worker: string | null
}

/** Applies the policies of a queue's limits (`drop-newest`, `latest-wins`) to some keys, under the lock of its claims. */
export function applyPolicies(
  db: Pick<Database, 'transaction'>,
  request: { queue: string; keys: readonly (string | null)[] },
): Promise<Displaced[]> {
  return db.transaction(async (tx) => {
    await run(tx, lockSql, request, () => undefined)
    return run(tx, overLimitSql, request, (row: Displaced) => row)
  })
}
