/*
 * Two statements in a row on one connection: the second is sent before the answer to the first arrives.
 */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { Database } from '../src/db/database.ts'
import type { Bound } from '../src/db/statement.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { eventually } from './support/eventually.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
  await db.query('create table word (said text check (said <> $$nothing$$))')
})
afterAll(() => db.drop())

/** A database with one connection, so that the next query waits for both statements. */
function onePlace(limits: { statementTimeoutMs?: number } = {}): Database {
  const place = new Database({
    url: db.url,
    schema: 'stint',
    poolSize: 1,
    deadlineMs: 20_000,
    applicationName: 'query-then',
    ...limits,
  })
  onTestFinished(() => place.close())
  return place
}

function say(said: string): Bound {
  return { text: 'insert into word values ($1) returning said', values: [said] }
}

/** Repeats a word that is already stored. */
function repeat(said: string): Bound {
  return { text: `insert into word select 'again ' || said from word where said = $1`, values: [said] }
}

async function said(place: Database): Promise<unknown[]> {
  const rows = await place.query('delete from word returning said', [])
  return rows.map((row) => (row as { said: string }).said).sort()
}

test.each([{}, { statementTimeoutMs: 10_000 }])(
  'the second statement sees what the first has stored, in a transaction of its own (%o)',
  async (limits) => {
    const place = onePlace(limits)
    for (const word of ['a', 'b', 'c']) {
      expect(await place.queryThen(say(word), repeat(word))).toEqual([{ said: word }])
      expect(await said(place)).toEqual([word, `again ${word}`].sort())
    }
  },
)

test.each([
  ['the first is refused', 'nothing', 'a', ['a']],
  ['the second is refused', 'a', 'nothing', ['a']],
  ['both are refused', 'nothing', 'nothing', []],
])(
  'where %s, the call reports only the first, and the connection stays usable',
  async (_, one, other, left) => {
    const place = onePlace()
    const pid = 'select pg_backend_pid() as pid'
    const before = await place.query(pid, [])
    const asked = place.queryThen(say(one), say(other))
    if (one === 'nothing') await expect(asked).rejects.toMatchObject({ code: '23514' })
    else expect(await asked).toEqual([{ said: one }])
    // COPY works only on a client that no longer pipelines statements.
    await place.copy('copy word from stdin', 'x\n')
    expect(await said(place)).toEqual([...left, 'x'])
    expect(await place.transaction((tx) => tx.query(pid, []))).toEqual(before)
  },
)

test('where only the second is unknown to the server by its name, as behind a pooler, it is sent again', async () => {
  const place = onePlace()
  await place.queryThen(say('a'), repeat('a'))
  await said(place)
  await place.query('deallocate all', [])
  const first = { text: `insert into word values ($1) returning said /* not prepared yet */`, values: ['b'] }
  expect(await place.queryThen(first, repeat('b'))).toEqual([{ said: 'b' }])
  await eventually(async () => {
    expect(await db.query('select said from word order by said')).toEqual([
      { said: 'again b' },
      { said: 'b' },
    ])
  })
})
