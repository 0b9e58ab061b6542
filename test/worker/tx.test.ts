import { beforeAll, describe, expect, test } from 'vitest'
import type { HandlerContext } from '../../src/worker.ts'
import type { PgTransaction } from '../../src/index.ts'
import { connectTo } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import {
  attemptsOf,
  eventually,
  gate,
  newJob,
  newName,
  startFor,
  startWorker,
  stored,
  takeLease,
  workerScene,
} from '../support/workers.ts'

const scene = workerScene()
beforeAll(async () => {
  // No unique index, so that an effect that happened twice is visible.
  await scene.db.query('create table public.effect (job uuid not null, text text not null)')
  await scene.db.query('create table public.account (name text primary key, balance integer not null)')
})

function effect(tx: PgTransaction, { jobId }: HandlerContext, text = 'done'): Promise<unknown> {
  return tx.query('insert into public.effect values ($1, $2)', [jobId, text])
}

async function effectsOf(id: string): Promise<string[]> {
  const rows = await scene.db.query<{ text: string }>('select text from public.effect where job = $1', [id])
  return rows.map(({ text }) => text)
}

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

describe('a block that Postgres asks to repeat', () => {
  test('two blocks of ctx.tx that deadlock run again, and both succeed at their first attempt', async () => {
    const job = newJob()
    const [a, b] = [newName('a'), newName('b')]
    await scene.db.query('insert into public.account values ($1, 0), ($2, 0)', [a, b])
    let met = 0
    const bothHold = gate()
    let runs = 0
    const worker = await startFor(scene, job, (input, ctx) =>
      ctx.tx(async (tx) => {
        // Runs again only after the other block is done: between its two updates this one would deadlock again.
        if (++runs === 3) await worker.tells('succeeded')
        const add = 'update public.account set balance = balance + 1 where name = $1'
        await tx.query(`set local deadlock_timeout = '20ms'`, [])
        const [first, second] = input as [string, string]
        await tx.query(add, [first])
        if (++met === 2) bothHold.open(undefined)
        await bothHold.opened
        await tx.query(add, [second])
      }),
    )
    const jobs = await Promise.all([scene.stint.enqueue(job, [a, b]), scene.stint.enqueue(job, [b, a])])
    for (const { id } of jobs) {
      await worker.hears('succeeded', id)
      expect(await attemptsOf(scene, id)).toEqual([])
    }
    expect(runs).toBe(3)
    expect(await scene.db.query('select balance from public.account where name = any($1)', [[a, b]])).toEqual(
      [{ balance: 2 }, { balance: 2 }],
    )
  })

  test('a block of ctx.tx runs at most three times in one call, and its children are stored once', async () => {
    const job = newJob()
    const child = newJob('child')
    const runs: number[] = []
    let calls = 0
    const worker = await startFor(scene, job, async (input, ctx) => {
      const { failures } = input as { failures: number }
      calls++
      let run = 0
      const block = ctx.tx(async (tx) => {
        run++
        await ctx.enqueue(child, { run })
        await effect(tx, ctx)
        if (run <= failures) await tx.query(serializationFailure, [])
      })
      await block.finally(() => runs.push(run))
    })
    const healed = await scene.stint.enqueue(job, { failures: 2 })
    await worker.hears('succeeded', healed.id)
    expect(runs).toEqual([3])
    expect(await effectsOf(healed.id)).toEqual(['done'])
    expect(await childrenOf(healed.id)).toEqual([{ run: 3 }])

    calls = 0
    const hopeless = await scene.stint.enqueue(job, { failures: 99 }, { attempts: 1 })
    await worker.hears('dead', hopeless.id)
    expect({ runs, calls }).toEqual({ runs: [3, 3], calls: 1 })
    expect(await effectsOf(hopeless.id)).toEqual([])
    expect(await childrenOf(hopeless.id)).toEqual([])
  })
})

describe.each(['before', 'after'] as const)(
  'a connection that dies %s a statement of ctx.tx arrived',
  (when) => {
    test.each([
      ['COMMIT', 'commit'],
      ['the hold of the row', 'jobs/attempt/hold-running.sql'],
      ['the completion', 'jobs/succeed.sql'],
      ['a statement of the block', 'insert into public.effect'],
    ])(
      'a connection that dies at a statement of ctx.tx costs no attempt and leaves one effect: %s',
      async (_what, text) => {
        const job = newJob()
        const proxy = await startFaultProxy(scene.db.url)
        const worker = await startWorker(
          scene,
          { connection: proxy.url, queues: { [job.queue]: 1 }, pollFloor: '50ms' },
          (one) => one.handle(job, (_input, ctx) => ctx.tx((tx) => effect(tx, ctx).then(() => ctx.attempt))),
        )
        for (let round = 0; round < 2; round++) {
          const cut = proxy.cutNext({ text, when })
          const { id } = await scene.stint.enqueue(job)
          await cut
          await worker.hears('succeeded', id)
          expect(await effectsOf(id)).toEqual(['done'])
          expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: 1, attempt: 1 })
          expect(await attemptsOf(scene, id)).toEqual([])
        }
        expect(worker.told('leaseLost')).toEqual([])
      },
    )
  },
)

test('a block of ctx.tx whose connection dies again and again fails the attempt', async () => {
  const job = newJob()
  let runs = 0
  const worker = await startFor(scene, job, (_input, ctx) =>
    ctx.tx(async (tx) => {
      runs++
      await effect(tx, ctx)
      if (ctx.attempt === 1) await tx.query('select pg_terminate_backend(pg_backend_pid())', [])
    }),
  )
  const { id } = await scene.stint.enqueue(job)
  await worker.hears('succeeded', id)
  expect(runs).toBe(3 + 1)
  expect(await attemptsOf(scene, id)).toMatchObject([{ outcome: 'failed', error: { class: 'connection' } }])
  expect(await effectsOf(id)).toEqual(['done'])
})

test('a block of ctx.tx that is idle for longer than a lease fails the attempt and is not repeated', async () => {
  const job = newJob()
  let runs = 0
  const limits: unknown[] = []
  const handler = (_input: unknown, ctx: HandlerContext) =>
    ctx.tx(async (tx) => {
      runs++
      const asked = `select pg_backend_pid() as pid, current_setting('idle_in_transaction_session_timeout') as "limit"`
      const [{ pid, limit } = { pid: 0, limit: '' }] = (await tx.query(asked, [])).rows as {
        pid: number
        limit: string
      }[]
      limits.push(limit)
      if (ctx.attempt > 1) return
      // Shorter than the lease: a lease this short would be at risk on a busy machine.
      await tx.query(`set local idle_in_transaction_session_timeout = '100ms'`, [])
      await eventually(async () => {
        const rows = await scene.db.query('select 1 from pg_stat_activity where pid = $1', [pid])
        return rows.length === 0
      }, 'the server ends the session')
      await effect(tx, ctx)
    })
  const worker = await startFor(scene, job, handler, { lease: '29s' })
  const { id } = await scene.stint.enqueue(job)
  await worker.hears('succeeded', id)
  expect(runs).toBe(2)
  expect(limits).toEqual(['29s', '29s'])
  expect(await attemptsOf(scene, id)).toMatchObject([{ outcome: 'failed' }])
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

const serializationFailure = `do $$ begin raise exception 'again' using errcode = '40001'; end $$`

async function childrenOf(id: string): Promise<unknown[]> {
  const rows = await scene.db.query<{ input: unknown }>(
    'select input from stint.job where parent_id = $1 order by id',
    [id],
  )
  return rows.map(({ input }) => input)
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code
}
