import { expect, inject, onTestFinished, test } from 'vitest'
import { defineJob, typed } from '../src/index.ts'
import { testStint } from '../src/testing.ts'

const nothing = { succeeded: 0, retrying: 0, dead: 0, cancelled: 0, scheduled: 0, waiting: 0, ready: 0 }

test('drain() runs children and their parents, and a cancelled parent ends its children', async () => {
  const child = defineJob({ kind: 'part', input: typed<{ n: number }>() })
  const parent = defineJob({ kind: 'whole' })
  const waits = defineJob({ kind: 'waits' })
  const other = defineJob({ kind: 'other' })
  const t = await testStint({
    connection: inject('serverUrl'),
    handlers: (worker) =>
      worker
        .handle(child, ({ n }) => Promise.resolve(n))
        .handle(parent, (_input, ctx) => ctx.all(child, [{ n: 1 }, { n: 2 }]))
        .handle(waits, async (_input, ctx) => {
          await ctx.all(other, [1, 2])
        })
        .handle(other, async (_input, ctx) => {
          await ctx.waitForSignal('never')
        }),
  })
  onTestFinished(() => t.close())
  const whole = await t.stint.enqueue(parent)
  expect(await t.drain()).toEqual({ ...nothing, succeeded: 3 })
  expect(await t.stint.get(whole.id)).toMatchObject({ state: 'succeeded', result: [1, 2] })
  const job = await t.stint.enqueue(waits)
  expect(await t.drain()).toEqual({ ...nothing, waiting: 3 })
  await t.stint.cancel(job.id)
  await t.drain()
  const states = (await t.stint.list({ kind: 'other' })).jobs.map(({ state }) => state)
  expect(states).toEqual(['cancelled', 'cancelled'])
})
