import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { rollUpSql } from './roll-up.sql.ts'

/** How long after a minute: by then every process that is alive, and can reach the database, has written it. */
const afterMs = 20 * 60_000

/** Merges the minutes of all processes into one each, and into hours, some minutes at a time. */
export async function rollUp(db: Queryable, { signal }: { signal: AbortSignal }): Promise<void> {
  while (!signal.aborted) {
    const merged = await run(db, rollUpSql, { afterMs }, () => true)
    if (merged.length === 0) return
  }
}
