import { expect, onTestFinished, test } from 'vitest'
import { isStintError, Stint } from '../../src/index.ts'
import { connectTo } from '../support/database.ts'
import { eventually, newJob, startFor, workerScene } from '../support/workers.ts'

const scene = workerScene()

function newProducer(): Stint {
  const stint = new Stint({ connection: scene.db.url })
  onTestFinished(() => stint.close())
  return stint
}

const closed = { code: 'queue-closed' }

test('a drained queue refuses enqueues and runs empty, retries too', async () => {
  const job = newJob()
  const producer = newProducer()
  const { id } = await producer.enqueue(job)
  await producer.enqueue(job)
  const report = await scene.stint.queues.drain(job.queue, { reason: 'moving to another region' })
  expect(report).toMatchObject({ state: 'closed', closeReason: 'moving to another region' })
  expect(report.closedAt).toBeInstanceOf(Date)
  // A process that starts now is refused from its first enqueue on, in every form.
  const fresh = newProducer()
  await expect(fresh.enqueue(job)).rejects.toMatchObject(closed)
  await expect(fresh.enqueue(job)).rejects.toThrow('moving to another region')
  await expect(fresh.enqueueMany(job, [{}, {}])).rejects.toMatchObject(closed)
  const tx = await connectTo(scene.db.url)
  await tx.query('begin')
  await expect(fresh.enqueue(job, {}, { tx })).rejects.toMatchObject(closed)
  await tx.query('commit')

  const worker = await startFor(scene, job, (_, ctx) => {
    if (ctx.jobId === id && ctx.attempt === 1) throw new Error('once more')
  })
  await worker.tells('succeeded', undefined, 2)
  expect(worker.told('failed')).toHaveLength(1)
  const rows = await scene.db.query('select id from stint.job where queue = $1', [job.queue])
  expect(rows).toEqual([])
})

test('a producer that is enqueueing learns of a drain, and of its end', async () => {
  const job = newJob()
  const producer = newProducer()
  await producer.enqueue(job)
  const isRefused = async (): Promise<boolean> => {
    try {
      await producer.enqueue(job)
      return false
    } catch (error) {
      if (isStintError(error, 'queue-closed')) return true
      throw error
    }
  }
  await scene.stint.queues.drain(job.queue)
  await eventually(isRefused, 'a refused enqueue')
  expect(await scene.stint.queues.open(job.queue)).toMatchObject({ state: 'open', closedAt: null })
  await eventually(async () => !(await isRefused()), 'an enqueue after the queue was opened')
})

test('a drain of a drained queue keeps its time and takes the new reason', async () => {
  const { queue } = newJob()
  const first = await scene.stint.queues.drain(queue, { reason: 'one' })
  const second = await scene.stint.queues.drain(queue, { reason: 'two' })
  expect(second).toMatchObject({ closedAt: first.closedAt, closeReason: 'two' })
  await scene.stint.queues.open(queue)
  expect(await scene.stint.queues.open(queue)).toMatchObject({ state: 'open', closeReason: null })
})

test('an operator drains and opens a queue with an audit entry each', async () => {
  const { queue } = newJob()
  const ana = scene.stint.as({ actor: 'ana' })
  await ana.drainQueue(queue, { reason: 'deploy' })
  await ana.openQueue(queue)
  const { entries } = await scene.stint.audit.list({ target: queue })
  expect(entries.map(({ action, actor, reason, outcome }) => ({ action, actor, reason, outcome }))).toEqual([
    { action: 'queue.open', actor: 'ana', reason: null, outcome: 'done' },
    { action: 'queue.drain', actor: 'ana', reason: 'deploy', outcome: 'done' },
  ])
})
