import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import type { Returned } from './promote.ts'
import { sweepSql } from './sweep.sql.ts'

export interface Swept {
  /** Ready again, with a crash counted and no attempt burned. */
  returned: Returned[]
  /** Dead: their workers were lost too often. */
  quarantined: { id: string; queue: string; kind: string }[]
}

type SweptRow = Returned & { kind: string; quarantined: boolean }

/** Takes back what runs under lost workers, at most `limit` jobs. */
export async function sweep(db: Queryable, request: { limit: number; crashLimit: number }): Promise<Swept> {
  const rows = await run(db, sweepSql, request, (row: SweptRow) => row)
  return {
    returned: rows.filter(({ quarantined }) => !quarantined),
    quarantined: rows.filter(({ quarantined }) => quarantined),
  }
}
