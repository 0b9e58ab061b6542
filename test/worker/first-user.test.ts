// Problems that were found while the guides were written.
import { expect, test } from 'vitest'
import { defineJob, isStintError } from '../../src/index.ts'
import { Worker } from '../../src/worker.ts'
import { newJob, newName, startFor, startWorker, workerScene } from '../support/workers.ts'

const scene = workerScene()

test('lines that a handler logs before and inside ctx.tx are kept', async () => {
  const job = newJob()
  const worker = await startFor(scene, job, async (_input, ctx) => {
    ctx.log.info('before')
    await ctx.tx(() => {
      ctx.log.info('inside')
      return Promise.resolve()
    })
  })
  const { id } = await scene.stint.enqueue(job)
  await worker.hears('succeeded', id)
  expect(await scene.db.query('select message from stint.log where job_id = $1 order by line', [id])).toEqual(
    [{ message: 'before' }, { message: 'inside' }],
  )
})

test('a job with a key runs although the queue never runs out of jobs without a key', async () => {
  const job = newJob()
  await scene.stint.enqueueMany(job, Array.from({ length: 500 }))
  const { id } = await scene.stint.enqueue(job, null, { key: 'acme' })
  const worker = await startWorker(
    scene,
    // By polling alone: notifications may arrive late and would announce one enqueue before the other.
    { queues: { [job.queue]: { concurrency: 1, prefetch: 0 } }, notify: false },
    (one) => one.handle(job, () => undefined),
  )
  await worker.hears('succeeded', id)
  // The worker finds its lane with two statements, while jobs without a key run.
  expect(worker.told('started').findIndex((fact) => fact.id === id)).toBeLessThan(250)
})

test('keys that hold only unknown kinds do not hide the keys behind them', async () => {
  const job = newJob('known')
  const unknown = defineJob({ kind: 'unknown', queue: job.queue })
  for (let n = 10; n < 40; n++) await scene.stint.enqueue(unknown, n, { key: `a${n}` })
  const { id } = await scene.stint.enqueue(job, null, { key: 'z' })
  const worker = await startFor(scene, job, () => undefined)
  await worker.hears('succeeded', id)
})

test('start() rejects with a Stint error code when the database cannot be reached', async () => {
  const worker = new Worker({
    connection: 'postgres://nobody@127.0.0.1:1/nothing',
    waitForDatabase: 0,
    log: false,
  })
  worker.handle(newJob(), () => undefined)
  const error: unknown = await worker.start().catch((thrown: unknown) => thrown)
  expect(isStintError(error, 'database-unavailable')).toBe(true)
})

test('a handler for a queue that the worker does not serve causes a warning at the start', async () => {
  const told: [object, string][] = []
  const quiet = (): void => undefined
  const log = {
    debug: quiet,
    info: quiet,
    error: quiet,
    warn: (fields: object, message: string) => told.push([fields, message]),
  }
  const job = newJob()
  await startWorker(scene, { queues: { [newName()]: 1 }, log }, (one) => one.handle(job, quiet))
  expect(told).toEqual([
    [{ kind: job.kind, queue: job.queue }, expect.stringContaining('does not serve') as string],
  ])
})
