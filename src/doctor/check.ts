import type { Queryable } from '../db/statement.ts'
import type { Verdict } from './finding.ts'
import type { Limits } from './limits.ts'

/**
 * One check. Its statements run in a read-only transaction, with an empty search_path and three seconds for each; an error
 * that it throws becomes a finding of level `unknown`.
 */
export type Check = (db: Queryable, limits: Limits) => Promise<Verdict>
