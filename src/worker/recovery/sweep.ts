import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { lostSql } from './lost.sql.ts'
import type { Parked } from './parked.ts'
import type { Returned } from './promote.ts'
import { sweepSql } from './sweep.sql.ts'

export interface Swept {
  /** Ready again, with a crash counted and no attempt burned. */
  returned: (Returned & { kind: string; attempt: number })[]
  /** Dead: their workers were lost too often. */
  quarantined: { id: string; queue: string; kind: string; attempt: number }[]
  /** There may be more. */
  isFull: boolean
}

/** `attempt` is the one that ended with its worker. */
type SweptRow = Returned & { kind: string; attempt: number; quarantined: boolean }

/** Takes back jobs that run under lost workers, at most `limit`; jobs that cannot be taken back are parked. */
export async function sweep(
  db: Queryable,
  { limit, crashLimit, parked }: { limit: number; crashLimit: number; parked: Parked },
): Promise<Swept> {
  const lost = await run(db, lostSql, { limit, parked: parked.ids() }, (row: { id: string }) => row.id)
  const rows = await parked.without(lost, (ids) =>
    run(db, sweepSql, { ids, crashLimit }, (row: SweptRow) => row),
  )
  return {
    returned: rows.filter(({ quarantined }) => !quarantined),
    quarantined: rows.filter(({ quarantined }) => quarantined),
    isFull: lost.length === limit,
  }
}
