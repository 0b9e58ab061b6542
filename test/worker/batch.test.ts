import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { PermanentError } from '../../src/worker.ts'
import type { BatchHandler, BatchJob, Worker } from '../../src/worker.ts'
import {
  attemptsOf,
  eventually,
  gate,
  newJob,
  newName,
  startWorker,
  stored,
  workerScene,
} from '../support/workers.ts'
import type { TestWorker } from '../support/workers.ts'

const scene = workerScene()

/** Stores the jobs before the worker starts, so that one claim can take them together. */
async function runBatch(
  job: JobContract,
  inputs: readonly unknown[],
  handler: BatchHandler<JobContract>,
  { size, prepare }: { size?: number; prepare?: (worker: Worker) => void } = {},
): Promise<{ worker: TestWorker; ids: string[] }> {
  const { jobs } = await scene.stint.enqueueMany(job, inputs, {
    each: (input) => (typeof input === 'string' ? { correlationId: input } : {}),
  })
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) => {
    prepare?.(one)
    one.handleBatch(job, handler, size === undefined ? {} : { size })
  })
  return { worker, ids: jobs.map(({ id }) => id) }
}

describe('handleBatch', () => {
  test('handleBatch passes up to `size` jobs to one call, and each job gets its own result', async () => {
    const job = newJob()
    const sizes: number[] = []
    const { worker, ids } = await runBatch(
      job,
      [1, 2, 3, 4, 5, 6, 7],
      (jobs) => {
        sizes.push(jobs.length)
        return Promise.resolve(jobs.map(({ input, ctx }) => ({ input, id: ctx.jobId, attempt: ctx.attempt })))
      },
      { size: 5 },
    )
    for (const [place, id] of ids.entries()) {
      await worker.hears('succeeded', id)
      expect((await stored(scene, id)).result).toEqual({ input: place + 1, id, attempt: 1 })
    }
    expect(sizes).toEqual([5, 2])
  })

  test('an Error among the results of a batch handler fails only its own job', async () => {
    const job = newJob()
    const { worker, ids } = await runBatch(job, ['a', 'bad', 'dead', 'd'], (jobs) =>
      Promise.resolve(
        jobs.map(({ input, ctx }) => {
          if (input === 'dead') return new PermanentError('no use')
          return input === 'bad' && ctx.attempt === 1 ? new Error('only this one') : input
        }),
      ),
    )
    const [a = '', bad = '', dead = '', d = ''] = ids
    for (const id of [a, d, bad]) await worker.hears('succeeded', id)
    await worker.hears('dead', dead)
    expect(await attemptsOf(scene, a)).toEqual([])
    expect(await attemptsOf(scene, d)).toEqual([])
    expect(await attemptsOf(scene, bad)).toMatchObject([{ error: { message: 'only this one' } }])
    expect(await stored(scene, dead)).toMatchObject({ reason: 'permanent' })
  })

  test('a batch handler that returns nothing succeeds all its jobs, and one that throws fails them all', async () => {
    const job = newJob()
    const { worker, ids } = await runBatch(job, [1, 2, 3], (jobs) =>
      jobs.some(({ ctx }) => ctx.attempt === 1) ? Promise.reject(new Error('all')) : Promise.resolve(),
    )
    for (const id of ids) {
      await worker.hears('succeeded', id)
      expect(await attemptsOf(scene, id)).toMatchObject([{ outcome: 'failed', error: { message: 'all' } }])
      expect((await stored(scene, id)).result).toBeNull()
    }
  })

  test.each([1, 3])(
    'a batch handler that returns the wrong number of results fails its jobs (%i job(s) at a time)',
    async (n) => {
      const job = newJob()
      const wrong: unknown[] = [[], [1, 2], 'ab', { 0: 'a' }]
      for (const returned of wrong) {
        if (Array.isArray(returned) && returned.length === n) continue
        const inputs = Array.from({ length: n })
        const { worker, ids } = await runBatch(job, inputs, (jobs) =>
          Promise.resolve(jobs[0]?.ctx.attempt === 1 ? (returned as []) : undefined),
        )
        for (const id of ids) {
          await worker.hears('succeeded', id)
          expect(await attemptsOf(scene, id)).toMatchObject([
            { error: { message: expect.stringContaining('one entry for each') as string } },
          ])
        }
        await worker.worker.stop()
      }
    },
  )

  test('a job with an invalid input does not disturb the other jobs of its batch', async () => {
    const job = defineJob({ kind: 'strict', queue: newName(), input: z.object({ n: z.number() }) })
    const older = defineJob({ kind: job.kind, queue: job.queue })
    const { jobs } = await scene.stint.enqueueMany(older, [{ n: 1 }, { n: 'two' }, { n: 3 }])
    const seen: unknown[] = []
    const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) =>
      one.handleBatch(job, (batch: readonly BatchJob<typeof job>[]) => {
        seen.push(batch.map(({ input }) => input.n))
        return Promise.resolve()
      }),
    )
    const [first = '', second = '', third = ''] = jobs.map(({ id }) => id)
    await worker.hears('succeeded', first)
    await worker.hears('succeeded', third)
    expect(await worker.hears('dead', second)).toMatchObject({ reason: 'discarded-contract' })
    expect(seen).toEqual([[1, 3]])
  })

  test('each job of a batch completes, logs and enqueues through its own context', async () => {
    const job = newJob()
    const child = newJob('child')
    const { worker, ids } = await runBatch(job, ['tx', 'child'], async (jobs) => {
      for (const { input, ctx } of jobs) {
        if (input === 'tx') await ctx.tx(() => Promise.resolve('by itself'))
        else await ctx.enqueue(child, ctx.jobId)
      }
    })
    const [tx = '', parent = ''] = ids
    await worker.hears('succeeded', tx)
    await worker.hears('succeeded', parent)
    expect((await stored(scene, tx)).result).toBe('by itself')
    expect(await scene.db.query('select input from stint.job where parent_id = $1', [parent])).toEqual([
      { input: parent },
    ])
  })

  test('middleware runs around each job of a batch, and a job that middleware answers is left out of the batch', async () => {
    const job = newJob()
    const sizes: number[] = []
    const around: unknown[] = []
    const { worker, ids } = await runBatch(
      job,
      ['a', 'skip', 'c', 'throw'],
      (jobs) => {
        sizes.push(jobs.length)
        return Promise.resolve(jobs.map(({ input }) => input))
      },
      {
        prepare: (one) =>
          one.use(async (ctx, next) => {
            if (ctx.correlationId === 'skip') return 'skipped'
            if (ctx.correlationId === 'throw') throw new PermanentError('thrown')
            const value = await next()
            around.push(value)
            return value
          }),
      },
    )
    for (const id of ids.slice(0, 3)) await worker.hears('succeeded', id)
    await worker.hears('dead', ids[3] ?? '')
    expect(sizes).toEqual([2])
    expect(around.sort()).toEqual(['a', 'c'])
    expect((await stored(scene, ids[1] ?? '')).result).toBe('skipped')
  })

  test('batches keep to the concurrency of their queue, with and without prefetch', async () => {
    for (const prefetch of [undefined, 0]) {
      const job = newJob()
      let atOnce = 0
      let most = 0
      const goOn = gate()
      const worker = await startWorker(
        scene,
        { queues: { [job.queue]: { concurrency: 2, prefetch }, [newName()]: 10 } },
        (one) =>
          one.handleBatch(job, async () => {
            most = Math.max(most, ++atOnce)
            await goOn.opened
            atOnce--
          }),
      )
      const ids: string[] = []
      for (let n = 0; n < 2; n++) {
        const { id } = await scene.stint.enqueue(job)
        await worker.hears('started', id)
        ids.push(id)
      }
      // These jobs come one by one, so each would be a call of its own. Once all are claimed, every call that may start has.
      for (let n = 0; n < 3; n++) {
        ids.push((await scene.stint.enqueue(job)).id)
        await eventually(async () => (await runningIn(job.queue)) === ids.length, 'all are claimed')
      }
      goOn.open(undefined)
      for (const id of ids) await worker.hears('succeeded', id)
      expect({ prefetch, most }).toEqual({ prefetch, most: 2 })
    }
  })
})

async function runningIn(queue: string): Promise<number> {
  const rows = await scene.db.query(`select from stint.job where queue = $1 and state = 'running'`, [queue])
  return rows.length
}
