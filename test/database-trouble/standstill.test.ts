/*
 * A process that stands still, for its own loop is blocked or the machine was paused, finds its timers over before it has
 * read what has come meanwhile. That is no fault of the database.
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

function onePlace(): Database {
  const place = new Database({
    url: db.url,
    schema: 'stint',
    poolSize: 1,
    deadlineMs: 20_000,
    poolWaitMs,
    applicationName: 'standstill',
  })
  onTestFinished(() => place.close())
  return place
}

test('a connection that could not be made while the process stood still is made afterwards', async () => {
  const answer = onePlace().query('select 1 as one', [])
  standStill(poolWaitMs + 500)
  expect(await answer).toEqual([{ one: 1 }])
})

test('a connection that was given back while the process stood still is taken', async () => {
  const place = onePlace()
  await place.query('select 1', [])
  const first = place.query('select 1 as one', [])
  const second = place.query('select 2 as two', [])
  // By now the first is under way, and the second waits for its place.
  await new Promise((resolve) => setImmediate(resolve))
  standStill(poolWaitMs + 500)
  expect(await Promise.all([first, second])).toEqual([[{ one: 1 }], [{ two: 2 }]])
})

test('one that is not given back in time is not waited for longer', async () => {
  const place = onePlace()
  const { opened, open } = gate()
  const held = place.transaction(() => opened)
  await expect(place.query('select 1', [])).rejects.toThrow('timeout exceeded')
  open(undefined)
  await held
})
