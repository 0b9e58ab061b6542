import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { defineBreaker, defineJob, defineLimit, defineRate } from '../../src/index.ts'
import { gate, newName, startWorker, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

test('a worker stores its rules, and a later worker with another rule of that name replaces it', async () => {
  const queue = newName()
  const name = newName('limit')
  const job = defineJob({ kind: newName('work'), queue })
  const warnings: unknown[] = []
  const quiet = (): void => undefined
  const log = { debug: quiet, info: quiet, error: quiet, warn: (about: unknown) => warnings.push(about) }
  const start = (max: number): Promise<unknown> =>
    startWorker(
      scene,
      { queues: { [queue]: 1 }, log, flow: [defineLimit({ name, covers: [{ queue }], max })] },
      (worker) => worker.handle(job, () => undefined),
    )
  await start(3)
  expect(warnings).toEqual([])
  await start(5)
  expect(warnings).toEqual([{ type: 'limit', name }])
  expect(await scene.db.query('select max from stint.concurrency_limit where name = $1', [name])).toEqual([
    { max: 5 },
  ])
})

test('a name that one program has for a limit and another for a rate is shown as broken, and both hold', async () => {
  const name = newName('both')
  const job = defineJob({ kind: newName('work'), queue: newName(), rates: [name] })
  const flows = [
    [defineLimit({ name, covers: [{ queue: job.queue }], max: 5 })],
    [defineRate({ name, tokens: 1_000, per: '1s' })],
  ]
  const other = defineJob({ kind: newName('other'), queue: job.queue })
  await startWorker(scene, { queues: { [job.queue]: 1 }, flow: flows[0] }, (one) =>
    one.handle(other, () => undefined),
  )
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 }, flow: flows[1] }, (one) =>
    one.handle(job, () => undefined),
  )
  const found = (await scene.stint.limits.list()).filter((one) => one.name === name)
  expect(found.map(({ type, broken }) => ({ type, broken }))).toEqual([
    { type: 'concurrency', broken: 'a limit and a rate have this name' },
    { type: 'rate', broken: 'a limit and a rate have this name' },
  ])
  const { id } = await scene.stint.enqueue(job, {})
  await worker.hears('succeeded', id)
})

test('a worker does not start with a contract that names a rate or a breaker that does not exist', async () => {
  for (const [names, code] of [
    [{ rates: ['no-such-rate'] }, 'limit-not-found'],
    [{ breakers: ['no-such-breaker'] }, 'breaker-not-found'],
  ] as const) {
    const job = defineJob({ kind: newName('work'), queue: newName(), ...names })
    const starting = startWorker(scene, { queues: { [job.queue]: 1 } }, (worker) =>
      worker.handle(job, () => undefined),
    )
    await expect(starting).rejects.toMatchObject({ code })
  }
})

test('two programs that serve one queue each decide for their own kinds', async () => {
  const queue = newName()
  const rate = defineRate({ name: newName('rate'), tokens: 1_000, per: '1s' })
  const breaker = defineBreaker({ name: newName('breaker') })
  const [one, two] = [newName('one'), newName('two')]
  const start = (kind: string, rates: string[]): Promise<unknown> =>
    startWorker(scene, { queues: { [queue]: 1 }, flow: [rate, breaker] }, (worker) =>
      worker.handle(defineJob({ kind, queue, rates, breakers: [breaker.name] }), () => undefined),
    )
  const covers = (): Promise<unknown[]> =>
    scene.db.query('select type, kinds from stint.limit_cover where queue = $1 order by type', [queue])
  await start(one, [rate.name])
  await start(two, [rate.name])
  expect(await covers()).toEqual([
    { type: 'breaker', kinds: [one, two] },
    { type: 'rate', kinds: [one, two] },
  ])
  await start(one, [])
  expect(await covers()).toEqual([
    { type: 'breaker', kinds: [one, two] },
    { type: 'rate', kinds: [two] },
  ])
  await start(two, [])
  expect(await covers()).toEqual([{ type: 'breaker', kinds: [one, two] }])
})

test('a limit that a later program no longer declares for a queue lets its waiting jobs run', async () => {
  const [queue, other] = [newName(), newName()]
  const name = newName('limit')
  const job = defineJob({ kind: newName('work'), queue })
  const start = (covered: string): ReturnType<typeof startWorker> =>
    startWorker(
      scene,
      {
        queues: { [queue]: 2 },
        flow: [defineLimit({ name, covers: [{ queue: covered }], max: 0 })],
      },
      (worker) => worker.handle(job, () => undefined),
    )
  const first = await start(queue)
  const { id } = await scene.stint.enqueue(job, {})
  expect(await stored(scene, id)).toMatchObject({ state: 'ready' })
  await first.worker.stop()
  const second = await start(other)
  await second.hears('succeeded', id)
})

test('with hold: false the later jobs of a key pass one that failed', async () => {
  const job = defineJob({
    kind: newName('ordered'),
    queue: newName(),
    key: () => 'a',
    order: 'key',
    hold: false,
    retry: { backoff: ['1h'] },
  })
  const starts: unknown[] = []
  const worker = await startWorker(scene, { queues: { [job.queue]: 4 } }, (one) =>
    one.handle(job, (input) => {
      starts.push(input)
      if (input === 1) throw new Error('once')
    }),
  )
  const failed = await scene.stint.enqueue(job, 1)
  const passed = await scene.stint.enqueue(job, 2)
  await worker.hears('succeeded', passed.id)
  expect(starts).toEqual([1, 2])
  expect(await stored(scene, failed.id)).toMatchObject({ state: 'retrying' })
})

test('a dead letter that is replayed runs beside no other job of its key', async () => {
  const job = defineJob({
    kind: newName('ordered'),
    queue: newName(),
    key: () => 'a',
    order: 'key',
    retry: { attempts: 1 },
  })
  const starts: unknown[] = []
  let [running, most] = [0, 0]
  const { opened, open } = gate()
  const worker = await startWorker(scene, { queues: { [job.queue]: 4 } }, (one) =>
    one.handle(job, async (input) => {
      starts.push(input)
      most = Math.max(most, ++running)
      try {
        if (input === 1 && starts.length === 1) throw new Error('once')
        if (input === 2) await opened
        else await pause(5)
      } finally {
        running--
      }
    }),
  )
  const first = await scene.stint.enqueue(job, 1)
  await worker.hears('dead', first.id)
  const second = await scene.stint.enqueue(job, 2)
  await worker.hears('started', second.id)
  const third = await scene.stint.enqueue(job, 3)
  await scene.stint.dead.replay(first.id)
  open(undefined)
  await worker.hears('succeeded', third.id)
  await worker.hears('succeeded', first.id)
  expect(starts.slice(0, 2)).toEqual([1, 2])
  // First, unless a slow claim of this worker has read past it.
  expect(starts.slice(2).sort()).toEqual([1, 3])
  expect(most).toBe(1)
})

test.each([
  [{ priority: 1 }],
  [{ delay: '1s' }],
  [{ runAt: new Date(Date.now() + 60_000) }],
  [{ queue: 'other' }],
])('a job that starts in order takes no %j', async (options) => {
  const job = defineJob({ kind: newName('ordered'), queue: newName(), key: () => 'a', order: 'key' })
  await expect(scene.stint.enqueue(job, 1, options)).rejects.toMatchObject({
    code: 'invalid-input',
    issues: [{ path: `options.${Object.keys(options)[0]}` }],
  })
})

test('values that another role wrote into the tables of limits do not stop a queue', async () => {
  const queue = newName()
  const name = newName('limit')
  const job = defineJob({ kind: newName('work'), queue, key: (input) => (input as { key: string }).key })
  const flow = [defineLimit({ name, covers: [{ queue }], by: 'key', max: 2, tiers: { gold: 5 } })]
  const worker = await startWorker(scene, { queues: { [queue]: 4 }, flow }, (one) =>
    one.handle(job, () => undefined),
  )
  await scene.db.query(
    `update stint.concurrency_limit set tiers = '{"gold": "many", "iron": -3, "tin": 1e300, "clay": null}' where name = $1`,
    [name],
  )
  const keys = ['gold', 'tin', 'clay', 'none']
  for (const tier of keys)
    await scene.db.query(`insert into stint.limit_key (name, key, tier) values ($1, $2, $2)`, [name, tier])
  await scene.db.query(
    `insert into stint.limit_cover (queue, type, name) values ($1, 'concurrency', 'no-such-limit')`,
    [queue],
  )
  await scene.db.query(
    `insert into stint.running_base (queue, version, floor, ids, keys) values ($1, 100000, 0, '{}', '{a,b}')`,
    [queue],
  )
  await scene.stint.enqueueMany(
    job,
    keys.map((key) => ({ key })),
  )
  await worker.tells('succeeded', undefined, keys.length)
})
