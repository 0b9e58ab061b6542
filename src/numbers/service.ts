import type { Queryable } from '../db/statement.ts'

/** Something that one process does for all, now and then. Asked more often than that, it finds that it is not due. */
export interface Service {
  readonly name: string
  readonly everyMs: number
  readonly runOnce: (db: Queryable) => Promise<void>
}
