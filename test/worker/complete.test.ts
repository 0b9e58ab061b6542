import { drizzle as drizzleOn } from 'drizzle-orm/node-postgres'
import { pgTable, serial, text } from 'drizzle-orm/pg-core'
import { Kysely, PostgresDialect } from 'kysely'
import type { Generated, Transaction } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drizzle } from '../../src/adapters/drizzle.ts'
import { kysely } from '../../src/adapters/kysely.ts'
import type { PgTransaction, TxAdapter } from '../../src/index.ts'
import type { NotesApp } from '../adapters/scene.ts'
import {
  attemptsOf,
  gate,
  newJob,
  newName,
  startFor,
  stored,
  takeLease,
  workerScene,
} from '../support/workers.ts'

const scene = workerScene()
beforeAll(async () => {
  await scene.db.query('create table public.note (id serial primary key, text text not null)')
})

type App<Tx> = Omit<NotesApp<Tx>, 'notTransaction'>

describeComplete<PgTransaction>('a pg client', undefined, (url) => {
  const pool = new pg.Pool({ connectionString: url })
  return {
    async transaction(work) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        await work(client)
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    insertNote: (tx, words) => tx.query('insert into public.note (text) values ($1)', [words]),
    close: () => pool.end(),
  }
})

const note = pgTable('note', { id: serial().primaryKey(), text: text().notNull() })
type DrizzleTx = Parameters<Parameters<ReturnType<typeof drizzleOn>['transaction']>[0]>[0]

describeComplete<DrizzleTx>('drizzle', drizzle, (url) => {
  const db = drizzleOn(url)
  return {
    transaction: (work) => db.transaction(work),
    insertNote: (tx, words) => tx.insert(note).values({ text: words }),
    close: () => db.$client.end(),
  }
})

interface Tables {
  note: { id: Generated<number>; text: string }
}

describeComplete<Transaction<Tables>>('kysely', kysely, (url) => {
  const pool = new pg.Pool({ connectionString: url })
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return {
    transaction: (work) => db.transaction().execute(work),
    insertNote: (tx, words) => tx.insertInto('note').values({ text: words }).execute(),
    close: () => db.destroy(),
  }
})

function describeComplete<Tx>(
  library: string,
  adapter: TxAdapter<Tx> | undefined,
  openApp: (url: string) => App<Tx>,
): void {
  describe(`ctx.complete in the transaction of ${library}`, () => {
    let app: App<Tx>
    beforeAll(() => {
      app = openApp(scene.db.url)
    })
    afterAll(() => app.close())

    test('ctx.complete stores the completion, the result and the children when its transaction commits', async () => {
      const job = newJob()
      const child = newJob('child')
      const words = newName('kept')
      const seen: unknown[] = []
      const worker = await startFor(scene, job, async (_input, ctx) => {
        await ctx.enqueue(child, { of: words })
        await app.transaction(async (tx) => {
          await app.insertNote(tx, words)
          await ctx.complete(tx, { result: { words }, adapter })
          seen.push(await notes(words), (await stored(scene, ctx.jobId)).state)
        })
        seen.push(await notes(words), (await stored(scene, ctx.jobId)).state)
        return 'this is not the result'
      })
      const { id } = await scene.stint.enqueue(job)
      await worker.hears('succeeded', id)
      expect(seen).toEqual([0, 'running', 1, 'succeeded'])
      expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: { words }, attempt: 1 })
      expect(await childrenOf(id)).toEqual([{ of: words }])
      expect(await attemptsOf(scene, id)).toEqual([])
    })

    test('ctx.complete in a transaction that rolls back leaves the job open, and a handler that returns succeeds', async () => {
      const job = newJob()
      const child = newJob('child')
      const words = newName('undone')
      const worker = await startFor(scene, job, async (_input, ctx) => {
        await ctx.enqueue(child, { of: words })
        const undone = app.transaction(async (tx) => {
          await app.insertNote(tx, words)
          await ctx.complete(tx, { result: words, adapter })
          throw new Error('changed my mind')
        })
        await undone.catch(() => undefined)
      })
      const { id } = await scene.stint.enqueue(job)
      await worker.hears('succeeded', id)
      expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: words, attempt: 1 })
      expect(await notes(words)).toBe(0)
      expect(await childrenOf(id)).toEqual([{ of: words }])
    })

    test('ctx.complete in a transaction that rolls back because the handler throws fails the attempt', async () => {
      const job = newJob()
      const words = newName('again')
      const worker = await startFor(scene, job, (_input, ctx) =>
        app.transaction(async (tx) => {
          await app.insertNote(tx, words)
          await ctx.complete(tx, { adapter })
          if (ctx.attempt === 1) throw new Error('not yet')
        }),
      )
      const { id } = await scene.stint.enqueue(job)
      await worker.hears('succeeded', id)
      expect(await attemptsOf(scene, id)).toMatchObject([
        { outcome: 'failed', error: { message: 'not yet' } },
      ])
      expect(await notes(words)).toBe(1)
    })

    test('a job completed by ctx.complete has succeeded, even if its handler throws after the commit', async () => {
      const job = newJob()
      const words = newName('late')
      const worker = await startFor(scene, job, async (_input, ctx) => {
        await app.transaction(async (tx) => {
          await app.insertNote(tx, words)
          await ctx.complete(tx, { result: words, adapter })
        })
        throw new Error('too late')
      })
      const { id } = await scene.stint.enqueue(job)
      await worker.hears('succeeded', id)
      expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: words })
      expect(await attemptsOf(scene, id)).toEqual([])
      expect([worker.told('leaseLost'), worker.told('failed')]).toEqual([[], []])
    })

    test('ctx.complete under a lost lease throws lease-lost and writes nothing', async () => {
      const job = newJob()
      const words = newName('lost')
      const isRunning = gate()
      const goOn = gate()
      const codes: unknown[] = []
      const worker = await startFor(scene, job, async (_input, ctx) => {
        const { epoch } = ctx.fence
        if (epoch === 1) {
          isRunning.open(undefined)
          await goOn.opened
        }
        const writing = app.transaction(async (tx) => {
          await app.insertNote(tx, words)
          await ctx.complete(tx, { result: epoch, adapter })
        })
        await writing.catch((error: unknown) => {
          codes.push((error as { code?: unknown }).code)
          throw error
        })
      })
      const { id } = await scene.stint.enqueue(job)
      await isRunning.opened
      await takeLease(scene, id)
      goOn.open(undefined)
      await worker.hears('leaseLost', id)
      await worker.hears('succeeded', id)
      expect(codes).toEqual(['lease-lost'])
      expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: 2 })
      expect(await notes(words)).toBe(1)
    })
  })
}

test('ctx.complete without a transaction throws an error that says so, and the job stays open', async () => {
  const job = newJob()
  const codes: unknown[] = []
  const worker = await startFor(scene, job, async (_input, ctx) => {
    for (const tx of [{}, null, new pg.Pool()]) {
      await ctx.complete(tx as never).catch((error: unknown) => codes.push((error as { code: string }).code))
    }
    return 'by itself'
  })
  const { id } = await scene.stint.enqueue(job)
  await worker.hears('succeeded', id)
  expect(codes).toEqual(['invalid-input', 'invalid-input', 'invalid-input'])
  expect(await stored(scene, id)).toMatchObject({ result: 'by itself' })
})

async function notes(words: string): Promise<number> {
  const rows = await scene.db.query('select from public.note where text = $1', [words])
  return rows.length
}

async function childrenOf(id: string): Promise<unknown[]> {
  const rows = await scene.db.query<{ input: unknown }>('select input from stint.job where parent_id = $1', [
    id,
  ])
  return rows.map(({ input }) => input)
}
