import type pg from 'pg'
import { expect, onTestFinished } from 'vitest'
import { connectTo } from '../../support/database.ts'
import type { TestDatabase } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'

/** A connection that lives as long as its test. */
export async function sessionOf(db: TestDatabase): Promise<pg.Client> {
  const session = await connectTo(db.url)
  onTestFinished(() => session.end())
  return session
}

/** Waits until a session waits for a lock, or is done. */
export async function untilWaits(db: TestDatabase, session: pg.Client): Promise<void> {
  const { processID } = session as unknown as { processID: number }
  await eventually(async () => {
    const [row] = await db.query<{ state: string; wait: string | null }>(
      `select state, wait_event_type as wait from pg_stat_activity where pid = $1`,
      [processID],
    )
    expect(row?.state === 'idle' || row?.wait === 'Lock').toBe(true)
  })
}
