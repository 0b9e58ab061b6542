import { onTestFinished } from 'vitest'
import { Database } from '../../src/db/database.ts'

/** A connection to a test database as Stint's own code uses it. It closes with the test. */
export function openDatabase({ url }: { url: string }): Database {
  const db = new Database({ url, schema: 'stint', poolSize: 2, deadlineMs: 10_000, applicationName: 'test' })
  onTestFinished(() => db.close())
  return db
}
