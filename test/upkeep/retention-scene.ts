import { Stint } from '../../src/index.ts'
import { movableClock } from '../support/clock.ts'
import type { TestClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { upkeepByHand } from '../support/history.ts'
import type { UpkeepHand } from '../support/history.ts'

/** A database with a clock that tests move, and the services of upkeep, which run when a test tells them to. */
export interface RetentionScene {
  readonly db: TestDatabase
  readonly stint: Stint
  readonly clock: TestClock
  readonly upkeep: UpkeepHand
  /** How many rows of a table of Stint match. */
  count(table: string, where: string, values?: unknown[]): Promise<number>
  close(): Promise<void>
}

export async function openRetentionScene(): Promise<RetentionScene> {
  const db = await createTestDatabase()
  const clock = await movableClock(db)
  const stint = new Stint({ connection: db.url })
  const upkeep = upkeepByHand(db.url)
  return {
    db,
    stint,
    clock,
    upkeep,
    count: async (table, where, values = []) => {
      const [row] = await db.query<{ count: number }>(
        `select count(*)::integer as count from stint.${table} where ${where}`,
        values,
      )
      return row?.count ?? -1
    },
    close: async () => {
      await upkeep.close()
      await stint.close()
      await db.drop()
    },
  }
}
