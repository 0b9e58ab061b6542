import type { Queryable } from '../db/statement.ts'
import type { Verdict } from './finding.ts'
import type { Limits } from './limits.ts'

/**
 * One thing to look at. Its statements run in a transaction that only reads, with an empty search_path and three seconds
 * for each; whatever it throws becomes a finding that says so.
 */
export type Check = (db: Queryable, limits: Limits) => Promise<Verdict>
