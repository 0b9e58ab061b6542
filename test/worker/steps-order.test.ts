import { describe, expect, test } from 'vitest'
import { randomUUID } from 'node:crypto'
import { Database } from '../../src/db/database.ts'
import type { Queryable } from '../../src/db/statement.ts'
import type { HandlerContext } from '../../src/worker.ts'
import { Records } from '../../src/worker/attempt/steps/records.ts'
import { connectTo, waitingForLocks } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { statementMarks } from '../support/statement-marks.ts'
import { recordSql } from '../../src/flows/steps/record.sql.ts'
import { eventually, gate, newJob, startFor, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** Fails the attempts before this one. */
function failUntil(ctx: HandlerContext, epoch: number): void {
  if (ctx.fence.epoch < epoch) throw new Error(`attempt under epoch ${ctx.fence.epoch} fails`)
}

/** All waits of a job that are not over are over. */
async function endWaits(id: string): Promise<void> {
  await scene.db.query(`update stint.step set until = stint.now() - interval '1 s' where job_id = $1`, [id])
}

describe('a race has the same winner in every attempt', () => {
  test('of two steps, when the loser was recorded later', async () => {
    const job = newJob()
    const winners: string[] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const { opened, open } = gate<string>()
      const slow = ctx.step('slow', () => opened)
      const winner = await Promise.race([slow, ctx.step('fast', () => 'fast')])
      winners.push(winner)
      await ctx.step(`after ${winner}`, () => undefined)
      open('slow')
      await slow
      failUntil(ctx, 3)
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(winners).toEqual(['fast', 'fast', 'fast'])
  })

  test('of a step in a transaction and one that fails', async () => {
    const job = newJob()
    const winners: string[] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const { opened, open } = gate<string>()
      const tx = ctx.stepTx('tx', () => opened)
      const winner = await Promise.race([
        tx,
        ctx.step('fails', () => Promise.reject(new Error('no'))).catch(() => 'failed'),
      ])
      winners.push(winner)
      open('tx')
      await tx
      await ctx.step('after', () => undefined)
      failUntil(ctx, 3)
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(winners).toEqual([winners[0], winners[0], winners[0]])
  })

  test.each(['signal', 'time'])('of a signal and a time, when the %s came first', async (first) => {
    const job = newJob()
    const winners: string[] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const time = ctx.sleep('1h').then(() => 'time')
      const signal = ctx.waitForSignal('approved').then(() => 'signal')
      const both = first === 'signal' ? [time, signal] : [signal, time]
      const winner = await Promise.race(both)
      winners.push(winner)
      await ctx.step(`after ${winner}`, async () => {
        // The other one has come when the handler is repeated.
        if (winner === 'time') await scene.stint.signal(ctx.jobId, 'approved')
        else await endWaits(ctx.jobId)
      })
      failUntil(ctx, 4)
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('waiting', id)
    if (first === 'signal') await scene.stint.signal(id, 'approved')
    else {
      await endWaits(id)
      await scene.db.query('update stint.job set run_at = stint.now() where id = $1', [id])
    }
    await worker.hears('succeeded', id)
    expect(winners).toEqual([first, first, first])
  })

  test('of branches with several steps each', async () => {
    const job = newJob()
    const seen: string[][] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const order: string[] = []
      const branch = async (name: string, turns: number): Promise<void> => {
        for (let n = 0; n < 3; n++) {
          await ctx.step(`${name}${n}`, async () => {
            for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
          })
          order.push(`${name}${n}`)
        }
      }
      await Promise.all([branch('a', 40), branch('b', 20), branch('c', 0)])
      seen.push(order)
      failUntil(ctx, 3)
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(seen).toEqual([seen[0], seen[0], seen[0]])
    expect(seen[0]).toHaveLength(9)
  })
})

test('no call begins before a failure that the handler went past is stored, also beside another call', async () => {
  const job = newJob()
  const proxy = await startFaultProxy(scene.db.url)
  const ran: string[] = []
  const worker = await startFor(
    scene,
    job,
    async (_input, ctx) => {
      await ctx.step('broken', () => Promise.reject(new Error('no such page'))).catch(() => undefined)
      await Promise.all(['x', 'y'].map((name) => ctx.step(name, () => ran.push(name))))
    },
    { connection: proxy.url },
  )
  const held = proxy.holdNext(statementMarks(recordSql))
  const { id } = await scene.stint.enqueue(job)
  const letPass = await held
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  expect(ran).toEqual([])
  letPass()
  await worker.hears('succeeded', id)
  expect(ran.sort()).toEqual(['x', 'y'])
})

test('a step that fails beside a chain of other steps runs again, because the attempt fails by it', async () => {
  const job = newJob()
  const ran = new Map<string, number>()
  const worker = await startFor(scene, job, async (_input, ctx) => {
    const flaky = async (): Promise<void> => {
      const times = (ran.get(ctx.jobId) ?? 0) + 1
      ran.set(ctx.jobId, times)
      for (let turn = 0; turn < Math.random() * 60; turn++) await new Promise(setImmediate)
      if (times === 1) throw new Error('not yet')
    }
    const chain = async (): Promise<void> => {
      for (let n = 0; n < 6; n++) await ctx.step('link', () => n)
    }
    await Promise.all([chain(), ctx.step('flaky', flaky)])
  })
  const { jobs } = await scene.stint.enqueueMany(job, Array<null>(20).fill(null))
  await worker.tells('succeeded', () => true, jobs.length)
  expect([...ran.values()]).toEqual(jobs.map(() => 2))
})

test('a step that was aborted because its worker stops has not failed: the next worker runs it again', async () => {
  const job = newJob()
  const ran: string[] = []
  const { opened: begun, open: begin } = gate()
  const handler = async (_input: unknown, ctx: HandlerContext): Promise<string> => {
    try {
      return await ctx.step('fetch', async ({ signal }) => {
        ran.push('fetch')
        if (ctx.fence.epoch > 1) return 'page'
        begin(undefined)
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve)
        })
        throw signal.reason
      })
    } catch {
      return await ctx.step('apologise', () => (ran.push('apologise'), 'sorry'))
    }
  }
  const worker = await startFor(scene, job, handler)
  const { id } = await scene.stint.enqueue(job)
  await begun
  await worker.worker.stop({ drain: 0 })
  const other = await startFor(scene, job, handler)
  await other.hears('succeeded', id)
  expect(ran).toEqual(['fetch', 'fetch'])
  expect(await stored(scene, id)).toMatchObject({ result: 'page' })
})

test('a wait beside a step counts from its call', async () => {
  const job = newJob()
  const worker = await startFor(scene, job, async (_input, ctx) => {
    const stepMs = 150
    await Promise.all([
      ctx.sleep('1h'),
      ctx.step('slow', () => new Promise((resolve) => setTimeout(resolve, stepMs))),
    ])
  })
  const { id } = await scene.stint.enqueue(job)
  await worker.hears('waiting', id)
  const [wait] = await scene.db.query<{ ms: number }>(
    `select extract(epoch from until - started_at)::float8 * 1000 - 3600000 as ms from stint.step where job_id = $1 and type = 'sleep'`,
    [id],
  )
  expect(wait?.ms).toBeLessThan(100)
})

test('a signal that was taken by a try without an answer is not lost, and no second one is taken', async () => {
  const job = newJob()
  const { id } = await scene.stint.enqueue(job)
  const lease = randomUUID()
  await scene.db.query(
    `update stint.job set state = 'running', epoch = 1, attempt = 1, worker_id = $2, lease_id = $2, begun_lease = $2 where id = $1`,
    [id, lease],
  )
  for (const n of [1, 2]) await scene.stint.signal(id, 'go', { n })
  const db = new Database({
    ...{ url: scene.db.url, schema: 'stint', poolSize: 4, deadlineMs: 20_000, applicationName: 'steps test' },
  })
  let sent = 0
  // The first try waits for the row of the job, and its connection is given up.
  const losesOne: Queryable = {
    schema: 'stint',
    query: (text, values) => {
      const answer = db.query(text, values)
      if (++sent > 1) return answer
      return eventually(async () => (await waitingForLocks(scene.db)) === 1, 'the first try waits').then(
        () => {
          throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
        },
      )
    },
  }
  const other = await connectTo(scene.db.url)
  await other.query('begin')
  await other.query('select from stint.job where id = $1 for update', [id])
  const records = new Records(losesOne, { leaseMs: 20_000 })
  const taking = records.take({
    ...{
      id,
      lease,
      epoch: 1,
      name: 'signal:go',
      n: 0,
      seq: 0,
      beside: false,
      signal: 'go',
      match: undefined,
      ms: 0,
    },
  })
  await eventually(async () => (await waitingForLocks(scene.db)) === 2, 'the second try waits')
  await other.query('commit')
  expect(await taking).toMatchObject({ payload: { n: 1 } })
  expect(
    await scene.db.query('select taken_by, payload from stint.signal where job_id = $1 order by id', [id]),
  ).toEqual([
    { taken_by: 1, payload: { n: 1 } },
    { taken_by: null, payload: { n: 2 } },
  ])
  await db.close()
})
