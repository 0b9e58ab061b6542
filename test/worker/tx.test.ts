import { describe, expect, test } from 'vitest'
import { connectTo } from '../support/database.ts'
import { attemptsOf, gate, newJob, startFor, stored, takeLease } from '../support/workers.ts'
import { effect, txScene } from './tx-scene.ts'

const { scene, effectsOf, childrenOf } = txScene()

describe('ctx.tx', () => {
  test('ctx.tx commits the writes together with the completion, and its value is the result', async () => {
    const job = newJob()
    const seen: unknown[] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const value = await ctx.tx(async (tx) => {
        await effect(tx, ctx)
        seen.push(await effectsOf(ctx.jobId), (await stored(scene, ctx.jobId)).state)
        return { url: '/1' }
      })
      seen.push(value, await effectsOf(ctx.jobId), (await stored(scene, ctx.jobId)).state)
      return 'this is not the result'
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(seen).toEqual([[], 'running', { url: '/1' }, ['done'], 'succeeded'])
    expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: { url: '/1' }, attempt: 1 })
    expect(await attemptsOf(scene, id)).toEqual([])
  })

  test('ctx.tx rolls back writes and completion when the block throws, and the attempt fails', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, (_input, ctx) =>
      ctx.tx(async (tx) => {
        await effect(tx, ctx, `attempt ${ctx.attempt}`)
        if (ctx.attempt === 1) throw new Error('changed my mind')
      }),
    )
    const { id } = await scene.stint.enqueue(job)
    const { error } = await worker.hears('failed', id)
    expect(error).toMatchObject({ message: 'changed my mind' })
    await worker.hears('succeeded', id)
    expect(await effectsOf(id)).toEqual(['attempt 2'])
    expect(await attemptsOf(scene, id)).toMatchObject([{ attempt: 1, outcome: 'failed' }])
  })

  test('ctx.tx fails the attempt when the block goes on after an error of the server', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, (_input, ctx) =>
      ctx.tx(async (tx) => {
        await effect(tx, ctx)
        if (ctx.attempt === 1) await tx.query('select 1 / 0', []).catch(() => undefined)
      }),
    )
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(await effectsOf(id)).toEqual(['done'])
    expect(await attemptsOf(scene, id)).toMatchObject([{ outcome: 'failed', error: { code: '25P02' } }])
  })

  test('after ctx.tx, every other write under the job throws job-completed', async () => {
    const job = newJob()
    const client = await connectTo(scene.db.url)
    const codes: unknown[] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await ctx.tx(() => Promise.resolve('first'))
      const calls = [
        () => ctx.tx(() => Promise.resolve('second')),
        () => ctx.enqueue(job),
        () => ctx.complete(client),
        () => ctx.once('key', () => Promise.resolve(1)),
      ]
      for (const call of calls) codes.push(await call().then(String, (error: unknown) => codeOf(error)))
      // A note is too late as well, but that does not fail the handler.
      await ctx.progress(100)
      ctx.log.info('done')
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(codes).toEqual(['job-completed', 'job-completed', 'job-completed', 'job-completed'])
    expect(await stored(scene, id)).toMatchObject({ result: 'first' })
    expect(await childrenOf(id)).toEqual([])
  })

  test('ctx.tx commits the children that were enqueued before it and inside it, but not those of a block that threw', async () => {
    const job = newJob()
    const child = newJob('child')
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const { attempt } = ctx
      await ctx.enqueue(child, { attempt, place: 'before' })
      await ctx.tx(async () => {
        await ctx.enqueue(child, { attempt, place: 'inside' })
        expect(await childrenOf(ctx.jobId)).toEqual([])
        if (attempt === 1) throw new Error('not yet')
      })
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(await childrenOf(id)).toEqual([
      { attempt: 2, place: 'before' },
      { attempt: 2, place: 'inside' },
    ])
  })

  test('a client can enqueue through the transaction of ctx.tx', async () => {
    const job = newJob()
    const other = newJob('other')
    const ids: string[] = []
    const worker = await startFor(scene, job, (_input, ctx) =>
      ctx.tx(async (tx) => {
        ids.push((await scene.stint.enqueue(other, {}, { tx })).id)
        if (ctx.attempt === 1) throw new Error('not yet')
      }),
    )
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(await Promise.all(ids.map((one) => scene.stint.get(one)))).toMatchObject([
      undefined,
      { state: 'ready', correlationId: id },
    ])
  })

  test('a handler that throws after ctx.tx has succeeded', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await ctx.tx((tx) => effect(tx, ctx).then(() => 'kept'))
      throw new Error('too late')
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: 'kept' })
    expect(await attemptsOf(scene, id)).toEqual([])
    expect(worker.told('failed')).toEqual([])
  })

  test('ctx.tx, ctx.once and ctx.complete inside ctx.tx are refused at once, because they would wait for its lock', async () => {
    const job = newJob()
    const client = await connectTo(scene.db.url)
    const codes: unknown[] = []
    const worker = await startFor(scene, job, (_input, ctx) =>
      ctx.tx(async (tx) => {
        await effect(tx, ctx)
        for (const call of [
          () => ctx.tx(() => Promise.resolve('inner')),
          () => ctx.once('key', () => Promise.resolve(1)),
          () => ctx.complete(client),
        ])
          codes.push(await call().then(String, (error: unknown) => codeOf(error)))
        return 'outer'
      }),
    )
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(codes).toEqual(['job-completed', 'job-completed', 'job-completed'])
    expect(await stored(scene, id)).toMatchObject({ result: 'outer' })
    expect(await effectsOf(id)).toEqual(['done'])
  })

  test('ctx.tx gives its connection back when its block throws any value', async () => {
    const job = newJob()
    const { proxy, revoke } = Proxy.revocable({}, {})
    const revoked: unknown = proxy
    revoke()
    const worker = await startFor(
      scene,
      job,
      (_input, ctx) =>
        ctx.tx(() => {
          if (ctx.attempt < 5) throw revoked
          return Promise.resolve('at last')
        }),
      { txPoolSize: 1 },
    )
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ result: 'at last', attempt: 5 })
  })

  test('a worker stops although a block of ctx.tx never ends', async () => {
    const job = newJob()
    const isInside = gate()
    const never = gate()
    const worker = await startFor(scene, job, (_input, ctx) =>
      ctx.tx(async (tx) => {
        await effect(tx, ctx)
        isInside.open(undefined)
        await never.opened
      }),
    )
    const { id } = await scene.stint.enqueue(job)
    await isInside.opened
    await worker.worker.stop({ drain: 0 })
    expect(await stored(scene, id)).toMatchObject({ state: 'ready', attempt: 0 })
    expect(await effectsOf(id)).toEqual([])
    never.open(undefined)
  })

  test('ctx.tx throws lease-lost and writes nothing when the job runs under a newer lease', async () => {
    const job = newJob()
    const isRunning = gate()
    const goOn = gate()
    const codes: unknown[] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      if (ctx.fence.epoch === 1) {
        isRunning.open(undefined)
        await goOn.opened
      }
      try {
        await ctx.tx((tx) => effect(tx, ctx, `epoch ${ctx.fence.epoch}`))
      } catch (error) {
        codes.push(codeOf(error))
        throw error
      }
    })
    const { id } = await scene.stint.enqueue(job)
    await isRunning.opened
    await takeLease(scene, id)
    goOn.open(undefined)
    await worker.hears('leaseLost', id)
    await worker.hears('succeeded', id)
    expect(codes).toEqual(['lease-lost'])
    expect(await effectsOf(id)).toEqual(['epoch 2'])
    expect(await attemptsOf(scene, id)).toMatchObject([{ epoch: 1, outcome: 'refused' }])
    expect(await stored(scene, id)).toMatchObject({ attempt: 1, epoch: 2 })
  })
})

test('a long block of ctx.tx does not delay progress and endings of other jobs', async () => {
  const job = newJob()
  const isInside = gate()
  const goOn = gate()
  const worker = await startFor(scene, job, async (input, ctx) => {
    await ctx.progress(10)
    ctx.log.info('begun')
    if (input !== 'long') return
    await ctx.tx(async () => {
      isInside.open(undefined)
      await goOn.opened
    })
  })
  const long = await scene.stint.enqueue(job, 'long')
  await isInside.opened
  const short = await scene.stint.enqueue(job, 'short')
  await worker.hears('succeeded', short.id)
  expect((await stored(scene, long.id)).state).toBe('running')
  goOn.open(undefined)
  await worker.hears('succeeded', long.id)
  expect(worker.told('trouble')).toEqual([])
})

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code
}
