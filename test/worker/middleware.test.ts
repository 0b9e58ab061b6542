import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { defineJob } from '../../src/index.ts'
import { CancelJob, PermanentError, Snooze } from '../../src/worker.ts'
import type { HandlerContext, Logger } from '../../src/worker.ts'
import { unknownKinds } from '../../src/jobs/survey.ts'
import { claimOne } from '../support/claimed.ts'
import {
  attemptsOf,
  gate,
  newJob,
  startFor,
  startWorker,
  stored,
  takeLease,
  workerScene,
} from '../support/workers.ts'

const scene = workerScene()

/** Stops with the test. */
function database(): Database {
  const { url } = scene.db
  const db = new Database({ url, schema: 'stint', poolSize: 1, deadlineMs: 10_000, applicationName: 'test' })
  onTestFinished(() => db.close())
  return db
}

describe('middleware', () => {
  test('middleware runs around every attempt, the first one outermost, and sees context and result', async () => {
    const job = newJob()
    const order: string[] = []
    const layer = (name: string) => async (ctx: HandlerContext, next: () => Promise<unknown>) => {
      order.push(`${name} in ${ctx.attempt}`)
      try {
        return `${name}(${String(await next())})`
      } finally {
        order.push(`${name} out`)
      }
    }
    const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) =>
      one
        .use(layer('a'))
        .use(layer('b'))
        .handle(job, (_input, ctx) => {
          order.push('handler')
          if (ctx.attempt === 1) throw new Error('not yet')
          return 'value'
        }),
    )
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    const round = (attempt: number): string[] => [
      `a in ${attempt}`,
      `b in ${attempt}`,
      'handler',
      'b out',
      'a out',
    ]
    expect(order).toEqual([...round(1), ...round(2)])
    expect((await stored(scene, id)).result).toBe('a(b(value))')
  })

  test('middleware may return a result itself, and then the handler does not run', async () => {
    const job = newJob()
    let runs = 0
    const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) =>
      one
        .use((ctx, next) => (ctx.key === 'cached' ? Promise.resolve('from the cache') : next()))
        .handle(job, () => ++runs),
    )
    const cached = await scene.stint.enqueue(job, {}, { key: 'cached' })
    const other = await scene.stint.enqueue(job)
    await worker.hears('succeeded', cached.id)
    await worker.hears('succeeded', other.id)
    expect((await stored(scene, cached.id)).result).toBe('from the cache')
    expect((await stored(scene, other.id)).result).toBe(1)
  })

  test('an error or verdict that middleware throws, before or after next(), ends the attempt', async () => {
    const job = newJob()
    const throws = {
      'at once': () => {
        throw new PermanentError('at once')
      },
      later: () => Promise.reject(new PermanentError('later')),
    }
    for (const [message, layer] of Object.entries(throws)) {
      const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) =>
        one.use(layer).handle(job, () => 'never'),
      )
      const { id } = await scene.stint.enqueue(job)
      const { reason, error } = await worker.hears('dead', id)
      expect({ reason, error }).toMatchObject({ reason: 'permanent', error: { message } })
      await worker.worker.stop()
    }
  })

  test.each<[string, (next: () => Promise<unknown>) => Promise<unknown>]>([
    ['in turn', (next) => next().then(next)],
    ['at once', (next) => Promise.all([next(), next()])],
    ['after a failure', (next) => next().catch(next)],
  ])(
    'middleware that calls next() twice %s fails the attempt, and the handler runs once',
    async (how, twice) => {
      const job = defineJob({ kind: 'twice', queue: newJob().queue, retry: { attempts: 1 } })
      const runs: string[] = []
      const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) =>
        one
          .use((_ctx, next) => twice(next))
          .handle(job, (_input, ctx) => {
            runs.push(ctx.jobId)
            if (how === 'after a failure') throw new Error('not yet')
          }),
      )
      const { id } = await scene.stint.enqueue(job)
      const { error } = await worker.hears('dead', id)
      expect(error).toMatchObject({
        code: 'next-called-twice',
        message: expect.stringContaining(id) as string,
      })
      expect(runs).toEqual([id])
    },
  )

  test('middleware that calls next() twice in a batch fails its job, and the other jobs are handled once', async () => {
    const job = defineJob({ kind: 'twice', queue: newJob().queue, retry: { attempts: 1 } })
    const seen: unknown[] = []
    const { jobs } = await scene.stint.enqueueMany(job, ['twice', 'once', 'again'])
    const [bad = '', ...good] = jobs.map(({ id }) => id)
    const worker = await startWorker(scene, { queues: { [job.queue]: 3 } }, (one) =>
      one
        .use((ctx, next) => (ctx.jobId === bad ? Promise.all([next(), next()]) : next()))
        .handleBatch(
          job,
          (batch) => {
            seen.push(...batch.map(({ input }) => input))
            return Promise.resolve()
          },
          { size: 3 },
        ),
    )
    expect((await worker.hears('dead', bad)).error).toMatchObject({ code: 'next-called-twice' })
    for (const id of good) await worker.hears('succeeded', id)
    expect(seen.sort()).toEqual(['again', 'once', 'twice'])
  })

  test('middleware runs inside the job, so it can enqueue children of that job', async () => {
    const job = newJob()
    const child = newJob('child')
    const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) =>
      one
        .use(async (ctx, next) => {
          const value = await next()
          await ctx.enqueue(child, 'after')
          return value
        })
        .handle(job, () => 'done'),
    )
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(await scene.db.query('select input from stint.job where parent_id = $1', [id])).toEqual([
      { input: 'after' },
    ])
  })
})

describe('events', () => {
  test('events report how every job ended, once that is stored, with its facts', async () => {
    const job = newJob()
    const isRunning = gate()
    const goOn = gate()
    const worker = await startFor(scene, job, async (input, ctx) => {
      switch (ctx.fence.epoch === 1 ? input : 'succeed') {
        case 'fail':
          throw new TypeError('once')
        case 'die':
          throw new PermanentError('no use')
        case 'cancel':
          throw new CancelJob('not wanted')
        case 'snooze':
          throw new Snooze(5, 'too early')
        case 'lose':
          isRunning.open(undefined)
          await goOn.opened
      }
    })
    const inputs = ['succeed', 'fail', 'die', 'cancel', 'snooze', 'lose']
    const enqueued = await Promise.all(
      inputs.map((input) => scene.stint.enqueue(job, input, { correlationId: input, key: input })),
    )
    const [succeed = '', fail = '', die = '', cancel = '', snooze = '', lose = ''] = enqueued.map(
      ({ id }) => id,
    )
    await isRunning.opened
    await takeLease(scene, lose)
    goOn.open(undefined)
    const facts = (id: string, name: string): object => ({
      id,
      kind: job.kind,
      queue: job.queue,
      key: name,
      attempt: 1,
      maxAttempts: 5,
      epoch: 1,
      correlationId: name,
    })
    const ranMs = expect.any(Number) as number
    expect(await worker.hears('started', succeed)).toEqual(facts(succeed, 'succeed'))
    expect(await worker.hears('succeeded', succeed)).toEqual({ ...facts(succeed, 'succeed'), ranMs })
    expect(await worker.hears('failed', fail)).toMatchObject({
      ...facts(fail, 'fail'),
      ranMs,
      delayMs: 1,
      error: {
        class: 'unknown',
        name: 'TypeError',
        message: 'once',
        fingerprint: expect.any(String) as string,
      },
    })
    expect(await worker.hears('dead', die)).toMatchObject({
      ...facts(die, 'die'),
      ranMs,
      reason: 'permanent',
      error: { class: 'permanent', message: 'no use' },
    })
    expect(await worker.hears('cancelled', cancel)).toEqual({
      ...facts(cancel, 'cancel'),
      reason: 'not wanted',
    })
    expect(await stored(scene, cancel)).toMatchObject({ state: 'cancelled', reason: 'not wanted' })
    expect(await worker.hears('snoozed', snooze)).toEqual({
      ...facts(snooze, 'snooze'),
      delayMs: 5,
      reason: 'too early',
    })
    expect(await worker.hears('leaseLost', lose)).toEqual({ ...facts(lose, 'lose'), ranMs })
    for (const id of [fail, snooze, lose]) await worker.hears('succeeded', id)
    expect(await stored(scene, snooze)).toMatchObject({ attempt: 1, epoch: 2 })
    expect(await attemptsOf(scene, snooze)).toMatchObject([{ outcome: 'snoozed', reason: 'too early' }])
  })

  test('events report that a worker is ready, stopping and stopped, and which jobs it gives back', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => {
          reject(ctx.signal.reason as Error)
        })
      })
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('started', id)
    expect(worker.told('ready')).toEqual([{ workerId: worker.worker.id }])
    await worker.worker.stop({ drain: 0 })
    expect(await worker.hears('released', id)).toMatchObject({ reason: 'the worker stopped', attempt: 1 })
    expect(worker.told('stopping')).toEqual([{ reason: 'asked to' }])
    expect(worker.told('stopped')).toHaveLength(1)
    expect(await stored(scene, id)).toMatchObject({ state: 'ready', attempt: 0 })
  })

  test('an event reports jobs of a kind that the worker cannot handle, and the worker leaves them alone', async () => {
    const job = newJob()
    const unheard = defineJob({ kind: 'unheard.of', queue: job.queue })
    const { id } = await scene.stint.enqueue(unheard)
    const { id: known } = await scene.stint.enqueue(job)
    const worker = await startFor(scene, job, () => undefined)
    await worker.hears('succeeded', known)
    expect(await stored(scene, id)).toMatchObject({ state: 'ready', attempt: 0, epoch: 0 })
    const found = await unknownKinds(database(), {
      queues: [job.queue],
      kinds: JSON.stringify({ [job.kind]: 1 }),
    })
    expect(found).toEqual([{ queue: job.queue, kind: 'unheard.of', jobs: 1 }])
  })

  test('an event reports jobs that were taken back from lost workers', async () => {
    const job = newJob()
    const { id } = await scene.stint.enqueue(job)
    await claimOne(database(), job, randomUUID())
    const worker = await startFor(scene, job, () => 'done', { sweepEvery: '50ms' })
    expect(await worker.tells('swept')).toEqual([{ returned: 1, quarantined: [] }])
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ attempt: 1, epoch: 2, crashes: 0 })
  })

  test('a worker that was declared lost emits an event, aborts its handlers and starts again under another id', async () => {
    const job = newJob()
    const reasons: unknown[] = []
    const worker = await startFor(
      scene,
      job,
      async (input, ctx) => {
        if (input !== 'long' || ctx.fence.epoch > 1) return
        await new Promise((resolve) => {
          ctx.signal.addEventListener('abort', resolve)
        })
        reasons.push(ctx.signal.reason)
        throw ctx.signal.reason
      },
      // The lease must not be at risk before it is lost, even on a busy machine: that would be another abort reason.
      { lease: '6s', sweepEvery: '1s' },
    )
    const { id } = await scene.stint.enqueue(job, 'long')
    await worker.hears('started', id)
    const { id: firstId } = worker.worker
    await scene.db.query('update stint.worker set lost_at = stint.now() where id = $1', [firstId])
    expect(await worker.tells('workerLost')).toEqual([{ workerId: firstId }])
    await worker.tells('ready', () => true, 2)
    expect(worker.worker.id).not.toBe(firstId)
    await worker.hears('succeeded', id)
    expect(reasons).toMatchObject([{ code: 'lease-lost', jobIds: [id] }])
    expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', attempt: 1 })
  })

  test('an event reports trouble with the database, and the worker goes on', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, () => 'done', { pollFloor: '50ms' })
    await scene.db.query('alter table stint.job rename to job_away')
    const isMissing = ({ error }: { error: unknown }) => (error as { code?: unknown }).code === '42P01'
    const [trouble] = await worker.tells('trouble', isMissing).finally(async () => {
      await scene.db.query('alter table stint.job_away rename to job')
    })
    expect(trouble).toMatchObject({ what: expect.any(String) as string })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
  })

  test('a listener that throws or rejects stops nothing, and its error is logged', async () => {
    const job = newJob()
    const reported: unknown[] = []
    const log: Logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: (fields, message) => void reported.push([message, fields]),
    }
    const rejecting = (): unknown => Promise.reject(new Error('later'))
    const worker = await startWorker(scene, { queues: { [job.queue]: 1 }, log }, (one) => {
      one.handle(job, () => 'done')
      one.on('started', () => {
        throw new Error('in started')
      })
      one.on('succeeded', () => {
        throw new TypeError('in succeeded')
      })
      one.on('succeeded', rejecting)
    })
    for (let n = 0; n < 2; n++) {
      const { id } = await scene.stint.enqueue(job)
      await worker.hears('succeeded', id)
      expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: 'done' })
    }
    expect(reported).toHaveLength(6)
    expect(reported[0]).toMatchObject([
      'a listener of worker events threw',
      { error: expect.stringContaining('in started') as string },
    ])
  })

  test('a listener that was removed gets no more events', async () => {
    const job = newJob()
    const heard: string[] = []
    let stopListening = (): void => undefined
    const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) => {
      one.handle(job, () => undefined)
      stopListening = one.on('succeeded', ({ id }) => void heard.push(id))
    })
    const first = await scene.stint.enqueue(job)
    await worker.hears('succeeded', first.id)
    stopListening()
    const second = await scene.stint.enqueue(job)
    await worker.hears('succeeded', second.id)
    expect(heard).toEqual([first.id])
  })
})

test('a logger that throws at every line does not keep a job from ending', async () => {
  const job = newJob()
  const fail = (): never => {
    throw new Error('no log')
  }
  const log: Logger = { debug: fail, info: fail, warn: fail, error: fail }
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 }, log }, (one) =>
    one.handle(job, (_input, ctx) => {
      if (ctx.attempt === 1) throw new Error('not yet')
    }),
  )
  const { id } = await scene.stint.enqueue(job, null, { attempts: 2 })
  await worker.hears('failed', id)
  await scene.stint.reschedule(id, { delay: 0 })
  await worker.hears('succeeded', id)
  expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', attempt: 2 })
})
