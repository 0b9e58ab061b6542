import { beforeAll, describe, expect, test } from 'vitest'
import type { HandlerContext } from '../../src/worker.ts'
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
} from '../support/workers.ts'
import { effect, txScene } from './tx-scene.ts'

const { scene, effectsOf, childrenOf } = txScene()
beforeAll(() =>
  scene.db.query('create table public.account (name text primary key, balance integer not null)'),
)

const serializationFailure = `do $$ begin raise exception 'again' using errcode = '40001'; end $$`

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
