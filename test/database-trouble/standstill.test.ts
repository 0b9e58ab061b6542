/*
 * A process that stands still, because its event loop is blocked or the machine was paused, sees its timers fire before it
 * reads what arrived meanwhile. The database must not be blamed for that.
 */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { standStill } from '../support/stand-still.ts'
import { gate } from '../support/workers.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const poolWaitMs = 2_000

function oneConnection(): Database {
  const database = new Database({
    url: db.url,
    schema: 'stint',
    poolSize: 1,
    deadlineMs: 20_000,
    poolWaitMs,
    applicationName: 'standstill',
  })
  onTestFinished(() => database.close())
  return database
}

test('a connection that could not be opened while the process stood still is opened afterwards', async () => {
  const answer = oneConnection().query('select 1 as one', [])
  standStill(poolWaitMs + 500)
  expect(await answer).toEqual([{ one: 1 }])
})

test('a connection that was given back while the process stood still is used', async () => {
  const database = oneConnection()
  await database.query('select 1', [])
  const first = database.query('select 1 as one', [])
  const second = database.query('select 2 as two', [])
  // By now the first query runs, and the second waits for the connection.
  await new Promise((resolve) => setImmediate(resolve))
  standStill(poolWaitMs + 500)
  expect(await Promise.all([first, second])).toEqual([[{ one: 1 }], [{ two: 2 }]])
})

test('a call does not wait longer than poolWaitMs for a connection that is not given back', async () => {
  const database = oneConnection()
  const { opened, open } = gate()
  const held = database.transaction(() => opened)
  await expect(database.query('select 1', [])).rejects.toThrow('timeout exceeded')
  open(undefined)
  await held
})
