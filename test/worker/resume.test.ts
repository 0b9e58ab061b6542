import { expect, test } from 'vitest'
import type { HandlerContext } from '../../src/worker.ts'
import { newJob, startFor, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** A job that has recorded two steps under the old code, and is parked by the new code. */
async function parkedBy(second: (ctx: HandlerContext, ran: string[]) => Promise<unknown>, first = 'a') {
  const job = newJob()
  const ran: string[] = []
  const old = await startFor(scene, job, async (_input, ctx) => {
    await ctx.step(first, () => 1)
    await ctx.step('b', () => 2)
    await ctx.waitForSignal('go')
  })
  const { id } = await scene.stint.enqueue(job)
  await old.hears('waiting', id)
  await old.worker.stop()
  const worker = await startFor(scene, job, (_input, ctx) => second(ctx, ran))
  await scene.stint.signal(id, 'go')
  await worker.hears('parked', id)
  return { id, worker, ran }
}

test('a parked job says what was asked and what is recorded, and resume() tries it again', async () => {
  const { id, worker } = await parkedBy(async (ctx) => ctx.step('review', () => 3))
  expect(await scene.stint.parked(id)).toMatchObject({
    tries: 1,
    asked: { name: 'review', n: 0, type: 'step' },
    recorded: { name: 'a', n: 0, type: 'step' },
  })
  await scene.stint.resume(id)
  await worker.tells('parked', (one) => one.id === id && one.tries === 2)
  await expect(scene.stint.resume('00000000-0000-4000-8000-000000000000')).rejects.toMatchObject({
    code: 'job-not-found',
  })
  const { id: plain } = await scene.stint.enqueue(newJob())
  await expect(scene.stint.resume(plain)).rejects.toMatchObject({ code: 'state-changed' })
})

test('with accept, the new code gets the recorded steps that it asks for, and the others are ignored', async () => {
  const { id, worker, ran } = await parkedBy(async (ctx, done) => {
    const review = await ctx.step('review', () => done.push('review'))
    const b = await ctx.step('b', () => done.push('b again'))
    // The job waits and comes back: what was accepted stays accepted.
    await ctx.sleep('50ms')
    return { review, b }
  })
  await scene.stint.resume(id, { accept: true })
  await worker.hears('succeeded', id)
  expect(ran).toEqual(['review'])
  expect(await scene.stint.result(id)).toEqual({ review: 1, b: 2 })
})

test('with accept, a call of another sort than its record is made anew', async () => {
  const { id, worker } = await parkedBy(async (ctx) => {
    await ctx.sleep('10ms', { name: 'nap' })
    return ctx.step('b', () => 'again')
  }, 'sleep:nap')
  expect(await scene.stint.parked(id)).toMatchObject({
    asked: { name: 'sleep:nap', type: 'sleep' },
    recorded: { name: 'sleep:nap', type: 'step' },
  })
  await scene.stint.resume(id, { accept: true })
  await worker.hears('succeeded', id)
  expect(await scene.stint.result(id)).toBe(2)
})
