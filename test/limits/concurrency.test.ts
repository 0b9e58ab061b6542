import { expect, test } from 'vitest'
import { defineJob, defineLimit, defineRate } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { startOwnServer } from '../support/own-server.ts'
import { eventually, gate, newName, startWorker, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

interface Input {
  key: string
}

function newKeyed(): JobContract<string, Input, Input> {
  return defineJob({
    kind: newName('work'),
    queue: newName(),
    key: (input) => (input as Input).key,
    retry: { backoff: () => 1 },
  }) as JobContract<string, Input, Input>
}

function newPlain(): JobContract {
  return defineJob({ kind: newName('work'), queue: newName() })
}

/** Counts how many handlers run at once, by group. */
class Gauge {
  readonly most = new Map<string, number>()
  readonly #now = new Map<string, number>()

  async during(group: string, ms: number): Promise<void> {
    const now = (this.#now.get(group) ?? 0) + 1
    this.#now.set(group, now)
    this.most.set(group, Math.max(now, this.most.get(group) ?? 0))
    await new Promise((resolve) => setTimeout(resolve, ms))
    this.#now.set(group, (this.#now.get(group) ?? 1) - 1)
  }
}

test('a limit by key holds for each key, and all jobs run', async () => {
  const job = newKeyed()
  const limit = defineLimit({ name: newName('limit'), covers: [{ queue: job.queue }], by: 'key', max: 2 })
  const gauge = new Gauge()
  const worker = await startWorker(scene, { queues: { [job.queue]: 10 }, flow: [limit] }, (one) =>
    one.handle(job, async ({ key }) => gauge.during(key, 5)),
  )
  const inputs = Array.from({ length: 60 }, (_, n) => ({ key: `k${n % 3}` }))
  await scene.stint.enqueueMany(job, inputs)
  await worker.tells('succeeded', undefined, 60)
  expect(Object.fromEntries(gauge.most)).toEqual({ k0: 2, k1: 2, k2: 2 })
})

test('a limit over two queues counts their jobs together', async () => {
  const [one, two] = [newKeyed(), newKeyed()]
  const limit = defineLimit({
    name: newName('group'),
    covers: [{ queue: one.queue }, { queue: two.queue, kinds: [two.kind] }],
    max: 3,
  })
  const gauge = new Gauge()
  const queues = { [one.queue]: 5, [two.queue]: 5 }
  const worker = await startWorker(scene, { queues, flow: [limit] }, (started) =>
    started.handle(one, async () => gauge.during('all', 5)).handle(two, async () => gauge.during('all', 5)),
  )
  await scene.stint.enqueueMany(
    one,
    Array.from({ length: 20 }, () => ({ key: 'a' })),
  )
  await scene.stint.enqueueMany(
    two,
    Array.from({ length: 20 }, () => ({ key: 'b' })),
  )
  await worker.tells('succeeded', undefined, 40)
  expect(gauge.most.get('all')).toBe(3)
})

test('while a limit is full, a worker asks for jobs once a poll', async () => {
  const [full, empty] = [newPlain(), newPlain()]
  const limit = defineLimit({ name: newName('whole'), covers: [{ queue: full.queue }], max: 1 })
  const watch = async (job: typeof full, handler: () => Promise<void>): Promise<() => number> => {
    const proxy = await startFaultProxy(scene.db.url)
    const options = {
      connection: proxy.url,
      queues: { [job.queue]: 5 },
      pollFloor: '200ms',
      upkeep: false,
    } as const
    await startWorker(scene, { ...options, flow: [limit] }, (one) => one.handle(job, handler))
    return () => proxy.statements
  }
  const { opened, open } = gate()
  const { opened: begun, open: begin } = gate()
  let starts = 0
  const ofFull = await watch(full, async () => {
    if (++starts === 1) begin(undefined)
    await opened
  })
  const ofEmpty = await watch(empty, () => Promise.resolve())
  await scene.stint.enqueueMany(
    full,
    Array.from({ length: 5 }, () => ({})),
  )
  await begun
  const before = [ofFull(), ofEmpty()] as const
  // The idle worker is the clock.
  await eventually(() => Promise.resolve(ofEmpty() - before[1] >= 8), 'polls of the empty queue')
  expect(starts).toBe(1)
  expect(ofFull() - before[0]).toBeLessThan(80)
  open(undefined)
})

test.each([
  ['without keys', newPlain],
  ['with keys', newKeyed],
])('no end of a job under a full limit is missed, of jobs %s', async (_, newJob) => {
  const job = newJob()
  const limit = defineLimit({ name: newName('whole'), covers: [{ queue: job.queue }], max: 2 })
  const gauge = new Gauge()
  // A claim that is not sent when a job ends would come after 20 s.
  const options = { queues: { [job.queue]: 10 }, flow: [limit], pollFloor: '20s' }
  const worker = await startWorker(scene, options, (one) =>
    one.handle(job, async () => gauge.during('all', 1)),
  )
  const inputs = Array.from({ length: 100 }, (_, n) => ({ key: `k${n % 3}` }))
  await scene.stint.enqueueMany(job, inputs)
  await worker.tells('succeeded', undefined, inputs.length)
  expect(gauge.most.get('all')).toBe(2)
})

test('jobs that start in order never overtake one that failed', async () => {
  const job = defineJob({
    kind: newName('ordered'),
    queue: newName(),
    key: (input) => (input as Input).key,
    order: 'key',
    retry: { backoff: () => 1 },
  })
  const starts: string[] = []
  const worker = await startWorker(scene, { queues: { [job.queue]: 10 } }, (one) =>
    one.handle(job, (input, ctx) => {
      const { key, n } = input as Input & { n: number }
      starts.push(`${key}${n}`)
      if (n % 3 === 0 && ctx.attempt === 1) throw new Error('once')
    }),
  )
  for (let n = 0; n < 6; n++) for (const key of ['a', 'b']) await scene.stint.enqueue(job, { key, n })
  await worker.tells('succeeded', undefined, 12)
  for (const key of ['a', 'b'])
    expect(starts.filter((start) => start.startsWith(key)).join(' ')).toBe(
      `${key}0 ${key}0 ${key}1 ${key}2 ${key}3 ${key}3 ${key}4 ${key}5`,
    )
})

test('under drop-newest a job that finds no room is cancelled, and names the limit', async () => {
  const job = newKeyed()
  const name = newName('limit')
  const limit = defineLimit({
    name,
    covers: [{ queue: job.queue }],
    by: 'key',
    max: 1,
    onLimit: 'drop-newest',
  })
  const { opened, open } = gate()
  const worker = await startWorker(scene, { queues: { [job.queue]: 10 }, flow: [limit] }, (one) =>
    one.handle(job, () => opened),
  )
  const first = await scene.stint.enqueue(job, { key: 'a' })
  await worker.hears('started', first.id)
  const second = await scene.stint.enqueue(job, { key: 'a' })
  const other = await scene.stint.enqueue(job, { key: 'b' })
  await worker.hears('started', other.id)
  const [shed] = await worker.tells('shed')
  expect(shed).toMatchObject({ id: second.id, key: 'a', wasRunning: false })
  expect(await stored(scene, second.id)).toMatchObject({
    state: 'cancelled',
    reason: `limit ${name} was reached`,
  })
  open(undefined)
  await worker.hears('succeeded', first.id)
})

test('under latest-wins the newest job replaces the others, also the running one', async () => {
  const job = newKeyed()
  const name = newName('limit')
  const limit = defineLimit({
    name,
    covers: [{ queue: job.queue }],
    by: 'key',
    max: 1,
    onLimit: 'latest-wins',
  })
  const worker = await startWorker(scene, { queues: { [job.queue]: 10 }, flow: [limit] }, (one) =>
    one.handle(job, async ({ key }, { signal }) => {
      if (key === 'last') return
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error)
        })
      })
    }),
  )
  const first = await scene.stint.enqueue(job, { key: 'a' })
  await worker.hears('started', first.id)
  const { jobs } = await scene.stint.enqueueMany(job, [{ key: 'last' }, { key: 'last' }, { key: 'last' }], {
    key: 'a',
  })
  const [second, third, last] = jobs.map(({ id }) => id) as [string, string, string]
  await worker.hears('succeeded', last)
  expect(await stored(scene, first.id)).toMatchObject({
    state: 'cancelled',
    reason: `limit ${name}: job ${last} took its place`,
  })
  const told = worker.told('superseded').map(({ id, wasRunning }) => ({ id, wasRunning }))
  expect(told).toContainEqual({ id: first.id, wasRunning: true })
  for (const id of [second, third]) {
    expect(told).toContainEqual({ id, wasRunning: false })
    expect(await stored(scene, id)).toMatchObject({ state: 'cancelled' })
  }
})

test('after a crash of the server a limit still counts the jobs that run', async () => {
  const server = await startOwnServer()
  const { db } = server
  await db.query(`insert into stint.concurrency_limit (name, max) values ('whole', 2)`)
  await db.query(`insert into stint.limit_cover (queue, type, name) values ('a', 'concurrency', 'whole')`)
  await db.query(
    `insert into stint.job (id, queue, kind, input) select gen_random_uuid(), 'a', 'work', '{}' from generate_series(1, 5)`,
  )
  const claim = (): Promise<unknown[]> =>
    db.query(
      `select (job).id from stint.claim_limited('a', gen_random_uuid(), gen_random_uuid(), '{"work": 1}', 5, '{null}', '{0}',
         '{-infinity}', '{00000000-0000-0000-0000-000000000000}', '{5}', '{f}')
        where (job).id is not null`,
    )
  expect(await claim()).toHaveLength(2)
  await server.stop('immediate')
  await server.start()
  expect(await claim()).toEqual([])
  expect(await db.query(`select from stint.job where state = 'running'`)).toHaveLength(2)
})

test('limited tells which key or queue a limit or a rate has closed for a second, and when it is free', async () => {
  const [keyed, whole, metered] = [newKeyed(), newKeyed(), newKeyed()]
  const rate = defineRate({ name: newName('rate'), tokens: 1, per: '2s', burst: 1 })
  const flow = [
    defineLimit({ name: newName('keys'), covers: [{ queue: keyed.queue }], by: 'key', max: 1 }),
    defineLimit({ name: newName('whole'), covers: [{ queue: whole.queue }], max: 1 }),
    rate,
  ]
  const spending = defineJob({ kind: metered.kind, queue: metered.queue, rates: [rate.name] })
  const { opened, open } = gate()
  const queues = { [keyed.queue]: 4, [whole.queue]: 4, [metered.queue]: 4 }
  const worker = await startWorker(scene, { queues, flow }, (one) =>
    one
      .handle(keyed, ({ key }) => (key === 'a' ? opened : undefined))
      .handle(whole, () => opened)
      .handle(spending, () => undefined),
  )
  await scene.stint.enqueueMany(keyed, [{ key: 'a' }, { key: 'a' }, { key: 'b' }])
  await scene.stint.enqueueMany(whole, [{ key: 'a' }, { key: 'b' }])
  await scene.stint.enqueueMany(spending, [1, 2])
  const closedOnes = await worker.tells('limited', ({ state }) => state === 'closed', 3)
  const byQueue = (queue: string) => closedOnes.filter((one) => one.queue === queue)
  expect(byQueue(keyed.queue)).toMatchObject([{ key: 'a', by: 'limit' }])
  expect(byQueue(whole.queue)).toMatchObject([{ key: null, by: 'limit' }])
  expect(byQueue(metered.queue)).toMatchObject([{ key: null, by: 'rate' }])
  for (const { forMs } of closedOnes) expect(forMs).toBeGreaterThanOrEqual(1_000)
  open(undefined)
  const freeOnes = await worker.tells('limited', ({ state }) => state === 'free', 3)
  expect(new Set(freeOnes.map(({ queue, key }) => `${queue} ${key}`))).toEqual(
    new Set(closedOnes.map(({ queue, key }) => `${queue} ${key}`)),
  )
  await worker.tells('succeeded', undefined, 7)
})

test('limited: a closed lane whose jobs are gone counts as free', async () => {
  const job = newKeyed()
  const limit = defineLimit({ name: newName('keys'), covers: [{ queue: job.queue }], by: 'key', max: 1 })
  const { opened, open } = gate()
  const options = { queues: { [job.queue]: 4 }, flow: [limit], pollFloor: '200ms' }
  const worker = await startWorker(scene, options, (one) => one.handle(job, () => opened))
  await scene.stint.enqueue(job, { key: 'a' })
  await worker.tells('started')
  const { id } = await scene.stint.enqueue(job, { key: 'a' })
  await worker.tells('limited', ({ state }) => state === 'closed')
  await scene.stint.cancel(id)
  await worker.tells('limited', ({ state, key }) => state === 'free' && key === 'a')
  open(undefined)
})
