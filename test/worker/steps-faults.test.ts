import { describe, expect, test } from 'vitest'
import type { HandlerContext } from '../../src/worker.ts'
import {
  attemptsOf,
  gate,
  newJob,
  startFor,
  startWorker,
  stored,
  takeLease,
  workerScene,
} from '../support/workers.ts'

const scene = workerScene()

async function recordsOf(id: string): Promise<unknown[]> {
  return scene.db.query('select name, n, state from stint.step where job_id = $1 order by seq', [id])
}

describe('a worker that has lost its lease', () => {
  const calls: Record<string, (ctx: HandlerContext) => Promise<unknown>> = {
    step: (ctx) => ctx.step('late', () => 1),
    stepTx: (ctx) => ctx.stepTx('late', () => Promise.resolve(1)),
    each: (ctx) => ctx.each('late', [1, 2], { batch: 1 }, () => undefined),
    waitForSignal: (ctx) => ctx.waitForSignal('late'),
    version: (ctx) => ctx.version('late', 1, 2),
  }

  test.each(Object.keys(calls))('cannot store anything by ctx.%s', async (name) => {
    const job = newJob()
    const { opened, open } = gate()
    const errors: unknown[] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      if (ctx.fence.epoch > 1) return ctx.signal.aborted
      open(undefined)
      await takeLease(scene, ctx.jobId)
      await calls[name]?.(ctx).catch((error: unknown) => errors.push(error))
      return undefined
    })
    const { id } = await scene.stint.enqueue(job)
    await opened
    await worker.hears('leaseLost', id)
    await worker.hears('succeeded', id)
    expect(errors).toMatchObject([{ code: 'lease-lost' }])
    expect(await recordsOf(id)).toEqual([])
  })

  test('cannot suspend a job that others have', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      if (ctx.fence.epoch > 2) return 'done by others'
      // The second attempt has nothing to record: its suspend is all that is sent.
      if (ctx.fence.epoch === 2) await takeLease(scene, ctx.jobId)
      await ctx.sleep('1h')
      return 'never'
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('waiting', id)
    await scene.db.query(`update stint.job set state = 'ready', run_at = now() where id = $1`, [id])
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: 'done by others' })
  })
})

test('while a worker drains no new step begins, and another worker goes on behind the last one', async () => {
  const job = newJob()
  const ran: string[] = []
  const { opened, open } = gate()
  const { opened: begun, open: begin } = gate()
  const handler = async (_input: unknown, ctx: HandlerContext): Promise<void> => {
    await ctx.step('first', async () => {
      ran.push('first')
      begin(undefined)
      await opened
    })
    await ctx.step('second', () => ran.push('second'))
  }
  const worker = await startFor(scene, job, handler)
  const { id } = await scene.stint.enqueue(job)
  await begun
  const stopped = worker.worker.stop()
  open(undefined)
  await stopped
  expect(ran).toEqual(['first'])
  expect(await attemptsOf(scene, id)).toMatchObject([
    { outcome: 'released', reason: expect.stringContaining('drains') as string },
  ])
  const other = await startFor(scene, job, handler)
  await other.hears('succeeded', id)
  expect(ran).toEqual(['first', 'second'])
})

test('a handler of batches has no steps', async () => {
  const job = newJob()
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) =>
    one.handleBatch(job, (jobs) => Promise.all(jobs.map(({ ctx }) => ctx.step('a', () => 1)))),
  )
  const { id } = await scene.stint.enqueue(job, undefined, { attempts: 1 })
  const { error } = await worker.hears('dead', id)
  expect(error?.message).toContain('A handler of batches has no steps')
})

test('the records of a job that succeeded are kept with it for people, and nowhere else', async () => {
  const job = newJob()
  const worker = await startFor(scene, job, async (_input, ctx) => {
    await ctx.step('load', () => ({ rows: 3 }))
    await ctx.waitForSignal('go', { timeout: '1ms' })
  })
  const { id } = await scene.stint.enqueue(job)
  await scene.stint.signal(id, 'other')
  await worker.hears('succeeded', id)
  const [row] = await scene.db.query<{ steps: unknown }>('select steps from stint.finished where id = $1', [
    id,
  ])
  expect(row?.steps).toMatchObject([
    { name: 'load', type: 'step', state: 'done', tries: 1, result: { rows: 3 } },
    { name: 'signal:go', type: 'signal', state: 'done', result: { timedOut: true } },
  ])
  expect(await recordsOf(id)).toEqual([])
  expect(await scene.db.query('select from stint.signal where job_id = $1', [id])).toEqual([])
})

test('what a handler does after its job waits is refused', async () => {
  const job = newJob()
  const { opened, open } = gate<unknown>()
  const worker = await startFor(scene, job, async (_input, ctx) => {
    if (ctx.fence.epoch > 1) return
    ctx.signal.addEventListener('abort', () => {
      ctx.step('late', () => 1).catch(open)
    })
    await ctx.sleep('1ms')
  })
  const { id } = await scene.stint.enqueue(job)
  expect(await opened).toMatchObject({ code: 'job-completed' })
  await worker.hears('succeeded', id)
})

test('what a handler does after it has returned is refused, also if it had no step before', async () => {
  const job = newJob()
  const { opened: ended, open: end } = gate()
  const { opened, open } = gate<unknown>()
  let ran = 0
  const worker = await startFor(scene, job, (_input, ctx) => {
    void ended.then(() => ctx.step('late', () => ran++)).catch(open)
  })
  const { id } = await scene.stint.enqueue(job)
  await worker.hears('succeeded', id)
  end(undefined)
  expect(await opened).toMatchObject({ code: 'job-completed' })
  expect(ran).toBe(0)
})

test('a handler that catches everything can swallow neither a wait nor that its job is parked', async () => {
  const job = newJob()
  const caught: unknown[] = []
  const worker = await startFor(scene, job, async (_input, ctx) => {
    try {
      await ctx.step(ctx.fence.epoch > 1 ? 'renamed' : 'first', () => 1)
      await ctx.sleep('1ms')
      await ctx.waitForSignal('never')
    } catch (error) {
      caught.push(error)
    } finally {
      caught.push('finally')
    }
    return 'done'
  })
  const { id } = await scene.stint.enqueue(job)
  await worker.hears('parked', id)
  expect(caught).toEqual([])
  expect(await stored(scene, id)).toMatchObject({ state: 'waiting' })
})

test.each([
  ['a text', 'go'],
  ['a list', [1]],
  ['null', null],
])('a wait for a signal that matches %s is refused', async (_, match) => {
  const job = newJob()
  const worker = await startFor(scene, job, (_input, ctx) =>
    ctx.waitForSignal('go', { match: match as object }),
  )
  const { id } = await scene.stint.enqueue(job, undefined, { attempts: 1 })
  const { error } = await worker.hears('dead', id)
  expect(error).toMatchObject({ code: 'invalid-option' })
  expect(error?.message).toContain('`match`')
})
