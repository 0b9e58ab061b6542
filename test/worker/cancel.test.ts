import { describe, expect, test } from 'vitest'
import { Stint } from '../../src/index.ts'
import type { HandlerContext } from '../../src/worker.ts'
import { eventually, gate, newJob, startFor, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** Rejects with the abort reason when the handler is told to stop. */
function untilAborted({ signal }: HandlerContext): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error)
    })
  })
}

describe('a running job that is cancelled', () => {
  test.each([
    { worker: true, client: true },
    { worker: false, client: false },
    // A listening worker cannot rely on NOTIFY alone: some clients send none, and behind a pooler none arrives.
    { worker: true, client: false },
  ])(
    'a cancelled running job is told to stop and ends as cancelled (worker listens: $worker, client notifies: $client)',
    async (notify) => {
      const job = newJob()
      const { opened, open } = gate()
      const worker = await startFor(
        scene,
        job,
        async (_input, ctx) => {
          open(undefined)
          await untilAborted(ctx)
        },
        { notify: notify.worker, sweepEvery: '1h' },
      )
      const { id } = await scene.stint.enqueue(job)
      await opened
      const stint = new Stint({ connection: scene.db.url, notify: notify.client })
      const ended = await stint.cancel(id, { reason: 'customer left', wait: '40s' })
      await stint.close()
      expect(ended).toMatchObject({ state: 'cancelled', reason: 'customer left', attempt: 1 })
      expect(await worker.hears('cancelled', id)).toMatchObject({ reason: 'customer left' })
    },
  )

  test('a cancel that does not wait returns the job still running, with the time of the request', async () => {
    const job = newJob()
    const { opened, open } = gate()
    const goOn = gate()
    const worker = await startFor(scene, job, async () => {
      open(undefined)
      await goOn.opened
      return 'all the same'
    })
    const { id } = await scene.stint.enqueue(job)
    await opened
    const asked = await scene.stint.cancel(id, { reason: 'first' })
    expect(asked).toMatchObject({ state: 'running', cancelRequestedAt: expect.any(Date) as Date })
    const again = await scene.stint.cancel(id, { reason: 'second' })
    expect(again.cancelRequestedAt).toEqual(asked.cancelRequestedAt)
    goOn.open(undefined)
    // The handler finished its work, so the job succeeds.
    await worker.hears('succeeded', id)
    await expect(scene.stint.cancel(id)).rejects.toMatchObject({ code: 'state-changed' })
  })

  test('a cancelled job ends as cancelled without another attempt, even if its handler throws another error', async () => {
    const job = newJob()
    const { opened, open } = gate()
    await startFor(scene, job, async (_input, ctx) => {
      open(undefined)
      await untilAborted(ctx).catch(() => undefined)
      throw new TypeError('of its own')
    })
    const { id } = await scene.stint.enqueue(job)
    await opened
    expect(await scene.stint.cancel(id, { wait: '40s' })).toMatchObject({ state: 'cancelled' })
  })

  test('a cancelled job whose handler ignores its signal is cancelled after the grace, and its slot is replaced', async () => {
    const job = newJob()
    const { opened, open } = gate()
    const end = gate()
    const worker = await startFor(
      scene,
      job,
      async (input) => {
        if (input !== 'stuck') return
        open(undefined)
        await end.opened
      },
      { queues: { [job.queue]: 1 }, stuck: { grace: '30ms', recycle: false } },
    )
    const { id } = await scene.stint.enqueue(job, 'stuck')
    await opened
    expect(await scene.stint.cancel(id, { wait: '40s' })).toMatchObject({ state: 'cancelled' })
    await worker.tells('stuck')
    const next = await scene.stint.enqueue(job, 'next')
    await worker.hears('succeeded', next.id)
    end.open(undefined)
  })

  test('a cancelled job does not run again when its worker was lost before it saw the request', async () => {
    const job = newJob()
    const { id } = await scene.stint.enqueue(job)
    await scene.db.query(
      `update stint.job set state = 'running', attempt = 1, epoch = 1, lease_id = $2, worker_id = $2 where id = $1`,
      [id, '00000000-0000-4000-8000-000000000001'],
    )
    expect(await scene.stint.cancel(id, { reason: 'no use' })).toMatchObject({ state: 'running' })
    const ran: unknown[] = []
    const worker = await startFor(scene, job, (input) => void ran.push(input), { sweepEvery: '50ms' })
    await worker.hears('cancelled', id)
    expect(await stored(scene, id)).toMatchObject({ state: 'cancelled', reason: 'no use' })
    expect(ran).toEqual([])
  })

  test('a job that is cancelled inside ctx.tx completes, and the caller learns that its state changed', async () => {
    const job = newJob()
    const { opened, open } = gate()
    const end = gate()
    await startFor(scene, job, async (_input, ctx) => {
      await ctx.tx(async () => {
        open(undefined)
        await end.opened
      })
    })
    const { id } = await scene.stint.enqueue(job)
    await opened
    const cancelling = scene.stint.cancel(id)
    await expect(cancelling).rejects.toMatchObject({ code: 'state-changed' })
    end.open(undefined)
    await eventually(async () => (await stored(scene, id)).state === 'succeeded', 'it succeeded')
  })
})

test('a job that waits for a slot is cancelled without running', async () => {
  const job = newJob()
  const { opened, open } = gate()
  const ran: unknown[] = []
  const worker = await startFor(
    scene,
    job,
    async (input) => {
      if (input === 'quick') return
      ran.push(input)
      await opened
    },
    { queues: { [job.queue]: { concurrency: 1, prefetch: 10 } } },
  )
  // Quick jobs first, so that the worker prefetches: enough of them that a pause during one does not prevent that.
  await scene.stint.enqueueMany(job, Array.from({ length: 300 }).fill('quick'))
  await worker.tells('succeeded', () => true, 300)
  const first = await scene.stint.enqueue(job, 'first')
  await worker.hears('started', first.id)
  const second = await scene.stint.enqueue(job, 'second')
  // The worker has claimed it. After a pause of this process it may have given the job back already.
  await eventually(async () => (await stored(scene, second.id)).epoch > 0, 'it is claimed')
  expect(await scene.stint.cancel(second.id, { wait: '40s' })).toMatchObject({ state: 'cancelled' })
  open(undefined)
  await worker.hears('succeeded', first.id)
  expect(ran).toEqual(['first'])
})
