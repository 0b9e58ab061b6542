import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { form } from '../support/form.ts'
import { newJob, startWorker, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** Runs jobs in ten slots for 10 ms each, and notes the key of each start. */
async function tenSlots(
  job: ReturnType<typeof newJob>,
  options: { notify?: boolean; keyWeight?: (key: string) => number; ms?: number } = {},
) {
  const starts: string[] = []
  const { notify = true, keyWeight, ms = 10 } = options
  const worker = await startWorker(
    scene,
    { notify, queues: { [job.queue]: { concurrency: 10, keyWeight } } },
    (one) =>
      one.handle(job, async (_input, ctx) => {
        starts.push(ctx.key ?? '')
        await pause(ms)
      }),
  )
  return { worker, starts }
}

/** The jobs of the key that crowds a queue, and the keys of three jobs each beside it. */
const crowd = form === 'short' ? 20_000 : 1_000_000
const small = form === 'short' ? 300 : 10_000

describe('fairness between keys', () => {
  test.each([true, false])(
    `ten jobs of a new key start among the next 300, although another key has ${crowd} (notify: %s)`,
    async (notify) => {
      const job = newJob()
      await scene.stint.enqueueMany(job, Array.from({ length: crowd }), { key: 'a' })
      const { worker, starts } = await tenSlots(job, { notify })
      await worker.tells('succeeded', () => true, 200)
      await scene.stint.enqueueMany(job, Array.from({ length: 10 }), { key: 'b' })
      const before = starts.length
      await worker.tells('succeeded', ({ key }) => key === 'b', 10)
      const last = starts.lastIndexOf('b')
      expect(starts.filter((key) => key === 'b')).toHaveLength(10)
      // Without NOTIFY the worker finds the key by its next survey, at most a second later: some 1,000 starts.
      expect(last - before).toBeLessThan(notify ? 300 : 2_000)
    },
  )

  test('keys with three jobs each have started all of them before the crowded key started as many', async () => {
    const job = newJob()
    await scene.stint.enqueueMany(job, Array.from({ length: crowd }), { key: 'a' })
    const { worker, starts } = await tenSlots(job, { ms: 0 })
    await worker.tells('succeeded', () => true, 200)
    const before = starts.length
    await scene.stint.enqueueMany(job, Array.from({ length: 3 * small }), {
      each: (_, n) => ({ key: `k${Math.floor(n / 3)}` }),
    })
    await worker.tells('succeeded', ({ key }) => key !== 'a', 3 * small)
    const last = starts.findLastIndex((key) => key !== 'a')
    // While they are being stored and found, the crowded key has the slots to itself.
    const first = starts.findIndex((key) => key !== 'a')
    const ofTheCrowd = starts.slice(first, last).filter((key) => key === 'a').length
    expect(before).toBeLessThanOrEqual(first)
    expect(ofTheCrowd, 'starts of the crowded key meanwhile').toBeLessThan(3 * small)
  })

  test('keys of weights 5, 3 and 1 get slots in that proportion, within 5 %', async () => {
    const job = newJob()
    const weights: Record<string, number> = { five: 5, three: 3, one: 1 }
    for (const key of Object.keys(weights))
      await scene.stint.enqueueMany(job, Array.from({ length: 5_400 }), { key })
    const { worker, starts } = await tenSlots(job, { keyWeight: (key) => weights[key] ?? 1, ms: 0 })
    await worker.tells('succeeded', () => true, 9_000)
    const first = starts.slice(0, 9_000)
    for (const [key, weight] of Object.entries(weights)) {
      const count = first.filter((one) => one === key).length
      expect(Math.abs(count - 1_000 * weight) / (1_000 * weight), `${key}: ${count}`).toBeLessThan(0.05)
    }
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('no weight')
      },
    ],
    ['returns NaN', () => NaN],
    ['returns 0', () => 0],
    ['returns a million', () => 1_000_000],
  ])('a weight function that %s counts as 1 and stops no job', async (_title, keyWeight) => {
    const job = newJob()
    await scene.stint.enqueueMany(job, Array.from({ length: 40 }), { each: (_, n) => ({ key: `k${n % 4}` }) })
    const { worker } = await tenSlots(job, { keyWeight, ms: 0 })
    await worker.tells('succeeded', () => true, 40)
  })
})

describe('finding lanes without hints', () => {
  test('a worker finds every key and priority, also across the pages of its survey', async () => {
    const job = newJob()
    const count = 2_500
    // Two priorities of each key, so that pages end within a key.
    await scene.stint.enqueueMany(job, Array.from({ length: count }), {
      each: (_, n) => ({ key: `key-${String(n >> 1).padStart(5, '0')}`, priority: n % 2 }),
    })
    const { worker } = await tenSlots(job, { notify: false, ms: 0 })
    await worker.tells('succeeded', () => true, count)
  })

  test('a worker finds a job that is committed late, below where claims of its busy key have come', async () => {
    const job = newJob()
    await scene.stint.enqueueMany(job, Array.from({ length: 300 }), { key: 'busy' })
    const { worker } = await tenSlots(job, { notify: false })
    await worker.tells('succeeded', () => true, 100)
    const late = await scene.stint.enqueue(job, {}, { key: 'busy', delay: '1h' })
    await scene.db.query(
      `update stint.job set state = 'ready', run_at = stint.now() - interval '1 hour' where id = $1`,
      [late.id],
    )
    await worker.hears('succeeded', late.id)
    await worker.tells('succeeded', () => true, 301)
  })
})
