import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import { currentJob } from '../../src/worker.ts'
import type { Logger } from '../../src/worker.ts'
import { connectTo } from '../support/database.ts'
import {
  attemptsOf,
  gate,
  newJob,
  newName,
  startFor,
  startWorker,
  stored,
  takeLease,
  workerScene,
} from '../support/workers.ts'

const scene = workerScene()
const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

async function childrenOf(id: string): Promise<unknown[]> {
  const rows = await scene.db.query<{ input: unknown }>(
    'select input from stint.job where parent_id = $1 order by id',
    [id],
  )
  return rows.map(({ input }) => input)
}

describe('ctx.enqueue', () => {
  test('ctx.enqueue stores children only when their parent succeeds, not when it fails or snoozes', async () => {
    const job = newJob()
    const child = newJob('child')
    let runs = 0
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const run = ++runs
      const { id } = await ctx.enqueue(child, { run })
      expect(await scene.stint.get(id)).toBeUndefined()
      if (run === 1) throw new Error('not yet')
      if (run === 2) ctx.snooze('1ms')
      return id
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('failed', id)
    await worker.hears('snoozed', id)
    await worker.hears('succeeded', id)
    expect(await childrenOf(id)).toEqual([{ run: 3 }])
    const { result } = await stored(scene, id)
    expect(await stored(scene, String(result))).toMatchObject({ state: 'ready', parentId: id })
  })

  test('ctx.enqueue stores nothing for a parent that runs under a newer lease', async () => {
    const job = newJob()
    const child = newJob('child')
    const isRunning = gate()
    const goOn = gate()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await ctx.enqueue(child, { epoch: ctx.fence.epoch })
      if (ctx.fence.epoch > 1) return
      isRunning.open(undefined)
      await goOn.opened
    })
    const { id } = await scene.stint.enqueue(job)
    await isRunning.opened
    await takeLease(scene, id)
    goOn.open(undefined)
    await worker.hears('leaseLost', id)
    await worker.hears('succeeded', id)
    expect(await childrenOf(id)).toEqual([{ epoch: 2 }])
  })

  test('ctx.enqueue hands correlation id and trace context to the child unless the call sets its own', async () => {
    const job = newJob()
    const child = newJob('child')
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await ctx.enqueue(child, 'inherits')
      await ctx.enqueue(child, 'inherits too', { correlationId: undefined, traceparent: undefined })
      await ctx.enqueue(child, 'its own', { correlationId: 'own' })
    })
    const told = await scene.stint.enqueue(
      job,
      {},
      { correlationId: 'order-1', traceparent, tracestate: 'a=1' },
    )
    const untold = await scene.stint.enqueue(job)
    const inherited = { correlationId: 'order-1', traceparent, tracestate: 'a=1' }
    await worker.hears('succeeded', told.id)
    expect(await family(told.id)).toMatchObject([
      { input: 'inherits', ...inherited },
      { input: 'inherits too', ...inherited },
      { input: 'its own', correlationId: 'own', traceparent },
    ])
    await worker.hears('succeeded', untold.id)
    expect(await family(untold.id)).toMatchObject([
      { correlationId: untold.id, traceparent: null },
      { correlationId: untold.id },
      { correlationId: 'own' },
    ])
  })

  test('ctx.enqueue takes the options of an enqueue', async () => {
    const job = newJob()
    const child = newJob('child')
    const unique = { key: newName('unique') }
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await ctx.enqueue(child, 'later', { delay: '1h', priority: 7, attempts: 2, timeout: '9s' })
      await ctx.enqueue(child, 'keyed', { key: 'tenant' })
      await ctx.enqueue(child, 'unique', { unique })
      await ctx.enqueue(child, 'unique again', { unique })
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(await family(id)).toMatchObject([
      { input: 'later', state: 'scheduled', priority: 7, maxAttempts: 2 },
      { input: 'keyed', state: 'ready', key: 'tenant' },
      { input: 'unique', state: 'ready' },
    ])
  })

  test('ctx.enqueue with an invalid input is an ordinary handler error and does not discard the parent', async () => {
    const queue = newName()
    const child = defineJob({ kind: 'strict', queue, input: z.object({ n: z.number() }) })
    const job = newJob()
    const worker = await startFor(scene, job, async (input, ctx) => {
      const [what] = input as [string]
      if (ctx.attempt === 1 && what === 'input') await ctx.enqueue(child, { n: 'one' as never })
      if (ctx.attempt === 1 && what === 'option') await ctx.enqueue(child, { n: 1 }, { priority: 1000 })
      await ctx.enqueue(child, { n: 1 })
    })
    for (const what of ['input', 'option']) {
      const { id } = await scene.stint.enqueue(job, [what])
      const { error } = await worker.hears('failed', id)
      expect(error).toMatchObject({ class: 'unknown', code: 'invalid-input' })
      await worker.hears('succeeded', id)
      expect(await attemptsOf(scene, id)).toMatchObject([{ outcome: 'failed' }])
      expect(await childrenOf(id)).toEqual([{ n: 1 }])
    }
  })

  test.each(['return', 'ctx.tx', 'ctx.complete'])(
    'ctx.enqueue wakes the queue of the children when the parent ends by %s, without waiting for a poll',
    async (how) => {
      const job = newJob()
      const child = newJob('child')
      const client = await connectTo(scene.db.url)
      const worker = await startWorker(
        scene,
        { queues: { [job.queue]: 1, [child.queue]: 1 }, pollFloor: '10m', notify: false },
        (one) =>
          one
            .handle(child, () => undefined)
            .handle(job, async (_input, ctx) => {
              const { id } = await ctx.enqueue(child)
              if (how === 'ctx.tx') return ctx.tx(() => Promise.resolve(id))
              if (how === 'ctx.complete') {
                await client.query('begin')
                await ctx.complete(client, { result: id })
                await client.query('commit')
              }
              return id
            }),
      )
      const { id } = await scene.stint.enqueue(job)
      await worker.hears('succeeded', id)
      await worker.hears('succeeded', String((await stored(scene, id)).result))
    },
  )
})

describe('inside a handler', () => {
  test('inside a handler, a client’s enqueue inherits the correlation id and trace context of the job', async () => {
    const job = newJob()
    const nested = newJob('nested')
    const worker = await startFor(scene, job, async () => {
      await Promise.resolve()
      const [one, own] = await Promise.all([
        scene.stint.enqueue(nested),
        scene.stint.enqueue(nested, {}, { correlationId: 'own' }),
      ])
      const { jobs } = await scene.stint.enqueueMany(nested, [1])
      return [one.id, own.id, ...jobs.map(({ id }) => id)]
    })
    const { id } = await scene.stint.enqueue(
      job,
      {},
      { correlationId: 'order-2', traceparent, tracestate: 'b=2' },
    )
    await worker.hears('succeeded', id)
    const ids = (await stored(scene, id)).result as string[]
    const inherited = { correlationId: 'order-2', traceparent, tracestate: 'b=2', parentId: null }
    expect(await Promise.all(ids.map((one) => stored(scene, one)))).toMatchObject([
      inherited,
      { ...inherited, correlationId: 'own' },
      inherited,
    ])
  })

  test('currentJob() returns the job of the calling code, also with two jobs at once, and undefined outside of a handler', async () => {
    const job = newJob()
    const bothRun = gate()
    let running = 0
    const worker = await startFor(scene, job, async (input) => {
      if (++running === 2) bothRun.open(undefined)
      await bothRun.opened
      const { jobId, kind, queue, attempt, correlationId } = currentJob() ?? {}
      return { jobId, kind, queue, attempt, correlationId, input }
    })
    const jobs = await Promise.all(
      ['a', 'b'].map((letter) => scene.stint.enqueue(job, letter, { correlationId: letter })),
    )
    for (const [place, { id }] of jobs.entries()) {
      await worker.hears('succeeded', id)
      const letter = 'ab'.charAt(place)
      expect((await stored(scene, id)).result).toEqual({
        jobId: id,
        kind: job.kind,
        queue: job.queue,
        attempt: 1,
        correlationId: letter,
        input: letter,
      })
    }
    expect(currentJob()).toBeUndefined()
  })

  test('log lines of a handler and of its worker carry the job and its correlation id', async () => {
    const job = newJob()
    const lines: { level: string; fields: Record<string, unknown>; message: string }[] = []
    const to = (level: string) => (fields: object, message: string) => {
      lines.push({ level, fields: { ...fields }, message })
    }
    const log: Logger = { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') }
    const worker = await startFor(
      scene,
      job,
      (_input, ctx) => {
        ctx.log.warn('running low', { left: 3 })
        throw new Error('gone')
      },
      { log },
    )
    const { id } = await scene.stint.enqueue(job, {}, { correlationId: 'order-3', attempts: 1 })
    await worker.hears('dead', id)
    await worker.until(() => lines.some(({ message }) => message === 'dead'))
    const about = { kind: job.kind, queue: job.queue, attempt: 1, correlationId: 'order-3' }
    expect(lines.filter(({ fields }) => fields['correlationId'] === 'order-3')).toMatchObject([
      { level: 'debug', message: 'started', fields: { id, ...about } },
      { level: 'warn', message: 'running low', fields: { id, ...about, data: { left: 3 } } },
      {
        level: 'error',
        message: 'dead',
        fields: { id, ...about, reason: 'exhausted', error: 'Error: gone' },
      },
    ])
  })
})

async function family(id: string): Promise<unknown[]> {
  const rows = await scene.db.query<{ id: string }>(
    'select id from stint.job where parent_id = $1 order by id',
    [id],
  )
  return Promise.all(rows.map((row) => stored(scene, row.id)))
}
