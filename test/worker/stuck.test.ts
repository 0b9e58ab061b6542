import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { Worker } from '../../src/worker.ts'
import { surveySql } from '../../src/jobs/survey.sql.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { statementMarks } from '../support/statement-marks.ts'
import { optionsOfLane } from '../support/way.ts'
import {
  attemptsOf,
  gate,
  newJob,
  newName,
  startFor,
  startWorker,
  stored,
  workerScene,
} from '../support/workers.ts'

const scene = workerScene()

/** A handler that ignores its signal. */
function ignoringSignal(): { handler: () => Promise<unknown>; end: () => void } {
  const { opened, open } = gate()
  return {
    handler: () => opened,
    end: () => {
      open(undefined)
    },
  }
}

describe('a handler that ignores its signal', () => {
  test('a stuck handler times out after the grace, and its job is retried while it still hangs', async () => {
    const job = defineJob({
      kind: 'stuck',
      queue: newName(),
      timeout: '30ms',
      retry: { attempts: 2, backoff: () => 1 },
    })
    const { handler, end } = ignoringSignal()
    const worker = await startFor(scene, job, handler, { stuck: { grace: '30ms', recycle: false } })
    const { id } = await scene.stint.enqueue(job)
    const { reason, error } = await worker.hears('dead', id)
    expect(reason).toBe('exhausted')
    expect(error).toMatchObject({ class: 'timeout', code: 'attempt-timeout' })
    expect(await attemptsOf(scene, id)).toMatchObject([
      { attempt: 1, outcome: 'timed-out' },
      { attempt: 2, outcome: 'timed-out' },
    ])
    expect(worker.told('stuck').map(({ stuckSlots }) => stuckSlots)).toEqual([1, 2])
    end()
  })

  test('a stuck handler is also given up at its timeout when its lease was at risk and is safe again', async () => {
    const job = newJob('stuck')
    const { handler, end } = ignoringSignal()
    const atRisk = gate()
    const proxy = await startFaultProxy(scene.db.url)
    const worker = await startFor(
      scene,
      job,
      (_input, ctx) => {
        ctx.signal.addEventListener('abort', () => {
          atRisk.open(undefined)
        })
        return handler()
      },
      { connection: proxy.url, lease: '2s', stuck: { grace: '30ms', recycle: false } },
    )
    const { id } = await scene.stint.enqueue(job, {}, { timeout: '5s' })
    await worker.hears('started', id)
    const heal = proxy.blackhole()
    await atRisk.opened
    void heal()
    await worker.hears('stuck', id)
    // The attempt is not known to have failed, so it is not counted.
    await worker.hears('released', id)
    end()
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', attempt: 1 })
  })

  test('stuck handlers give their slots to other jobs, up to the concurrency of the queue', async () => {
    const job = newJob('stuck')
    const quick = defineJob({ kind: 'quick', queue: job.queue })
    const { handler, end } = ignoringSignal()
    const proxy = await startFaultProxy(scene.db.url)
    const options = { queues: { [job.queue]: 2 }, stuck: { grace: '20ms', recycle: false } } as const
    const worker = await startWorker(scene, { ...options, connection: proxy.url }, (one) =>
      one.handle(job, handler).handle(quick, () => 'done'),
    )
    for (let n = 0; n < 4; n++) await scene.stint.enqueue(job, n, { timeout: '20ms', attempts: 1 })
    await worker.tells('stuck', ({ stuckSlots }) => stuckSlots === 4)
    // Two slots and two replacements: stuck handlers occupy all four.
    const { id } = await scene.stint.enqueue(quick)
    // Two surveys, each in one frame or two: after the first the worker knows the job and would start it if it could.
    await proxy.saw(statementMarks(surveySql), 4)
    expect(worker.told('started').map((fact) => fact.id)).not.toContain(id)
    end()
    await worker.hears('succeeded', id)
  })

  test('a stuck handler that returns late has no effect on its job', async () => {
    const job = newJob('stuck')
    const { opened, open } = gate()
    const later = gate<unknown>()
    const worker = await startFor(
      scene,
      job,
      async (_input, ctx) => {
        await opened
        await ctx
          .tx(() => Promise.resolve('too late'))
          .catch((error: unknown) => {
            later.open(error)
          })
        return 'late'
      },
      { stuck: { grace: '20ms', recycle: false } },
    )
    const { id } = await scene.stint.enqueue(job, {}, { timeout: '20ms', attempts: 1 })
    await worker.hears('dead', id)
    open(undefined)
    expect(await later.opened).toMatchObject({ code: 'lease-lost' })
    expect((await stored(scene, id)).state).toBe('dead')
    expect(worker.told('succeeded')).toEqual([])
  })

  test('a stuck handler makes the worker finish its other jobs and end, so that its process is restarted', async () => {
    const job = newJob('stuck')
    const slow = defineJob({ kind: 'slow', queue: job.queue })
    const { handler, end } = ignoringSignal()
    const { opened, open } = gate()
    const connection = scene.db.url
    const worker = new Worker({
      ...optionsOfLane({ connection }),
      connection,
      log: false,
      queues: { [job.queue]: 4 },
      stuck: { grace: '20ms', recycle: '50ms' },
    })
    worker.handle(job, handler).handle(slow, async () => opened)
    const stopping = gate()
    worker.on('stopping', () => {
      stopping.open(undefined)
    })
    const running = worker.run()
    running.catch(() => undefined)
    const good = await scene.stint.enqueue(slow)
    await scene.stint.enqueue(job, {}, { timeout: '20ms' })
    await stopping.opened
    open(undefined)
    // The test process must not exit.
    const exit = process.exit.bind(process)
    process.exit = (() => undefined) as never
    try {
      await expect(running).rejects.toMatchObject({ code: 'worker-stuck' })
      expect((await stored(scene, good.id)).state).toBe('succeeded')
      await new Promise((resolve) => setTimeout(resolve, 2_100))
    } finally {
      process.exit = exit
      end()
    }
  })
})
