import { describe, expect, test } from 'vitest'
import { surveySql } from '../../src/jobs/survey.sql.ts'
import { connectTo } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { statementMarks } from '../support/statement-marks.ts'
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
  test('jobs run by priority, and jobs of one priority in the order they were enqueued', async () => {
    const job = newJob()
    const priorities = [0, 5, -3, 5, 0, 100, -100]
    for (const [n, priority] of priorities.entries()) await scene.stint.enqueue(job, n, { priority })
    const order: unknown[] = []
    const worker = await startFor(scene, job, (input) => void order.push(input), {
      queues: { [job.queue]: 1 },
      // By polling alone: notifications may arrive late and would announce some enqueues before the others.
      notify: false,
    })
    await worker.tells('succeeded', () => true, priorities.length)
    expect(order).toEqual([5, 1, 3, 0, 4, 2, 6])
  })

  test.each([
    ['runs first once it has waited past agingAfter, even below many jobs of higher priority', '30m', true],
    ['waits for all jobs of higher priority before that', '2h', false],
  ])('a job of low priority %s', async (_title, agingAfter, isServed) => {
    const job = newJob()
    const order: unknown[] = []
    const [isBusy, goOn] = [gate(), gate()]
    const count = 200
    await scene.stint.enqueueMany(job, Array.from({ length: count }).fill('high'), { priority: 9 })
    const proxy = await startFaultProxy(scene.db.url)
    const worker = await startWorker(
      scene,
      {
        connection: proxy.url,
        pollFloor: '50ms',
        queues: { [job.queue]: { concurrency: 1, prefetch: 0, agingAfter } },
      },
      (one) =>
        one.handle(job, async (input) => {
          if (order.push(input) !== 50) return
          isBusy.open(undefined)
          await goOn.opened
        }),
    )
    await isBusy.opened
    const low = await scene.stint.enqueue(job, 'low')
    await scene.db.query(`update stint.job set run_at = run_at - interval '1 hour' where id = $1`, [low.id])
    // Two surveys, each in one frame or two: the first one tells the worker how long the job has waited.
    await proxy.saw(statementMarks(surveySql), 4)
    goOn.open(undefined)
    await worker.hears('succeeded', low.id)
    await worker.tells('succeeded', () => true, count + 1)
    expect(order.indexOf('low')).toBe(isServed ? 50 : count)
  })
})

describe('prefetched jobs', () => {
  test('prefetched jobs do not hold up a newer job of higher priority', async () => {
    const job = newJob()
    const count = 3_000
    await scene.stint.enqueueMany(job, Array.from({ length: count }).fill('low'))
    const order: unknown[] = []
    const [isWarm, goOn] = [gate(), gate()]
    const worker = await startFor(
      scene,
      job,
      async (input) => {
        if (order.push(input) !== 300) return
        isWarm.open(undefined)
        // Until the other job is stored, which may take any time.
        await goOn.opened
      },
      { queues: { [job.queue]: 1 } },
    )
    await isWarm.opened
    const { id } = await scene.stint.enqueue(job, 'high', { priority: 50 })
    goOn.open(undefined)
    await worker.hears('succeeded', id)
    await worker.tells('succeeded', () => true, count + 1)
    // Some of the prefetched jobs, at most 2,000, may run before it; no job that is claimed afterwards may.
    expect(order.indexOf('high')).toBeLessThan(2_500)
  })

  test('prefetched jobs that get no slot are given back at no cost', async () => {
    const job = newJob()
    const goOn = gate()
    const isSlow = gate()
    let runs = 0
    await scene.stint.enqueueMany(job, Array.from({ length: 600 }).fill('quick'))
    const first = await startFor(
      scene,
      job,
      async () => {
        // Quick enough that the worker prefetches, until one job is slow.
        if (++runs !== 300) return
        isSlow.open(undefined)
        await goOn.opened
      },
      { queues: { [job.queue]: 1 } },
    )
    await isSlow.opened
    // An earlier pause of this process may have released some jobs already; the worker has claimed those again.
    const before = new Set(first.told('released'))
    const [{ id, reason } = { id: '', reason: '' }] = await first.tells('released', (one) => !before.has(one))
    expect(reason).toBe('it waited too long for a slot')
    const attempts = await attemptsOf(scene, id)
    expect(attempts).not.toEqual([])
    expect(attempts).toMatchObject(attempts.map(() => ({ attempt: 1, outcome: 'released', reason })))
    const second = await startFor(scene, job, () => undefined, { queues: { [job.queue]: 1 } })
    await second.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ attempt: 1, crashes: 0, state: 'succeeded' })
    goOn.open(undefined)
  })

  test.each([
    ['prefetch 0 holds a slot until the ending of its job is stored', 0, 1],
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
    'keys take turns: one with thousands of jobs does not hold up another with one, whenever that job comes (prefetch %s)',
    async (prefetch) => {
      const job = newJob()
      const count = prefetch === 0 ? 500 : 6_000
      const order: string[] = []
      const [isWarm, goOn] = [gate(), gate()]
      await scene.stint.enqueueMany(job, Array.from({ length: count }), { key: 'busy' })
      await scene.stint.enqueue(job, {}, { key: 'early' })
      const worker = await startWorker(
        scene,
        { queues: { [job.queue]: { concurrency: 4, prefetch } } },
        (one) =>
          one.handle(job, async (_input, ctx) => {
            if (order.push(ctx.key ?? '') < count / 5) return
            isWarm.open(undefined)
            // Until the other jobs are stored, which may take any time.
            await goOn.opened
          }),
      )
      await isWarm.opened
      // One key sorts before the busy key, the other after it.
      for (const key of ['a-late', 'c-late']) await scene.stint.enqueue(job, {}, { key })
      goOn.open(undefined)
      await worker.tells('succeeded', () => true, count + 3)
      const places = ['early', 'a-late', 'c-late'].map((key) => order.indexOf(key))
      expect(Math.max(...places)).toBeLessThan(0.8 * count)
    },
  )

  test('jobs of one key run by priority, then in order', async () => {
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

  test('jobs with and without a key do not starve each other', async () => {
    const job = newJob()
    const order: (string | null)[] = []
    const [isWarm, goOn] = [gate(), gate()]
    const count = 400
    await scene.stint.enqueueMany(job, Array.from({ length: count }))
    const worker = await startWorker(
      scene,
      { queues: { [job.queue]: { concurrency: 2, prefetch: 0 } } },
      (one) =>
        one.handle(job, async (_input, ctx) => {
          if (order.push(ctx.key) < 50) return
          isWarm.open(undefined)
          await goOn.opened
        }),
    )
    await isWarm.opened
    const { id } = await scene.stint.enqueue(job, {}, { key: 'k' })
    goOn.open(undefined)
    await worker.hears('succeeded', id)
    await worker.tells('succeeded', () => true, count + 1)
    expect(order.indexOf('k')).toBeLessThan(300)
  })

  test('a worker serves many keys at once', async () => {
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
  test('a unique job with `until: started` frees its key as soon as it runs', async () => {
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

  test('a unique job with `until: finished` holds its key while it runs or waits for a retry, and frees it when it has ended', async () => {
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
