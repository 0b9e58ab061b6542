import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TxAdapter } from '../../src/db/foreign-tx.ts'
import { defineJob, flow, Stint, typed } from '../../src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'

/** An application that keeps notes in the table `note (id serial, text text)`, written with one library. */
export interface NotesApp<Tx> {
  /** Commits when `work` is done, rolls back when it throws. */
  transaction(work: (tx: Tx) => Promise<void>): Promise<void>
  insertNote(tx: Tx, text: string): Promise<unknown>
  /** An object that a user might pass by mistake instead of a transaction. */
  notTransaction: unknown
  close(): Promise<unknown>
}

/** What every adapter must do. `Tx` is the library's own type, which proves that it fits ours without a cast. */
export function describeAdapter<Tx>(
  library: string,
  adapter: TxAdapter<Tx>,
  openApp: (url: string) => Promise<NotesApp<Tx>>,
): void {
  describe(library, () => {
    let database: TestDatabase
    let stint: Stint<Tx>
    let app: NotesApp<Tx>

    beforeAll(async () => {
      database = await createTestDatabase()
      await database.query('create table public.note (id serial primary key, text text not null)')
      stint = new Stint({ connection: database.url, adapter })
      app = await openApp(database.url)
    })

    afterAll(async () => {
      await app.close()
      await stint.close()
      await database.drop()
    })

    test('a job is stored with the rows of the transaction that it is enqueued in', async () => {
      let id = ''
      await app.transaction(async (tx) => {
        await app.insertNote(tx, 'kept')
        id = (await stint.enqueue(embed, { text: 'kept' }, { tx })).id
        // Another connection sees neither yet: both are in the caller's transaction.
        expect(await stored(database, 'kept')).toEqual({ notes: 0, jobs: 0 })
      })
      expect(await stored(database, 'kept')).toEqual({ notes: 1, jobs: 1 })
      expect(await stint.get(id)).toMatchObject({ id, input: { text: 'kept' } })
    })

    test('a job is not stored when the transaction that it is enqueued in rolls back', async () => {
      const oops = new Error('oops')
      const failing = app.transaction(async (tx) => {
        await app.insertNote(tx, 'undone')
        await stint.enqueue(embed, { text: 'undone' }, { tx })
        throw oops
      })
      await expect(failing).rejects.toBe(oops)
      expect(await stored(database, 'undone')).toEqual({ notes: 0, jobs: 0 })
    })

    test('a flow is stored with the rows of the transaction, or not at all', async () => {
      const notes = flow('notes')
        .job('first', embed, { text: 'flow' })
        .job('then', embed, { text: 'flow' }, { after: ['first'] })
      let id = ''
      await app.transaction(async (tx) => {
        await app.insertNote(tx, 'flow')
        id = (await stint.flows.enqueue(notes, { tx, unique: "it's $1" })).id
        expect(await stored(database, 'flow')).toEqual({ notes: 0, jobs: 0 })
        expect(await stint.flows.enqueue(notes, { tx, unique: "it's $1" })).toMatchObject({
          id,
          placement: 'kept',
        })
      })
      expect(await stored(database, 'flow')).toEqual({ notes: 1, jobs: 2 })
      expect(await stint.flows.get(id)).toMatchObject({ state: 'open', uniqueKey: "it's $1" })
      const oops = new Error('oops')
      const failing = app.transaction(async (tx) => {
        await stint.flows.enqueue(notes, { tx })
        throw oops
      })
      await expect(failing).rejects.toBe(oops)
      expect(await stored(database, 'flow')).toEqual({ notes: 1, jobs: 2 })
    })

    test.for(awkwardTexts)('the input %j arrives unchanged', async (text) => {
      let id = ''
      await app.transaction(async (tx) => {
        id = (await stint.enqueue(embed, { text }, { tx })).id
      })
      expect((await stint.get(id))?.input).toEqual({ text })
    })

    test('a second unique enqueue returns that it is a duplicate', async () => {
      const unique = { key: 'once', until: 'finished' } as const
      let ids: string[] = []
      await app.transaction(async (tx) => {
        const first = await stint.enqueue(embed, { text: 'first' }, { tx, unique })
        const second = await stint.enqueue(embed, { text: 'second' }, { tx, unique })
        expect([first.duplicate, second.duplicate]).toEqual([false, true])
        ids = [first.id, second.id]
      })
      const jobs = await database.query(
        `select id, input ->> 'text' as text from stint.job where unique_key is not null`,
      )
      expect(jobs).toEqual([{ id: ids[0], text: 'first' }])
      expect(ids[1]).toBe(ids[0])
    })

    test('an argument that is not a transaction is refused', async () => {
      const refusal = { code: 'invalid-input', issues: [{ path: 'options.tx' }] }
      for (const tx of [app.notTransaction, {}, null, 'tx', 42]) {
        await expect(stint.enqueue(embed, { text: 'stray' }, { tx: tx as Tx })).rejects.toMatchObject(refusal)
      }
      expect(await stored(database, 'stray')).toEqual({ notes: 0, jobs: 0 })
    })

    test('a statement is sent exactly as it is written', async () => {
      await app.transaction(async (tx) => {
        const rows = await adapter(tx)(awkwardStatement, ['{"a": 1}', 7, null])
        expect(rows).toEqual([awkwardRow])
        expect(Object.getPrototypeOf(rows[0])).toBe(Object.prototype)
      })
    })

    test('an error of the server keeps its SQLSTATE', async () => {
      let refusal: unknown
      const failing = app.transaction(async (tx) => {
        try {
          await adapter(tx)('select $1::text from stint.nowhere', ['secret'])
        } catch (error) {
          refusal = error
          throw error
        }
      })
      await expect(failing).rejects.toThrow()
      expect(refusal).toBeInstanceOf(Error)
      expect(refusal).toMatchObject({
        code: '42P01',
        message: expect.not.stringContaining('secret') as string,
      })
    })

    test('an update returns its rows', async () => {
      await app.transaction(async (tx) => {
        await app.insertNote(tx, 'draft')
        const rows = await adapter(tx)('update note set text = $2 where text = $1 returning text', [
          'draft',
          'final',
        ])
        expect(rows).toEqual([{ text: 'final' }])
      })
    })
  })
}

const embed = defineJob({ kind: 'note.embed', input: typed<{ text: string }>() })

// Text that some library could take for a placeholder, an escape or the end of a string.
const awkwardTexts = [
  `it's "quoted" and ''doubled''`,
  'what? ?? \\? \\\\? ???',
  '$1 $2 $$ ${x} $tag$',
  ':x ::text :x: %s %L @p1 #{y}',
  'a\\b \\n \\u0041 \\',
  'line\nbreak\ttab',
  '漢字 – žluťoučký 🐎 \u2028',
  '{"json": "inside", "n": [1]}',
  '/* comment */ -- comment',
]

const awkwardStatement = `/* a name: is it ? */
  select $1::text as text, $1::text::jsonb ? 'a' as has, $1::text::jsonb ?| '{b,c}' as any,
         $2::int as number, $2::int + 1 as next, $3::text as nothing, ':x \\? ?? $9' as literal -- the end?`

const awkwardRow = {
  text: '{"a": 1}',
  has: true,
  any: false,
  number: 7,
  next: 8,
  nothing: null,
  literal: ':x \\? ?? $9',
}

async function stored(database: TestDatabase, text: string): Promise<unknown> {
  const [counts] = await database.query(
    `select (select count(*)::int from note where text = $1) as notes,
            (select count(*)::int from stint.job where input ->> 'text' = $1) as jobs`,
    [text],
  )
  return counts
}
