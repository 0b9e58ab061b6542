import { beforeAll, describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import {
  eventually,
  newJob,
  newName,
  startFor,
  startWorker,
  stored,
  workerScene,
} from '../support/workers.ts'

const scene = workerScene()
beforeAll(async () => {
  await scene.db.query('create table public.charge (customer text not null)')
})

const charge = 'insert into public.charge values ($1)'

async function chargesOf(customer: string): Promise<number> {
  return (await scene.db.query('select from public.charge where customer = $1', [customer])).length
}

describe('ctx.once', () => {
  test('ctx.once returns the stored result to a second attempt without running the work again', async () => {
    const job = newJob()
    const customer = newName('customer')
    let runs = 0
    const got: unknown[] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const receipt = await ctx.once(customer, async (tx) => {
        runs++
        await tx.query(charge, [customer])
        return { receipt: runs, at: new Date(0) }
      })
      got.push(receipt)
      if (ctx.attempt < 3) throw new Error('after the charge')
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    const first = { receipt: 1, at: '1970-01-01T00:00:00.000Z' }
    expect({ runs, got }).toEqual({ runs: 1, got: [first, first, first] })
    expect(await chargesOf(customer)).toBe(1)
  })

  test('ctx.once returns the first result to a second job, and one result to all callers at the same time', async () => {
    const job = newJob()
    const customer = newName('customer')
    let runs = 0
    const worker = await startWorker(scene, { queues: { [job.queue]: 8 } }, (one) =>
      one.handle(job, (_input, ctx) =>
        ctx.once(customer, async (tx) => {
          await tx.query(charge, [customer])
          return ++runs
        }),
      ),
    )
    const { jobs } = await scene.stint.enqueueMany(job, Array.from({ length: 20 }))
    for (const { id } of jobs) {
      await worker.hears('succeeded', id)
      expect(await stored(scene, id)).toMatchObject({ result: 1 })
    }
    expect(await chargesOf(customer)).toBe(1)
  })

  test('ctx.once frees its key when the work throws, and the writes of the work are rolled back', async () => {
    const job = newJob()
    const customer = newName('customer')
    const worker = await startFor(scene, job, (_input, ctx) =>
      ctx.once(customer, async (tx) => {
        await tx.query(charge, [customer])
        if (ctx.attempt === 1) throw new Error('declined')
        return ctx.attempt
      }),
    )
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('failed', id)
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ result: 2 })
    expect(await chargesOf(customer)).toBe(1)
  })

  test('ctx.once keeps the keys of each kind apart', async () => {
    const queue = newName()
    const [a, b] = ['once.a', 'once.b'].map((kind) => defineJob({ kind: newName(kind), queue }))
    if (a === undefined || b === undefined) throw new Error('There are two')
    const worker = await startWorker(scene, { queues: { [queue]: 1 } }, (one) => {
      for (const contract of [a, b])
        one.handle(contract, (_input, ctx) => ctx.once('same', () => Promise.resolve(ctx.kind)))
    })
    for (const contract of [a, b, a]) {
      const { id } = await scene.stint.enqueue(contract)
      await worker.hears('succeeded', id)
      expect(await stored(scene, id)).toMatchObject({ result: contract.kind })
    }
  })

  test('ctx.once forgets a key when its retention is over', async () => {
    const job = newJob()
    let runs = 0
    const worker = await startFor(scene, job, (_input, ctx) =>
      ctx.once('brief', () => Promise.resolve(++runs), { for: '50ms' }),
    )
    const first = await scene.stint.enqueue(job)
    await worker.hears('succeeded', first.id)
    const hasExpired = async (): Promise<boolean> => {
      const rows = await scene.db.query(
        'select from stint.effect where job_id = $1 and expires_at <= stint.now()',
        [first.id],
      )
      return rows.length === 1
    }
    await eventually(hasExpired, 'the key has expired')
    const second = await scene.stint.enqueue(job)
    await worker.hears('succeeded', second.id)
    expect(await stored(scene, second.id)).toMatchObject({ result: 2 })
  })

  test.each(['before', 'after'] as const)(
    'ctx.once runs its work once when the connection dies %s its COMMIT arrived',
    async (when) => {
      const job = newJob()
      const proxy = await startFaultProxy(scene.db.url)
      const worker = await startWorker(scene, { connection: proxy.url, queues: { [job.queue]: 1 } }, (one) =>
        one.handle(job, (input, ctx) => {
          const customer = input as string
          return ctx.once(customer, (tx) => tx.query(charge, [customer]).then(() => 'charged'))
        }),
      )
      for (let round = 0; round < 2; round++) {
        const customer = newName('customer')
        const cut = proxy.cutNext({ text: 'commit', when })
        const { id } = await scene.stint.enqueue(job, customer)
        await cut
        await worker.hears('succeeded', id)
        expect(await chargesOf(customer)).toBe(1)
        expect(await stored(scene, id)).toMatchObject({ result: 'charged', attempt: 1 })
      }
      expect(worker.told('failed')).toEqual([])
    },
  )

  test.each([
    ['an empty key', '', {}],
    ['a key that Postgres cannot hold', 'a\0b', {}],
    ['a key that is too long', 'x'.repeat(513), {}],
    ['a time that is none', 'key', { for: 'soon' }],
  ])('ctx.once refuses %s', async (_what, key, options) => {
    const job = newJob()
    const worker = await startFor(scene, job, (_input, ctx) =>
      ctx
        .once(key, () => Promise.resolve(), options)
        .catch((error: unknown) => (error as { code: string }).code),
    )
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ result: 'invalid-option' })
  })
})
