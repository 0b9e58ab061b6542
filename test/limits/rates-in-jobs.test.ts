import { expect, test } from 'vitest'
import { defineJob, defineRate } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { RetryAfter } from '../../src/worker.ts'
import { attemptsOf, newName, startWorker, stored, workerScene } from '../support/workers.ts'
import { bucketsOf, newRate } from './rates-scene.ts'

const scene = workerScene()

interface Input {
  key?: string
  tokens?: number
  n?: number
}

/** A contract whose jobs spend tokens of these rates. */
function newSpender(
  rates: readonly string[],
  more: { queue?: string } = {},
): JobContract<string, Input, Input> {
  return defineJob({
    kind: newName('spend'),
    queue: newName(),
    key: (input) => (input as Input).key,
    rates: [...rates],
    cost: (input) => (input as Input).tokens ?? 1,
    retry: { backoff: () => 1 },
    ...more,
  }) as JobContract<string, Input, Input>
}

test('a claim spends what its jobs cost, and the next jobs start when their tokens have come', async () => {
  const rate = defineRate({ name: newName('rate'), tokens: 100, per: '1s', burst: 10 })
  const job = newSpender([rate.name])
  const starts: number[] = []
  const worker = await startWorker(
    scene,
    { queues: { [job.queue]: 20 }, flow: [rate], pollFloor: '1m' },
    (one) =>
      one.handle(job, () => {
        starts.push(performance.now())
      }),
  )
  const startedAt = performance.now()
  await scene.stint.enqueueMany(
    job,
    Array.from({ length: 20 }, () => ({ tokens: 2 })),
  )
  await worker.tells('succeeded', undefined, 20)
  // 40 tokens, of which 10 were there. Without a wake-up in time each claim would wait for the poll.
  const took = (starts.at(-1) ?? 0) - startedAt
  expect(took).toBeGreaterThan(290)
  expect(took).toBeLessThan(20_000)
  expect(await bucketsOf(scene, rate)).toMatchObject([{ key: '', taken: 40 }])
})

test('a dry key does not hold the others', async () => {
  const rate = defineRate({ name: newName('rate'), tokens: 1, per: '1h', burst: 2, by: 'key' })
  const job = newSpender([rate.name])
  const worker = await startWorker(
    scene,
    { queues: { [job.queue]: 2 }, flow: [rate], pollFloor: '1m' },
    (one) => one.handle(job, () => undefined),
  )
  await scene.stint.enqueueMany(
    job,
    Array.from({ length: 10 }, () => ({ key: 'dry' })),
  )
  await worker.tells('succeeded', ({ key }) => key === 'dry', 2)
  const startedAt = performance.now()
  for (let n = 0; n < 20; n++) await scene.stint.enqueueMany(job, [{ key: `k${n}` }, { key: `k${n}` }])
  await worker.tells('succeeded', ({ key }) => key !== 'dry', 40)
  expect(performance.now() - startedAt).toBeLessThan(20_000)
  expect(worker.told('succeeded').filter(({ key }) => key === 'dry')).toHaveLength(2)
})

test('the jobs of a dry key go on when its tokens have come', async () => {
  const rate = defineRate({ name: newName('rate'), tokens: 50, per: '1s', burst: 5, by: 'key' })
  const job = newSpender([rate.name])
  const startedAt = performance.now()
  const worker = await startWorker(
    scene,
    { queues: { [job.queue]: 20 }, flow: [rate], pollFloor: '1m' },
    (one) => one.handle(job, () => undefined),
  )
  const inputs = Array.from({ length: 60 }, (_, n) => ({ key: `k${n % 2}` }))
  await scene.stint.enqueueMany(job, inputs)
  await worker.tells('succeeded', undefined, 60)
  const took = performance.now() - startedAt
  expect(took).toBeGreaterThan(490)
  expect(took).toBeLessThan(20_000)
})

test.each([0, -1, 1.5, NaN, Infinity, 1e9, '2', null])(
  'a cost of %j is refused before anything is sent',
  async (cost) => {
    const job = defineJob({
      kind: newName('spend'),
      queue: newName(),
      rates: ['any'],
      cost: () => cost as number,
    })
    await expect(scene.stint.enqueue(job, {})).rejects.toMatchObject({
      code: 'invalid-input',
      issues: [{ path: 'options.cost' }],
    })
    await expect(scene.stint.enqueueMany(job, [{}, {}])).rejects.toMatchObject({ code: 'invalid-input' })
    expect(await scene.db.query('select from stint.job where queue = $1', [job.queue])).toEqual([])
  },
)

test('a job that costs more than a lowered burst waits, and keeps no job behind it', async () => {
  const name = newName('rate')
  const large = defineRate({ name, tokens: 10_000, per: '1s', burst: 100 })
  const job = newSpender([name])
  await newRate(scene, { name, tokens: 10_000, per: '1s', burst: 100 })
  const ids: string[] = []
  for (let n = 0; n < 15; n++) ids.push((await scene.stint.enqueue(job, { tokens: 50 })).id)
  const lowered = defineRate({ name, tokens: 10_000, per: '1s', burst: 20, keep: 1 })
  const worker = await startWorker(scene, { queues: { [job.queue]: 5 }, flow: [lowered] }, (one) =>
    one.handle(job, () => undefined),
  )
  const small = await scene.stint.enqueue(job, { tokens: 19 })
  await worker.hears('succeeded', small.id)
  expect((await stored(scene, ids[0] ?? '')).state).toBe('ready')
  await worker.worker.stop()
  const second = await startWorker(scene, { queues: { [job.queue]: 5 }, flow: [large] }, (one) =>
    one.handle(job, () => undefined),
  )
  await second.tells('succeeded', undefined, 15)
})

test('jobs leave `keep` tokens to takers outside of jobs', async () => {
  const rate = defineRate({ name: newName('rate'), tokens: 1, per: '1h', burst: 10, keep: 4 })
  const job = newSpender([rate.name])
  const answers: boolean[] = []
  const worker = await startWorker(scene, { queues: { [job.queue]: 4 }, flow: [rate] }, (one) =>
    one.handle(job, async (_, ctx) => {
      answers.push((await ctx.limit(rate.name).tryTake(1)).granted)
      await expect(ctx.limit(rate.name).take(7)).rejects.toThrow('(`burst` less `keep`)')
    }),
  )
  await scene.stint.enqueue(job, { tokens: 5 })
  await worker.tells('succeeded')
  expect(answers).toEqual([true])
  const { id } = await scene.stint.enqueue(job, {})
  expect((await scene.stint.limit(rate.name).tryTake(4)).granted).toBe(true)
  expect((await stored(scene, id)).state).toBe('ready')
})

test('a job that lacks tokens of one rate does not use up another rate', async () => {
  const dry = defineRate({ name: newName('dry'), tokens: 1, per: '1h', burst: 1 })
  const wet = defineRate({ name: newName('wet'), tokens: 1, per: '1h', burst: 3 })
  const both = newSpender([dry.name, wet.name])
  const one = newSpender([wet.name], { queue: both.queue })
  await newRate(scene, { name: dry.name, tokens: 1, per: '1h' })
  await scene.stint.limit(dry.name).take(1)
  await scene.stint.enqueueMany(
    both,
    Array.from({ length: 3 }, () => ({})),
  )
  await scene.stint.enqueueMany(
    one,
    Array.from({ length: 3 }, () => ({})),
  )
  const worker = await startWorker(scene, { queues: { [both.queue]: 10 }, flow: [dry, wet] }, (started) =>
    started.handle(both, () => undefined).handle(one, () => undefined),
  )
  await worker.tells('succeeded', ({ kind }) => kind === one.kind, 3)
  expect(worker.told('succeeded').filter(({ kind }) => kind === both.kind)).toEqual([])
})

test('a handler waits for tokens', async () => {
  const rate = await newRate(scene, { tokens: 10, per: '1s', burst: 1 })
  const job = defineJob({ kind: newName('take'), queue: newName() })
  const worker = await startWorker(scene, { queues: { [job.queue]: 5 } }, (one) =>
    one.handle(job, (_, ctx) => ctx.limit(rate.name).take(1)),
  )
  const startedAt = performance.now()
  await scene.stint.enqueueMany(
    job,
    Array.from({ length: 5 }, () => ({})),
  )
  await worker.tells('succeeded', undefined, 5)
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(399)
  expect(worker.told('snoozed')).toEqual([])
})

test('a wait that is too long snoozes the job of a handler until then, without burning an attempt', async () => {
  const rate = await newRate(scene, { tokens: 1, per: '1h', burst: 1 })
  const job = defineJob({ kind: newName('take'), queue: newName(), retry: { attempts: 1 } })
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) =>
    one.handle(job, (_, ctx) => ctx.limit(rate.name).take(1)),
  )
  await scene.stint.limit(rate.name).take(1)
  const { id } = await scene.stint.enqueue(job, {})
  const { delayMs, reason } = await worker.hears('snoozed', id)
  expect(delayMs).toBeGreaterThan(3_500_000)
  expect(delayMs).toBeLessThan(1.11 * 3_600_000)
  expect(reason).toBe(`waits for tokens of the rate '${rate.name}'`)
  await scene.stint.limit(rate.name).correct({ taken: 1, used: 0 })
  await scene.stint.reschedule(id, { delay: '1ms' })
  const done = await worker.hears('succeeded', id)
  expect(done.attempt).toBe(1)
  expect(await attemptsOf(scene, id)).toMatchObject([{ attempt: 1, outcome: 'snoozed' }])
})

test('the wait of a handler ends with its signal', async () => {
  const rate = await newRate(scene, { tokens: 1, per: '1h', burst: 1 })
  await scene.stint.limit(rate.name).take(1)
  const job = defineJob({ kind: newName('take'), queue: newName() })
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) =>
    one.handle(job, async (_, ctx) => {
      await ctx.limit(rate.name).take(1, { timeout: '2h' })
    }),
  )
  const { id } = await scene.stint.enqueue(job, {})
  await worker.hears('started', id)
  await scene.stint.cancel(id)
  await worker.hears('cancelled', id)
})

test('a handler takes from the bucket of its job, unless it names another key', async () => {
  const rate = await newRate(scene, { tokens: 1, per: '1h', burst: 5, by: 'key' })
  const job = defineJob({ kind: newName('take'), queue: newName(), key: () => 'acme' })
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) =>
    one.handle(job, async (_, ctx) => {
      await ctx.limit(rate.name).take(1)
      await ctx.limit(rate.name).take(2, { key: 'other' })
      await ctx.limit(rate.name).correct({ taken: 1, used: 3 })
    }),
  )
  await scene.stint.enqueue(job, {})
  await worker.tells('succeeded')
  expect(await bucketsOf(scene, rate)).toMatchObject([
    { key: 'acme', taken: 3 },
    { key: 'other', taken: 2 },
  ])
})

class TooMany extends Error {
  readonly status = 429
  readonly headers = { 'retry-after': '1' }
}

test.each([
  ['a RetryAfter', () => new RetryAfter('1s')],
  ['a 429 with a Retry-After', () => new TooMany('slow down')],
])('%s of a job closes the rates of its contract for all', async (_, error) => {
  const rate = defineRate({ name: newName('rate'), tokens: 1_000, per: '1s', burst: 50 })
  const job = newSpender([rate.name])
  const starts: number[] = []
  const worker = await startWorker(scene, { queues: { [job.queue]: 2 }, flow: [rate] }, (one) =>
    one.handle(job, ({ n }, ctx) => {
      starts.push(performance.now())
      if (n === 0 && ctx.attempt === 1) throw error()
    }),
  )
  const { id } = await scene.stint.enqueue(job, { n: 0 })
  const penalised = await worker.hears('penalised', id)
  const closedAt = performance.now()
  expect(penalised).toMatchObject({ rate: rate.name, forMs: 1_000 })
  const refused = await scene.stint.limit(rate.name).tryTake(1)
  expect(refused.granted).toBe(false)
  expect(refused.retryAfterMs).toBeGreaterThan(500)
  const { id: next } = await scene.stint.enqueue(job, { n: 1 })
  await worker.hears('succeeded', next)
  expect((starts[1] ?? 0) - closedAt).toBeGreaterThan(900)
})

test('a failure without a Retry-After penalises nothing', async () => {
  const rate = defineRate({ name: newName('rate'), tokens: 1_000, per: '1s', burst: 50 })
  const job = newSpender([rate.name])
  const worker = await startWorker(scene, { queues: { [job.queue]: 2 }, flow: [rate] }, (one) =>
    one.handle(job, (_, ctx) => {
      if (ctx.attempt === 1) throw new Error('broken')
    }),
  )
  const { id } = await scene.stint.enqueue(job, {})
  await worker.hears('succeeded', id)
  expect(worker.told('penalised')).toEqual([])
})

test('rows that another role wrote do not stop a queue', async () => {
  const rate = defineRate({ name: newName('rate'), tokens: 1_000, per: '1s', burst: 50 })
  const job = newSpender([rate.name])
  const bad = (columns: string, values: string): Promise<unknown> =>
    scene.db.query(`insert into stint.rate_bucket (name, seq, ${columns}) values ($1, 1, ${values})`, [
      rate.name,
    ])
  for (const [columns, values] of [
    ['tokens, at', "'NaN', now()"],
    ['tokens, at', "1, 'infinity'"],
    ['tokens, at, blocked_until', "1, now(), 'infinity'"],
    ['tokens, at, taken', "1, now(), 'NaN'"],
  ] as const)
    await expect(bad(columns, values)).rejects.toMatchObject({ code: '23514' })
  await expect(
    scene.db.query(`insert into stint.rate (name, tokens, period_ms, burst) values ('tiny', 1e-300, 1, 1)`),
  ).rejects.toMatchObject({ code: '23514' })
  // The highest number that the table allows, and an older row below it.
  await scene.db.query(
    `insert into stint.rate_bucket (name, seq, tokens, at) values ($1, 8999999999999999999, 50, now()), ($1, 3, 1, now())`,
    [rate.name],
  )
  const worker = await startWorker(scene, { queues: { [job.queue]: 2 }, flow: [rate] }, (one) =>
    one.handle(job, () => undefined),
  )
  await scene.stint.enqueueMany(
    job,
    Array.from({ length: 5 }, () => ({})),
  )
  await worker.tells('succeeded', undefined, 5)
  expect((await scene.stint.limit(rate.name).tryTake(1)).granted).toBe(true)
})
