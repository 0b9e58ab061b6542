import { describe, expect, test } from 'vitest'
import { connectTo } from '../support/database.ts'
import { isOutOf } from '../support/lane.ts'
import {
  attemptsOf,
  eventually,
  gate,
  newJob,
  newName,
  startFor,
  startWorker,
  stored,
  workerScene,
} from '../support/workers.ts'

const scene = workerScene()

describe('priorities', () => {
  test('run in order, and jobs of one priority in the order they were enqueued', async () => {
    const job = newJob()
    const priorities = [0, 5, -3, 5, 0, 100, -100]
    for (const [n, priority] of priorities.entries()) await scene.stint.enqueue(job, n, { priority })
    const order: unknown[] = []
    const worker = await startFor(scene, job, (input) => void order.push(input), {
      queues: { [job.queue]: 1 },
    })
    await worker.tells('succeeded', () => true, priorities.length)
    expect(order).toEqual([5, 1, 3, 0, 4, 2, 6])
  })

  test.each([
    ['are served first once they have waited past agingAfter, however much is above them', '50ms', true],
    ['wait for all above them before that', '1h', false],
  ])('that are low %s', async (_title, agingAfter, isServed) => {
    const job = newJob()
    const order: unknown[] = []
    const isBusy = gate()
    // Seconds of work, so that a busy machine has looked again long before it is done.
    const count = 2_500
    await scene.stint.enqueueMany(job, Array.from({ length: count }).fill('high'), { priority: 9 })
    const worker = await startWorker(
      scene,
      { queues: { [job.queue]: { concurrency: 1, agingAfter } }, pollFloor: '50ms' },
      (one) =>
        one.handle(job, async (input) => {
          if (order.push(input) === 50) isBusy.open(undefined)
          await new Promise((resolve) => setTimeout(resolve, 1))
        }),
    )
    await isBusy.opened
    const low = await scene.stint.enqueue(job, 'low')
    await worker.hears('succeeded', low.id)
    await worker.tells('succeeded', () => true, count + 1)
    expect(order.indexOf('low') < count).toBe(isServed)
  })
})

describe('jobs taken in advance', () => {
  const isSlower = isOutOf('pgbouncer', 'an enqueue may take longer there than all the work')
  test.skipIf(isSlower)('do not hold up a newer one of higher priority', async () => {
    const job = newJob()
    const count = 3_000
    await scene.stint.enqueueMany(job, Array.from({ length: count }).fill('low'))
    const order: unknown[] = []
    const isWarm = gate()
    const worker = await startFor(
      scene,
      job,
      (input) => {
        if (order.push(input) === 300) isWarm.open(undefined)
      },
      { queues: { [job.queue]: 1 } },
    )
    await isWarm.opened
    const { id } = await scene.stint.enqueue(job, 'high', { priority: 50 })
    await worker.hears('succeeded', id)
    await worker.tells('succeeded', () => true, count + 1)
    expect(order.indexOf('high')).toBeLessThan(2_500)
  })

  test('are given back with nothing burned when no slot gets free for them', async () => {
    const job = newJob()
    const goOn = gate()
    const isSlow = gate()
    let runs = 0
    await scene.stint.enqueueMany(job, Array.from({ length: 600 }).fill('quick'))
    const first = await startFor(
      scene,
      job,
      async () => {
        // Quick enough to be taken in advance, until one is not.
        if (++runs !== 300) return
        isSlow.open(undefined)
        await goOn.opened
      },
      { queues: { [job.queue]: 1 } },
    )
    await isSlow.opened
    const [{ id, reason } = { id: '', reason: '' }] = await first.tells('released')
    expect(reason).toBe('it waited too long for a slot')
    expect(await attemptsOf(scene, id)).toMatchObject([{ attempt: 1, outcome: 'released', reason }])
    const second = await startFor(scene, job, () => undefined, { queues: { [job.queue]: 1 } })
    await second.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ attempt: 1, crashes: 0, state: 'succeeded' })
    goOn.open(undefined)
  })

  test.each([
    ['prefetch 0 holds a slot until its job is stored', 0, 1],
    ['with prefetch a slot is free when its handler has ended', 10, 2],
  ])('%s', async (_title, prefetch, expected) => {
    const job = newJob()
    const client = await connectTo(scene.db.url)
    const { jobs } = await scene.stint.enqueueMany(job, [1, 2])
    const goOn = gate()
    const worker = await startWorker(
      scene,
      { queues: { [job.queue]: { concurrency: 1, prefetch }, [newName()]: 5 } },
      (one) => one.handle(job, () => goOn.opened),
    )
    const [first = '', second = ''] = jobs.map(({ id }) => id)
    await worker.hears('started', first)
    await client.query('begin')
    await client.query('lock table stint.finished in share mode')
    goOn.open(undefined)
    const isWaiting = async (): Promise<boolean> => {
      const rows = await scene.db.query(
        `select from pg_locks where relation = 'stint.finished'::regclass and not granted
            and database = (select oid from pg_database where datname = current_database())`,
      )
      return rows.length > 0
    }
    await eventually(isWaiting, 'the settle waits for the lock')
    if (expected === 2) await worker.hears('started', second)
    expect(worker.told('started')).toHaveLength(expected)
    expect(worker.told('succeeded')).toEqual([])
    await client.query('commit')
    await worker.hears('succeeded', second)
  })
})

describe('keys', () => {
  test.each([0, undefined])(
    'take turns: one with thousands of jobs does not hold up another’s one, whenever that comes (prefetch %s)',
    async (prefetch) => {
      const job = newJob()
      const count = prefetch === 0 ? 500 : 6_000
      const order: string[] = []
      const isWarm = gate()
      await scene.stint.enqueueMany(job, Array.from({ length: count }), { key: 'busy' })
      await scene.stint.enqueue(job, {}, { key: 'early' })
      const worker = await startWorker(
        scene,
        { queues: { [job.queue]: { concurrency: 4, prefetch } } },
        (one) =>
          one.handle(job, (_input, ctx) => {
            if (order.push(ctx.key ?? '') === count / 5) isWarm.open(undefined)
          }),
      )
      await isWarm.opened
      // In the order of keys one comes before the busy one, one after.
      for (const key of ['a-late', 'c-late']) await scene.stint.enqueue(job, {}, { key })
      await worker.tells('succeeded', () => true, count + 3)
      const places = ['early', 'a-late', 'c-late'].map((key) => order.indexOf(key))
      expect(Math.max(...places)).toBeLessThan(0.8 * count)
    },
  )

  test('run their own jobs by priority, then in order', async () => {
    const job = newJob()
    const order: unknown[] = []
    const priorities = [0, 3, -1, 3, 7]
    for (const [n, priority] of priorities.entries())
      await scene.stint.enqueue(job, n, { key: 'k', priority })
    const worker = await startWorker(
      scene,
      { queues: { [job.queue]: { concurrency: 1, prefetch: 0 } } },
      (one) => one.handle(job, (input) => void order.push(input)),
    )
    await worker.tells('succeeded', () => true, priorities.length)
    expect(order).toEqual([4, 1, 3, 0, 2])
  })

  test('and jobs without one do not starve each other', async () => {
    const job = newJob()
    const order: (string | null)[] = []
    const isWarm = gate()
    await scene.stint.enqueueMany(job, Array.from({ length: 1_000 }))
    const worker = await startWorker(
      scene,
      { queues: { [job.queue]: { concurrency: 2, prefetch: 0 } } },
      (one) =>
        one.handle(job, (_input, ctx) => {
          if (order.push(ctx.key) === 50) isWarm.open(undefined)
        }),
    )
    await isWarm.opened
    const { id } = await scene.stint.enqueue(job, {}, { key: 'k' })
    await worker.hears('succeeded', id)
    await worker.tells('succeeded', () => true, 1_001)
    expect(order.indexOf('k')).toBeLessThan(800)
  })

  test('are all served by many keys at once', async () => {
    const job = newJob()
    const keys = Array.from({ length: 300 }, (_, n) => `key-${n % 100}`)
    const { jobs } = await scene.stint.enqueueMany(job, keys, { each: (key) => ({ key: key as string }) })
    const worker = await startFor(scene, job, (input, ctx) => {
      expect(ctx.key).toBe(input)
    })
    for (const { id } of jobs) await worker.hears('succeeded', id)
  })
})

describe('a unique job', () => {
  test('until started leaves its key free as soon as it runs', async () => {
    const job = newJob()
    const goOn = gate()
    const unique = { key: 'only', until: 'started' } as const
    const first = await scene.stint.enqueue(job, 1, { unique })
    expect(await scene.stint.enqueue(job, 2, { unique })).toMatchObject({ id: first.id, duplicate: true })
    const worker = await startFor(scene, job, () => goOn.opened, { queues: { [job.queue]: 1 } })
    await worker.hears('started', first.id)
    const second = await scene.stint.enqueue(job, 3, { unique })
    expect(second).toMatchObject({ duplicate: false })
    goOn.open(undefined)
    await worker.hears('succeeded', second.id)
  })

  test('until finished holds its key while it runs and waits for a retry, and frees it when it has ended', async () => {
    const job = newJob()
    const goOn = gate()
    const unique = { key: 'only', until: 'finished' } as const
    const first = await scene.stint.enqueue(job, 1, { unique })
    const worker = await startFor(scene, job, async (_input, ctx) => {
      if (ctx.attempt === 1) throw new Error('once')
      await goOn.opened
    })
    await worker.hears('failed', first.id)
    await worker.hears('started', first.id, 2)
    expect(await scene.stint.enqueue(job, 2, { unique })).toMatchObject({ id: first.id, duplicate: true })
    goOn.open(undefined)
    await worker.hears('succeeded', first.id)
    expect(await scene.stint.enqueue(job, 3, { unique })).toMatchObject({ duplicate: false })
  })
})
