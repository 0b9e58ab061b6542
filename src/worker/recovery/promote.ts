import { isPerhapsOneRow } from '../../db/classify.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { dueSql } from './due.sql.ts'
import type { Parked } from './parked.ts'
import { promoteTheseSql } from './promote-these.sql.ts'
import { promoteSql } from './promote.sql.ts'

/** A job that is ready again, and its position. */
export interface Returned {
  id: string
  queue: string
  priority: number
  runAt: string
  key: string | null
}

export interface Promoted {
  ready: Returned[]
  /** When the next job falls due; undefined if none waits for its time. */
  nextInMs: number | undefined
}

type PromotedRow = Returned & { inMs: number | null }

/** Makes due jobs of these queues ready, at most `limit` of each; jobs that cannot be made ready are parked. */
export async function promote(
  db: Queryable,
  { queues, limit, parked }: { queues: readonly string[]; limit: number; parked: Parked },
): Promise<Promoted> {
  try {
    const request = { queues, limit, parked: parked.ids() }
    const rows = await run(db, promoteSql, request, (row: PromotedRow) => row)
    const end = rows.pop()
    return { ready: rows, nextInMs: end?.inMs ?? undefined }
  } catch (error) {
    if (!isPerhapsOneRow(error)) throw error
  }
  const due = await run(db, dueSql, { queues, limit, parked: parked.ids() }, (row: { id: string }) => row.id)
  const ready = await parked.without(due, (ids) => run(db, promoteTheseSql, { ids }, (row: Returned) => row))
  // It is not known when the next job falls due: ask again at once, without the jobs that are parked now.
  return { ready, nextInMs: 0 }
}
