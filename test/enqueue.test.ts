import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, Stint } from '../src/index.ts'
import type { AmbientOptions } from '../src/index.ts'
import { connectTo, createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { form } from './support/form.ts'

const resize = defineJob({
  kind: 'image.resize',
  queue: 'media',
  version: 2,
  input: z.object({ imageId: z.string(), width: z.number().int().default(400) }),
  upcast: { 1: (old) => old },
  retry: { attempts: 7 },
  priority: 3,
  key: (input) => input.imageId,
  search: (input) => ({ width: input.width }),
})
const note = defineJob({ kind: 'note.embed', queue: 'notes' })

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

describe('enqueue', () => {
  test('enqueue stores the input and the options of the contract', async () => {
    const enqueued = await stint.enqueue(resize, { imageId: 'a1' })
    expect(enqueued).toEqual({
      id: enqueued.id,
      kind: 'image.resize',
      queue: 'media',
      duplicate: false,
      replaced: false,
    })
    expect(await stint.get(enqueued.id)).toMatchObject({
      state: 'ready',
      queue: 'media',
      kind: 'image.resize',
      version: 2,
      priority: 3,
      maxAttempts: 7,
      key: 'a1',
      search: { width: '400' },
      // As it was given: the worker fills in defaults, with its version of the schema.
      input: { imageId: 'a1' },
      correlationId: enqueued.id,
      attempt: 0,
      epoch: 0,
    })
  })

  test('enqueue prefers the options of a job to those of its contract', async () => {
    const { id } = await stint.enqueue(
      resize,
      { imageId: 'a1' },
      {
        queue: 'urgent',
        priority: -4,
        key: 'other',
        attempts: 2,
        timeout: '10s',
        deadline: '1h',
        delay: '5m',
        correlationId: 'order-77',
        search: { width: 1, country: 'BR' },
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        tracestate: 'a=1',
      },
    )
    const job = await stint.get(id)
    expect(job).toMatchObject({
      state: 'scheduled',
      queue: 'urgent',
      priority: -4,
      key: 'other',
      maxAttempts: 2,
      correlationId: 'order-77',
      search: { width: '1', country: 'BR' },
      tracestate: 'a=1',
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    })
    expect(Number(job?.runAt) - Number(job?.createdAt)).toBe(300_000)
    expect(Number(job?.deadlineAt) - Number(job?.runAt)).toBe(3_600_000)
    expect(await db.query('select options from stint.job where id = $1', [id])).toEqual([
      { options: { timeoutMs: 10_000 } },
    ])
  })

  test('enqueue schedules a job for a future time, and runs one for a past time at once', async () => {
    const runAt = new Date(Date.now() + 3_600_000)
    const later = await stint.enqueue(note, {}, { runAt })
    expect(await stint.get(later.id)).toMatchObject({ state: 'scheduled', runAt })
    const now = await stint.enqueue(note, {}, { runAt: new Date(Date.now() - 5_000).toISOString() })
    expect(await stint.get(now.id)).toMatchObject({ state: 'ready' })
  })

  test('enqueue coalesces concurrent calls into few inserts', async () => {
    const queue = randomUUID()
    const jobs = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => stint.enqueue(note, { n }, { queue })),
    )
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(1_000)
    const transactions = await db.query(
      'select count(distinct xmin::text)::integer as n, count(*)::integer as jobs from stint.job where queue = $1',
      [queue],
    )
    expect(transactions).toEqual([{ n: 2, jobs: 1_000 }])
  })

  test('enqueue keeps the order of calls in the order of ids', async () => {
    const jobs = await Promise.all(Array.from({ length: 100 }, (_, n) => stint.enqueue(note, { n })))
    const ids = jobs.map(({ id }) => id)
    expect([...ids].sort()).toEqual(ids)
  })

  test('enqueue takes correlation and trace from the context of its caller', async () => {
    const store = new AsyncLocalStorage<AmbientOptions>()
    const traced = new Stint({ connection: db.url, ambient: () => store.getStore() })
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const { id } = await store.run({ correlationId: 'request-9', traceparent }, () =>
      traced.enqueue(note, {}),
    )
    expect(await traced.get(id)).toMatchObject({ correlationId: 'request-9', traceparent })
    const own = await store.run({ correlationId: 'request-9' }, () =>
      traced.enqueue(note, {}, { correlationId: 'mine' }),
    )
    expect(await traced.get(own.id)).toMatchObject({ correlationId: 'mine' })
    const left = await store.run({ correlationId: 'request-9' }, () =>
      traced.enqueue(note, {}, { correlationId: undefined }),
    )
    expect(await traced.get(left.id)).toMatchObject({ correlationId: 'request-9' })
    await traced.close()
  })

  test('enqueue refuses only the caller with the bad input', async () => {
    const settled = await Promise.allSettled([
      stint.enqueue(resize, { imageId: 'a' }),
      stint.enqueue(resize, { imageId: 3 } as never),
      stint.enqueue(resize, { imageId: 'c' }),
    ])
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  test('a failed flush rejects each caller with its own job id', async () => {
    const nowhere = new Stint({ connection: db.url, schema: 'nowhere' })
    const settled = await Promise.allSettled([nowhere.enqueue(note, 1), nowhere.enqueue(note, 2)])
    const ids = settled.map((one) =>
      one.status === 'rejected' ? (one.reason as { jobIds: string[] }).jobIds : [],
    )
    expect(ids.map((own) => own.length)).toEqual([1, 1])
    expect(ids[0]).not.toEqual(ids[1])
    await nowhere.close()
  })

  test('enqueue without tables rejects with an error that says so', async () => {
    const elsewhere = new Stint({ connection: db.url, schema: 'nowhere' })
    await expect(elsewhere.enqueue(note, {})).rejects.toMatchObject({
      code: 'schema-missing',
      message: expect.stringContaining('stint migrate') as string,
    })
    await elsewhere.close()
  })

  test('a closed client answers pending calls first, and refuses new ones', async () => {
    const brief = new Stint({ connection: db.url })
    const underWay = brief.enqueue(note, { last: true })
    await brief.close()
    await expect(underWay).resolves.toMatchObject({ duplicate: false })
    await expect(brief.enqueue(note, {})).rejects.toMatchObject({ code: 'client-closed' })
  })
})

describe('in the transaction of a pg client', () => {
  test('a job in a transaction appears when it commits, in one round trip and without NOTIFY', async () => {
    const client = await connectTo(db.url)
    await client.query('begin')
    const { id } = await stint.enqueue(note, { n: 1 }, { tx: client })
    expect(await stint.get(id)).toBeUndefined()
    await client.query('commit')
    expect(await stint.get(id)).toMatchObject({ state: 'ready', input: { n: 1 } })
  })

  test('a job in a transaction disappears when it rolls back', async () => {
    const client = await connectTo(db.url)
    await client.query('begin')
    const { id } = await stint.enqueue(note, {}, { tx: client })
    const { jobs } = await stint.enqueueMany(note, [1, 2, 3], { tx: client })
    await client.query('rollback')
    for (const job of [id, ...jobs.map((one) => one.id)]) expect(await stint.get(job)).toBeUndefined()
  })

  test('a `tx` that is not a transaction, such as a pool, is refused', async () => {
    const pool = new pg.Pool({ connectionString: db.url })
    for (const tx of [{}, null, pool]) {
      await expect(stint.enqueue(note, {}, { tx: tx as never })).rejects.toMatchObject({
        code: 'invalid-input',
        issues: [{ path: 'options.tx', message: expect.any(String) as string }],
      })
    }
    await pool.end()
  })

  test('missing tables in a transaction are explained, and other errors are those of the driver', async () => {
    const client = await connectTo(db.url)
    const nowhere = new Stint({ connection: db.url, schema: 'nowhere' })
    await expect(nowhere.enqueue(note, {}, { tx: client })).rejects.toMatchObject({ code: 'schema-missing' })
    await client.query('begin read only')
    await expect(stint.enqueue(note, {}, { tx: client })).rejects.toMatchObject({ code: '25006' })
    await nowhere.close()
  })
})

describe('enqueueMany', () => {
  const many = form === 'short' ? 20_000 : 100_000
  test(`enqueueMany stores ${many} jobs in order in one transaction, and reports its progress`, async () => {
    const queue = randomUUID()
    const progress: number[] = []
    const inputs = Array.from({ length: many }, (_, n) => ({ n }))
    const result = await stint.enqueueMany(note, inputs, {
      queue,
      onProgress: ({ sent, total }) => {
        expect(total).toBe(many)
        progress.push(sent)
      },
    })
    expect(result).toMatchObject({ stored: many, duplicates: 0 })
    expect(progress).toEqual(Array.from({ length: many / 5_000 }, (_, batch) => (batch + 1) * 5_000))
    const [row] = await db.query(
      `select count(*)::integer as jobs, count(distinct xmin::text)::integer as transactions,
              bool_and((input ->> 'n')::integer = place) as in_order
         from (select input, xmin, row_number() over (order by run_at, id) - 1 as place from stint.job where queue = $1) as j`,
      [queue],
    )
    expect(row).toEqual({
      jobs: many,
      transactions: 1,
      in_order: true,
    })
  })

  test('enqueueMany keeps every character in each of its statements', async () => {
    const texts = [
      'tab\there',
      'line\nfeed',
      'return\rhere',
      'back\\slash',
      '\\N',
      '\\.',
      '"quotes"',
      '日本 😀',
      '\u2028',
      '$1 :x ?',
    ]
    for (const copies of [1, 3, 300]) {
      const queue = randomUUID()
      const inputs = texts.flatMap((text) => Array.from({ length: copies }, () => ({ text, [text]: 1 })))
      const { jobs } = await stint.enqueueMany(note, inputs, {
        queue,
        each: ({ text }: never) => ({ key: text }),
      } as never)
      const rows = await db.query<{ key: string; input: unknown }>(
        'select key, input from stint.job where queue = $1 order by id',
        [queue],
      )
      expect(rows).toEqual(inputs.map((input) => ({ key: input.text, input })))
      expect(jobs).toHaveLength(inputs.length)
    }
  })

  test('enqueueMany stores nothing of an array with one bad input', async () => {
    const queue = randomUUID()
    const inputs = [...Array.from({ length: 6_000 }, (_, n) => ({ imageId: String(n) })), { imageId: 7 }] as {
      imageId: string
    }[]
    await expect(stint.enqueueMany(resize, inputs, { queue })).rejects.toMatchObject({
      code: 'invalid-input',
    })
    expect((await stint.list({ queue })).jobs).toEqual([])
  })

  test('enqueueMany uses the common option where that of one job is undefined', async () => {
    const { jobs } = await stint.enqueueMany(note, [1], {
      priority: 7,
      each: () => ({ priority: undefined }),
    })
    expect(await stint.get(jobs[0]?.id ?? '')).toMatchObject({ priority: 7 })
  })

  test('enqueueMany gives each job its own options', async () => {
    const { jobs } = await stint.enqueueMany(note, [1, 2], {
      priority: 5,
      each: (_input, index) => ({ key: `k${index}`, delay: index * 1_000 }),
    })
    const stored = await Promise.all(jobs.map(({ id }) => stint.get(id)))
    expect(stored).toMatchObject([
      { key: 'k0', priority: 5, state: 'ready', input: 1 },
      { key: 'k1', priority: 5, state: 'scheduled', input: 2 },
    ])
  })

  test('enqueueMany stores a stream as it comes', async () => {
    const queue = randomUUID()
    async function* inputs(): AsyncGenerator<{ n: number }> {
      for (let n = 0; n < 12_000; n++) yield await Promise.resolve({ n })
    }
    const sent: number[] = []
    const result = await stint.enqueueMany(note, inputs(), {
      queue,
      onProgress: (progress) => sent.push(progress.sent),
    })
    expect(result).toMatchObject({ stored: 12_000 })
    expect(sent).toEqual([5_000, 10_000, 12_000])
  })

  test('an aborted enqueueMany stops, and stores nothing of an array', async () => {
    const queue = randomUUID()
    const controller = new AbortController()
    const inputs = Array.from({ length: 11_000 }, (_, n) => ({ n }))
    const many = stint.enqueueMany(note, inputs, {
      queue,
      signal: controller.signal,
      onProgress: () => {
        controller.abort()
      },
    })
    await expect(many).rejects.toThrow(/aborted/)
    expect((await stint.list({ queue })).jobs).toEqual([])
  })

  test.each([
    ['a unique job in the way', { unique: { key: 'taken', onConflict: 'error' as const } }, 'duplicate-job'],
    ['an idempotency key used before', { idempotencyKey: 'taken' }, 'idempotency-conflict'],
  ])('enqueueMany with %s stores nothing of an array', async (_what, options, code) => {
    const queue = randomUUID()
    const job = defineJob({ kind: `many.${queue}`, queue })
    await stint.enqueue(job, 'first', { queue, unique: { key: 'taken' }, idempotencyKey: 'taken' })
    const many = stint.enqueueMany(job, ['a', 'b', 'c'], {
      queue,
      each: (input) => (input === 'c' ? options : {}),
    })
    await expect(many).rejects.toMatchObject({ code })
    expect((await stint.list({ queue })).jobs).toHaveLength(1)
  })

  test('enqueueMany stores nothing if its callback throws, even for a few jobs', async () => {
    const queue = randomUUID()
    const complain = (): never => {
      throw new Error('no more')
    }
    await expect(stint.enqueueMany(note, [1, 2], { queue, onProgress: complain })).rejects.toThrow('no more')
    await expect(stint.enqueueMany(note, [1, 2], { queue, each: complain })).rejects.toThrow('no more')
    const client = await connectTo(db.url)
    await client.query('begin')
    await expect(stint.enqueueMany(note, [1], { queue, tx: client, onProgress: complain })).rejects.toThrow(
      'no more',
    )
    await client.query('rollback')
    expect((await stint.list({ queue })).jobs).toEqual([])
  })

  test('enqueueMany reports the duplicates among its jobs', async () => {
    const result = await stint.enqueueMany(note, ['a', 'b', 'a'], { queue: randomUUID(), unique: {} })
    expect(result).toMatchObject({ stored: 2, duplicates: 1 })
    expect(result.jobs[2]).toMatchObject({ id: result.jobs[0]?.id, duplicate: true })
  })

  test('enqueueMany of no inputs stores nothing', async () => {
    expect(await stint.enqueueMany(note, [])).toEqual({ jobs: [], stored: 0, duplicates: 0 })
  })
})
