import { run } from '../db/statement.ts'
import type { Queryable, Statement } from '../db/statement.ts'
import { pruneErrorsSql } from './prune-errors.sql.ts'
import { pruneStatsSql } from './prune-stats.sql.ts'
import type { Service } from './service.ts'

const keepMs = 30 * 86_400_000
const batch = 5_000

/** Forgets minutes and hours after 30 days. Many may do so at once: each takes what no other one has. */
export const retentionService: Service = {
  name: 'forget-numbers',
  everyMs: 3_600_000,
  runOnce: async (db) => {
    await pruneNumbers(db)
  },
}

/** Batch after batch, so that no statement holds much for long; gives how many rows are gone. */
export async function pruneNumbers(db: Queryable, { limit = batch } = {}): Promise<number> {
  return (await prune(db, pruneStatsSql, limit)) + (await prune(db, pruneErrorsSql, limit))
}

async function prune(
  db: Queryable,
  statement: Statement<'keepMs' | 'limit'>,
  limit: number,
): Promise<number> {
  for (let total = 0; ;) {
    const gone = await run(db, statement, { keepMs, limit }, () => true)
    total += gone.length
    if (gone.length < limit) return total
  }
}
