import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { failingClaimsSql } from './failing-claims.sql.ts'

/** A queue that a live worker cannot claim from. */
export interface FailingClaim {
  host: string
  pid: string
  queue: string
  /** By the worker's clock. */
  since: string | null
  error: string | null
}

/** The longest failure first; the doctor and the overview report them. */
export function readFailingClaims(db: Queryable, limit: number): Promise<FailingClaim[]> {
  return run(db, failingClaimsSql, { limit }, (row: FailingClaim) => row)
}
