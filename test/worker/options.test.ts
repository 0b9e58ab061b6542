import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { resolveStintOptions } from '../../src/client/options.ts'
import { defineJob } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { Worker } from '../../src/worker.ts'
import type { WorkerOptions } from '../../src/worker.ts'
import { resolveWorkerOptions } from '../../src/worker/options.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { isOutOf } from '../support/lane.ts'
import { eventually, gate, newJob, startFor, startWorker, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()
const job = defineJob({ kind: 'image.resize' })

function thrownBy(call: () => unknown): { code?: string; message?: string; issues?: { path: string }[] } {
  try {
    call()
  } catch (error) {
    return error as Error
  }
  return {}
}

describe('options of a worker', () => {
  test.skipIf(isOutOf('no-notify', 'that lane changes the default of notify'))(
    'the options of a worker have defaults',
    () => {
      expect(resolveWorkerOptions()).toMatchObject({
        schema: 'stint',
        concurrency: 10,
        order: 'weighted',
        leaseMs: 30_000,
        drainMs: 25_000,
        pollFloorMs: 1_000,
        sweepEveryMs: 5_000,
        crashLimit: 3,
        notify: true,
        poolSize: 4,
        txPoolSize: 10,
        queues: [{ name: 'default', concurrency: 10, prefetch: 2_000, weight: 1, agingAfterMs: 600_000 }],
      })
    },
  )

  test('options of a worker may be undefined, and a queue may be just a number', () => {
    const queues = { media: 4, mail: { concurrency: undefined, prefetch: 0 } }
    expect(resolveWorkerOptions({ lease: undefined, queues })).toMatchObject({
      leaseMs: 30_000,
      concurrency: 14,
      queues: [
        { name: 'media', concurrency: 4, prefetch: 2_000 },
        { name: 'mail', concurrency: 10, prefetch: 0 },
      ],
    })
  })

  test('STINT_NOTIFY is the default of `notify`, for producers too', () => {
    onTestFinished(() => {
      vi.unstubAllEnvs()
    })
    vi.stubEnv('STINT_NOTIFY', 'off')
    expect([resolveWorkerOptions().notify, resolveStintOptions().notify]).toEqual([false, false])
    expect([
      resolveWorkerOptions({ notify: true }).notify,
      resolveStintOptions({ notify: true }).notify,
    ]).toEqual([true, true])
    vi.stubEnv('STINT_NOTIFY', 'on')
    expect([resolveWorkerOptions().notify, resolveStintOptions().notify]).toEqual([true, true])
    vi.stubEnv('STINT_NOTIFY', 'maybe')
    expect(thrownBy(() => new Worker())).toMatchObject({
      code: 'invalid-option',
      message: expect.stringContaining('STINT_NOTIFY') as string,
    })
  })

  test.each<[options: object, near: string]>([
    [{ concurency: 3 }, 'concurrency'],
    [{ leases: '30s' }, 'lease'],
    [{ queue: 'media' }, 'queues'],
    [{ queues: { media: { concurency: 4 } } }, 'concurrency'],
    [{ queues: { media: { agingafter: '1m' } } }, 'agingAfter'],
    [{ queues: { media: { reserve: { slot: 1, priority: 5, slots: 1 } } } }, 'slots'],
    [{ health: { prot: 80, port: 80 } }, 'port'],
  ])('an unknown worker option is refused with a suggestion: %j', (options, near) => {
    expect(thrownBy(() => new Worker(options as WorkerOptions))).toMatchObject({
      code: 'invalid-option',
      message: expect.stringContaining(`Did you mean \`${near}\`?`) as string,
    })
  })

  test.each<[options: unknown, path: string]>([
    [{ queues: {} }, 'queues'],
    [{ queues: [] }, 'queues'],
    [{ queues: null }, 'queues'],
    [{ queues: { 'no spaces': 1 } }, 'queues'],
    [{ queues: { media: 0 } }, 'queues.media.concurrency'],
    [{ queues: { media: 1.5 } }, 'queues.media.concurrency'],
    [{ queues: { media: null } }, 'queues.media'],
    [{ queues: { media: 'many' } }, 'queues.media.concurrency'],
    [{ queues: { media: { prefetch: -1 } } }, 'queues.media.prefetch'],
    [{ queues: { media: { weight: 0 } } }, 'queues.media.weight'],
    [{ queues: { media: { agingAfter: 'soon' } } }, 'queues.media.agingAfter'],
    [
      { queues: { media: { concurrency: 4, reserve: { slots: 4, priority: 5 } } } },
      'queues.media.reserve.slots',
    ],
    [{ queues: { media: { reserve: { slots: 0, priority: 5 } } } }, 'queues.media.reserve.slots'],
    [{ queues: { media: { reserve: { slots: 1 } } } }, 'queues.media.reserve.priority'],
    [{ queues: { media: { reserve: { slots: 1, priority: 101 } } } }, 'queues.media.reserve.priority'],
    [{ queues: { media: { reserve: 2 } } }, 'queues.media.reserve'],
    [{ queues: { media: { reserve: { slots: 1, priority: 5, queue: 'x' } } } }, 'queues.media.reserve.queue'],
    [{ concurrency: 0 }, 'concurrency'],
    [{ order: 'random' }, 'order'],
    [{ lease: '999ms' }, 'lease'],
    [{ lease: '2h' }, 'lease'],
    [{ drain: -1 }, 'drain'],
    [{ pollFloor: '10ms' }, 'pollFloor'],
    [{ sweepEvery: 0 }, 'sweepEvery'],
    [{ crashLimit: 0 }, 'crashLimit'],
    [{ notify: 'yes' }, 'notify'],
    [{ poolSize: 1 }, 'poolSize'],
    [{ txPoolSize: 0 }, 'txPoolSize'],
    [{ schema: 'Bad"name' }, 'schema'],
    [{ blobs: { store: 'here' } }, 'blobs.store'],
    [{ health: { port: 70_000 } }, 'health.port'],
    [{ health: null }, 'health'],
    [{ health: 8080 }, 'health'],
    [{ version: 7 }, 'version'],
    [{ log: 'loud' }, 'log'],
    [{ log: {} }, 'log'],
  ])('a worker option with an invalid value is refused by name: %j', (options, path) => {
    expect(thrownBy(() => new Worker(options as WorkerOptions))).toMatchObject({
      code: 'invalid-option',
      issues: [{ path }],
    })
  })

  test('start() refuses a connection that is not a PostgreSQL URL', async () => {
    const worker = new Worker({ connection: 'mysql://localhost', log: false }).handle(job, () => undefined)
    await expect(worker.start()).rejects.toMatchObject({ code: 'invalid-option' })
  })
})

describe('handlers and the life of a worker', () => {
  test('a worker takes one handler for each kind', () => {
    const worker = new Worker({ log: false }).handle(job, () => undefined)
    for (const again of [
      () => worker.handle(job, () => undefined),
      () => worker.handleBatch(job, async () => {}),
    ])
      expect(thrownBy(again)).toMatchObject({
        code: 'invalid-option',
        message: expect.stringContaining('image.resize') as string,
      })
  })

  test('a worker without a handler refuses to start', async () => {
    await expect(new Worker({ connection: scene.db.url, log: false }).start()).rejects.toMatchObject({
      code: 'unknown-handler',
    })
  })

  test('handlers and middleware are refused after the start, and a worker starts only once', async () => {
    const own = newJob()
    const { worker } = await startFor(scene, own, () => undefined)
    const late = [
      () => worker.handle(job, () => undefined),
      () => worker.handleBatch(job, async () => {}),
      () => worker.use((_ctx, next) => next()),
    ]
    for (const call of late) expect(thrownBy(call)).toMatchObject({ code: 'worker-stopped' })
    await expect(worker.start()).rejects.toMatchObject({ code: 'worker-stopped' })
    await worker.stop()
    await expect(worker.start()).rejects.toMatchObject({ code: 'worker-stopped' })
  })

  test.each<[what: string, call: (worker: Worker) => unknown]>([
    ['a handler that is not a function', (worker) => worker.handle(job, 'resize' as never)],
    ['a contract that is not a contract', (worker) => worker.handle({} as JobContract, () => undefined)],
    ['no contract', (worker) => worker.handle(undefined as never, () => undefined)],
    ['a batch of nothing', (worker) => worker.handleBatch(job, async () => {}, { size: 0 })],
    ['a batch of too many', (worker) => worker.handleBatch(job, async () => {}, { size: 1_001 })],
    ['an unknown option', (worker) => worker.handleBatch(job, async () => {}, { sise: 2 } as never)],
    ['middleware that is not a function', (worker) => worker.use('log' as never)],
  ])('a worker refuses %s', (_what, call) => {
    expect(thrownBy(() => call(new Worker({ log: false })))).toMatchObject({ code: 'invalid-option' })
  })

  test('a worker refuses to start with schema-missing when its schema does not exist', async () => {
    const worker = new Worker({ connection: scene.db.url, schema: 'nowhere', log: false })
    await expect(worker.handle(job, () => undefined).start()).rejects.toMatchObject({
      code: 'schema-missing',
    })
  })

  test('a worker that never ran can be stopped, and stopping twice stops once', async () => {
    const worker = new Worker({ log: false })
    await worker.stop()
    await worker.stop()
    const own = newJob()
    const started = await startFor(scene, own, () => undefined)
    await Promise.all([started.worker.stop(), started.worker.stop({ drain: 0 })])
    expect(started.told('stopped')).toHaveLength(1)
    await expect((async () => started.worker.stop({ drain: 'soon' }))()).rejects.toMatchObject({
      code: 'invalid-option',
    })
  })
})

test('a worker whose listenConnection fails reports that and works by polling', async () => {
  const own = newJob()
  const nowhere = { notify: true, listenConnection: 'postgres://127.0.0.1:1/nowhere' }
  const worker = await startFor(scene, own, () => 'done', {
    ...nowhere,
    health: { port: 0, host: '127.0.0.1' },
  })
  const [trouble] = await worker.tells('trouble', ({ what }) => what === 'listen')
  expect(trouble?.error).toMatchObject({ code: 'ECONNREFUSED' })
  const { id } = await scene.stint.enqueue(own)
  await worker.hears('succeeded', id)
  expect(await ask(worker.worker.healthPort, '/healthz')).toMatchObject({ status: 200 })
})

async function ask(port: number | undefined, path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`http://127.0.0.1:${String(port)}${path}`)
  return { status: response.status, body: await response.json() }
}

describe('health', () => {
  test('/healthz and /readyz answer 200 while the worker works, and name the problem when it does not', async () => {
    const own = newJob()
    const worker = await startFor(scene, own, () => 'done', { health: { port: 0, host: '127.0.0.1' } })
    const { healthPort } = worker.worker
    expect(healthPort).toBeGreaterThan(0)
    expect(await ask(healthPort, '/healthz')).toEqual({ status: 200, body: { ok: true, problems: [] } })
    expect(await ask(healthPort, '/readyz?verbose')).toEqual({
      status: 200,
      body: { ok: true, problems: [] },
    })
    expect(await ask(healthPort, '/metrics')).toMatchObject({ status: 404 })
  })

  test('/readyz answers 503 as soon as the worker is asked to stop, and /healthz answers 200 until it has stopped', async () => {
    const own = newJob()
    let finish = (): void => undefined
    const isOver = new Promise<void>((resolve) => (finish = resolve))
    const worker = await startFor(scene, own, () => isOver, { health: { port: 0, host: '127.0.0.1' } })
    const { healthPort } = worker.worker
    const { id } = await scene.stint.enqueue(own)
    await worker.hears('started', id)
    const stopping = worker.worker.stop({ drain: '1m' })
    expect(await ask(healthPort, '/readyz')).toEqual({
      status: 503,
      body: { ok: false, problems: ['it is stopping'] },
    })
    expect(await ask(healthPort, '/healthz')).toMatchObject({ status: 200 })
    finish()
    await stopping
    await expect(ask(healthPort, '/healthz')).rejects.toThrow()
    expect(await stored(scene, id)).toMatchObject({ state: 'succeeded' })
  })

  test('/healthz and /readyz answer 503 with the reason while the database refuses the statements', async () => {
    const own = newJob()
    const worker = await startWorker(
      scene,
      { queues: { [own.queue]: 1 }, health: { port: 0, host: '127.0.0.1' }, pollFloor: '50ms' },
      (one) => one.handle(own, () => 'done'),
    )
    await scene.db.query('alter table stint.job rename to job_away')
    try {
      await worker.tells('trouble', ({ what }) => what === 'survey')
      for (const path of ['/healthz', '/readyz'])
        expect(await ask(worker.worker.healthPort, path)).toEqual({
          status: 503,
          body: {
            ok: false,
            problems: [expect.stringMatching(/^the database refuses its statements: .*survey/)],
          },
        })
    } finally {
      await scene.db.query('alter table stint.job_away rename to job')
    }
    const { id } = await scene.stint.enqueue(own)
    await worker.hears('succeeded', id)
    // A refusal from before may be reported late.
    const isReady = async () => (await ask(worker.worker.healthPort, '/readyz')).status === 200
    await eventually(isReady, '/readyz answers 200')
  })

  test('/healthz and /readyz answer 503 while the worker can look for jobs but cannot claim them', async () => {
    const own = newJob()
    const worker = await startWorker(
      scene,
      { queues: { [own.queue]: 1 }, health: { port: 0, host: '127.0.0.1' }, pollFloor: '50ms' },
      (one) => one.handle(own, () => 'done'),
    )
    await scene.db.query(`
      create function refuse() returns trigger language plpgsql as
        $$ begin raise insufficient_privilege using message = 'permission denied for table job'; end $$;
      create trigger refused before update on stint.job for each statement execute function refuse()`)
    const { id } = await scene.stint.enqueue(own)
    try {
      await worker.tells('trouble', ({ what }) => what.startsWith('claim'))
      // Surveys succeed meanwhile; that must not hide the failing claims.
      for (let asked = 0; asked < 20; asked++)
        expect(await ask(worker.worker.healthPort, '/healthz')).toMatchObject({
          status: 503,
          body: { problems: [expect.stringMatching(/^the database refuses its statements: .*claim/)] },
        })
    } finally {
      await scene.db.query('drop trigger refused on stint.job; drop function refuse()')
    }
    await worker.hears('succeeded', id)
    const isReady = async () => (await ask(worker.worker.healthPort, '/readyz')).status === 200
    await eventually(isReady, '/readyz answers 200')
  })

  test('/healthz and /readyz answer 503 while the database is unreachable, and 200 afterwards', async () => {
    const own = newJob()
    const proxy = await startFaultProxy(scene.db.url)
    const isOver = gate()
    const health = { port: 0, host: '127.0.0.1' }
    const options = { connection: proxy.url, health, lease: '1s' }
    const worker = await startFor(scene, own, () => isOver.opened.then(() => 'kept'), options)
    const { healthPort } = worker.worker
    const { id } = await scene.stint.enqueue(own)
    await worker.hears('started', id)
    const heal = proxy.blackhole()
    const says = (path: string, status: number) => async () => (await ask(healthPort, path)).status === status
    for (const path of ['/healthz', '/readyz']) await eventually(says(path, 503), `${path} answers 503`)
    const { body } = await ask(healthPort, '/healthz')
    expect(body).toMatchObject({
      problems: [expect.stringMatching(/^its lease was last renewed \d+ ms ago$/)] as string[],
    })
    // This result would be lost if a probe had restarted the worker.
    isOver.open(undefined)
    // Not awaited: connections without a pending statement work as before.
    void heal()
    for (const path of ['/healthz', '/readyz']) await eventually(says(path, 200), `${path} answers 200`)
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: 'kept' })
  })

  test('start() rejects when the health port is taken, and leaves nothing behind', async () => {
    const own = newJob()
    const first = await startFor(scene, own, () => undefined, { health: { port: 0, host: '127.0.0.1' } })
    const port = first.worker.healthPort ?? 0
    const second = new Worker({
      connection: scene.db.url,
      log: false,
      health: { port, host: '127.0.0.1' },
    }).handle(own, () => undefined)
    await expect(second.start()).rejects.toMatchObject({ code: 'EADDRINUSE' })
    await second.stop()
  })
})
