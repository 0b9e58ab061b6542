import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { countSettledSql } from './count-settled.sql.ts'

/** What one statement takes at most. */
const batch = 10_000
/** Longer than nearly every transaction that settles a job. */
const lookBackMs = 10 * 60_000
const allMs = 100 * 365 * 24 * 60 * 60_000

/** Moves the counts of endings to their minutes: those of the last ten minutes, or all of them. */
export async function countSettled(db: Queryable, { isWhole }: { isWhole: boolean }): Promise<void> {
  const request = { lookBackMs: isWhole ? allMs : lookBackMs }
  let taken: number | undefined
  do {
    ;[taken] = await run(db, countSettledSql, request, (row: { taken: number }) => row.taken)
  } while (taken === batch)
}
