import { expect, onTestFinished, test } from 'vitest'
import { defineJob, defineQueue, isStintError, Stint } from '../../src/index.ts'
import type { JobContract, QueueDefinition, StintError } from '../../src/index.ts'
import { connectTo } from '../support/database.ts'
import { eventually, newName, startWorker, workerScene } from '../support/workers.ts'

const scene = workerScene()

interface Input {
  n: number
}

function newContract(): JobContract<string, Input, Input> {
  return defineJob({ kind: newName('work'), queue: newName() }) as JobContract<string, Input, Input>
}

/** Stores the rule as a worker does. */
async function setRule(queue: string, definition: Omit<QueueDefinition, 'name'>): Promise<void> {
  const { pressure } = defineQueue({ name: queue, ...definition })
  await scene.db.query(
    `insert into stint.queue (name, pressure) values ($1, $2)
     on conflict on constraint queue_pkey do update set pressure = excluded.pressure`,
    [queue, JSON.stringify(pressure)],
  )
}

/** A producer of its own, which has read nothing yet. */
function newProducer(): Stint {
  const stint = new Stint({ connection: scene.db.url })
  onTestFinished(() => stint.close())
  return stint
}

function inputs(count: number): Input[] {
  return Array.from({ length: count }, (_, n) => ({ n }))
}

async function refusal(work: Promise<unknown>): Promise<StintError> {
  try {
    await work
  } catch (error) {
    if (isStintError(error)) return error
    throw error
  }
  throw new Error('It was not refused')
}

async function depthOf(queue: string): Promise<number> {
  const [row] = await scene.db.query<{ jobs: number }>(
    'select count(*)::integer as jobs from stint.job where queue = $1',
    [queue],
  )
  return row?.jobs ?? 0
}

test('a worker stores the rule, and a producer that starts later is refused at the maximum', async () => {
  const job = newContract()
  const flow = [defineQueue({ name: job.queue, maxDepth: 5 })]
  await startWorker(scene, { queues: { [newName()]: 1 }, flow }, (worker) =>
    worker.handle(defineJob({ kind: newName('other') }), () => undefined),
  )
  const producer = newProducer()
  for (const input of inputs(5)) await producer.enqueue(job, input)
  const error = await refusal(producer.enqueue(job, { n: 5 }))
  expect(error.code).toBe('queue-full')
  expect(error.message).toContain('depth 5 of 5')
  expect(error.retryAfterMs).toBeGreaterThanOrEqual(2_000)
  expect(error.retryAfterMs).toBeLessThanOrEqual(4_000)
  expect(error.current).toEqual({ queue: job.queue, key: null, depth: 5, maxDepth: 5 })
  expect(await depthOf(job.queue)).toBe(5)
  // So is a process that starts after the next count, from its first enqueue on.
  await eventually(async () => (await scene.stint.pressure(job.queue)).state === 'full', 'the next count')
  expect((await refusal(newProducer().enqueue(job, { n: 6 }))).code).toBe('queue-full')
})

test('concurrent enqueues of one producer never pass the maximum', async () => {
  const job = newContract()
  await setRule(job.queue, { maxDepth: 40 })
  const producer = newProducer()
  const results = await Promise.allSettled(inputs(100).map((input) => producer.enqueue(job, input)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(40)
  expect(await depthOf(job.queue)).toBe(40)
})

test('a producer stores again once its jobs were taken', async () => {
  const job = newContract()
  await setRule(job.queue, { maxDepth: 3 })
  const producer = newProducer()
  await producer.enqueueMany(job, inputs(3))
  expect((await refusal(producer.enqueue(job, { n: 4 }))).code).toBe('queue-full')
  await scene.db.query('delete from stint.job where queue = $1', [job.queue])
  await eventually(async () => {
    try {
      await producer.enqueue(job, { n: 5 })
      return true
    } catch (error) {
      if (isStintError(error, 'queue-full')) return false
      throw error
    }
  }, 'an enqueue after the queue was emptied')
})

test('a batch is stored whole or not at all, also one of several statements', async () => {
  const job = newContract()
  await setRule(job.queue, { maxDepth: 6_000 })
  const producer = newProducer()
  const tooMany = await refusal(producer.enqueueMany(job, inputs(7_000)))
  expect(tooMany.code).toBe('queue-full')
  expect(tooMany.message).toContain('Nothing was stored')
  expect(await depthOf(job.queue)).toBe(0)
  await producer.enqueueMany(job, inputs(5_999))
  expect((await refusal(producer.enqueueMany(job, inputs(2)))).code).toBe('queue-full')
  expect(await depthOf(job.queue)).toBe(5_999)
})

test('a refused batch leaves nothing in the transaction of its caller, which stays usable', async () => {
  const job = newContract()
  await setRule(job.queue, { maxDepth: 5_500 })
  const producer = newProducer()
  await producer.enqueue(job, { n: 0 })
  const tx = await connectTo(scene.db.url)
  await tx.query('begin')
  expect((await refusal(producer.enqueueMany(job, inputs(6_000), { tx }))).code).toBe('queue-full')
  const { rows } = await tx.query('select count(*)::integer as jobs from stint.job where queue = $1', [
    job.queue,
  ])
  expect(rows).toEqual([{ jobs: 1 }])
  await producer.enqueue(job, { n: 1 }, { tx })
  await tx.query('commit')
  expect(await depthOf(job.queue)).toBe(2)
})

test('a stream is stored until the queue is full', async () => {
  const job = newContract()
  await setRule(job.queue, { maxDepth: 7_000 })
  async function* stream(): AsyncGenerator<Input> {
    for (const input of inputs(12_000)) yield await Promise.resolve(input)
  }
  expect((await refusal(newProducer().enqueueMany(job, stream()))).code).toBe('queue-full')
  expect(await depthOf(job.queue)).toBe(5_000)
})

test('shed refuses the lowest priority first, and every priority when the queue is full', async () => {
  const job = newContract()
  await setRule(job.queue, { maxDepth: 100, whenFull: 'shed' })
  const producer = newProducer()
  const limits = new Map<number, number>()
  for (const priority of [-100, -25, 0, 1, 25, 100]) {
    for (;;) {
      try {
        await producer.enqueue(job, { n: 0 }, { priority })
      } catch (error) {
        if (!isStintError(error, 'queue-full')) throw error
        limits.set(priority, await depthOf(job.queue))
        break
      }
    }
  }
  expect(Object.fromEntries(limits)).toEqual({ '-100': 50, '-25': 63, 0: 75, 1: 78, 25: 88, 100: 100 })
})

test('a key that is full is refused, others are not', async () => {
  const job = newContract()
  await newProducer().enqueueMany(job, inputs(2), { key: '__proto__' })
  await setRule(job.queue, { perKey: { maxDepth: 3 } })
  const producer = newProducer()
  await producer.enqueue(job, { n: 2 }, { key: '__proto__' })
  const error = await refusal(producer.enqueue(job, { n: 3 }, { key: '__proto__' }))
  expect(error).toMatchObject({ code: 'queue-full', current: { key: '__proto__', depth: 3, maxDepth: 3 } })
  await producer.enqueue(job, { n: 4 }, { key: 'other' })
  await producer.enqueue(job, { n: 5 })
  await eventually(
    async () => (await producer.pressure(job.queue, { key: '__proto__' })).state === 'full',
    'the count of the key',
  )
  expect(await producer.pressure(job.queue, { key: 'other' })).toMatchObject({
    state: 'open',
    depth: 1,
    maxDepth: 3,
  })
})

test('a queue whose oldest ready job waited too long is full', async () => {
  const job = newContract()
  const { id } = await newProducer().enqueue(job, { n: 0 })
  await scene.db.query(`update stint.job set run_at = run_at - interval '2 hours' where id = $1`, [id])
  await setRule(job.queue, { maxAge: '1h' })
  const error = await refusal(newProducer().enqueue(job, { n: 1 }))
  expect(error).toMatchObject({ code: 'queue-full', current: { maxAgeMs: 3_600_000 } })
  expect(error.message).toMatch(/its oldest ready job has waited 7,\d{3} s, and 3,600 s is the most/)
})

test('warn stores everything, and pressure() says so', async () => {
  const job = newContract()
  await setRule(job.queue, { maxDepth: 3, whenFull: 'warn' })
  const producer = newProducer()
  await producer.enqueueMany(job, inputs(6))
  await eventually(async () => (await producer.pressure(job.queue)).depth !== 0, 'a new count')
  expect(await producer.pressure(job.queue)).toMatchObject({
    state: 'warn',
    depth: 6,
    maxDepth: 3,
    retryAfterMs: null,
    share: 2,
  })
})

test('pressure() tells the states of a queue', async () => {
  const job = newContract()
  const { stint } = scene
  expect(await stint.pressure(job.queue)).toMatchObject({
    state: 'open',
    depth: null,
    maxDepth: null,
    whenFull: null,
    asOf: null,
  })
  await stint.enqueueMany(job, inputs(6))
  await setRule(job.queue, { maxDepth: 10, whenFull: 'shed' })
  const half = await stint.pressure(job.queue)
  expect(half).toMatchObject({ state: 'warn', depth: 6, maxDepth: 10, isEstimate: false, share: 0.6 })
  expect(half.asOf).toBeInstanceOf(Date)
  await setRule(job.queue, { maxDepth: 4 })
  const full = await stint.pressure(job.queue)
  expect(full).toMatchObject({ state: 'full', depth: 6, maxDepth: 4 })
  expect(full.retryAfterMs).toBeGreaterThan(0)
  await stint.queues.drain(job.queue)
  expect((await stint.pressure(job.queue)).state).toBe('closed')
})

test.each([
  ['a text', '"full"'],
  ['an array', '[1]'],
  ['no maximum', '{"whenFull":"reject"}'],
  ['a text as maximum', '{"maxDepth":"1","whenFull":"reject"}'],
  ['a maximum of 0', '{"maxDepth":0,"whenFull":"reject"}'],
  ['a number beyond all bounds', '{"maxDepth":1e400,"whenFull":"reject"}'],
  ['an unknown policy', '{"maxDepth":1,"whenFull":"explode"}'],
  ['an object as policy', '{"maxDepth":1,"whenFull":{"a":[]}}'],
  ['one good and one bad maximum', '{"maxDepth":1,"keyMaxDepth":[],"whenFull":"reject"}'],
])('a rule that is %s is ignored and shown as broken', async (_, text) => {
  const job = newContract()
  await scene.db.query('insert into stint.queue (name, pressure) values ($1, $2)', [job.queue, text])
  const producer = newProducer()
  await producer.enqueueMany(job, inputs(3))
  await producer.enqueue(job, { n: 3 }, { key: 'a' })
  expect(await producer.pressure(job.queue)).toMatchObject({ state: 'open', isBroken: true, whenFull: null })
  await scene.db.query('select stint.enqueue($1, $2)', [job.queue, job.kind])
})

test('a hostile count refuses nothing it should not, and the next count replaces it', async () => {
  const job = newContract()
  await setRule(job.queue, { maxDepth: 10, perKey: { maxDepth: 5 } })
  await scene.db.query(
    `insert into stint.queue_pressure (queue, counted_at, depth, oldest_ready_at, keys)
     values ($1, 'infinity', 9223372036854775807, '-infinity', '{"a": "x", "b": [], "c": 1e400}')`,
    [job.queue],
  )
  const producer = newProducer()
  await producer.enqueue(job, { n: 0 }, { key: 'a' })
  expect(await producer.pressure(job.queue)).toMatchObject({ state: 'open', depth: 0 })
})

test('a producer whose login may not ask stores its jobs as before', async () => {
  const job = newContract()
  await setRule(job.queue, { maxDepth: 1 })
  await scene.db.query('alter function stint.pressure_of(text[]) rename to pressure_of_hidden')
  try {
    const producer = newProducer()
    await producer.enqueueMany(job, inputs(3))
    expect(await depthOf(job.queue)).toBe(3)
  } finally {
    await scene.db.query('alter function stint.pressure_of_hidden(text[]) rename to pressure_of')
  }
})

test('bad options of pressure() and drain() are refused before anything is sent', async () => {
  const { stint } = scene
  const bad = { code: 'invalid-option' }
  await expect(stint.pressure('a b')).rejects.toMatchObject(bad)
  await expect(stint.pressure('a', { key: '' })).rejects.toMatchObject(bad)
  await expect(stint.pressure('a', { kee: 'x' } as never)).rejects.toMatchObject(bad)
  await expect(stint.queues.drain('')).rejects.toMatchObject(bad)
  await expect(stint.queues.drain('a', { reason: 5 as never })).rejects.toMatchObject(bad)
  await expect(stint.queues.drain('a', { until: 'x' } as never)).rejects.toMatchObject(bad)
  await expect(stint.queues.open('a\u0000')).rejects.toMatchObject(bad)
})

test('refused jobs are counted in all', async () => {
  const job = newContract()
  await setRule(job.queue, { maxDepth: 1 })
  const producer = new Stint({ connection: scene.db.url })
  await producer.enqueue(job, { n: 0 })
  await refusal(producer.enqueue(job, { n: 1 }))
  await refusal(producer.enqueueMany(job, inputs(4)))
  await producer.close()
  expect((await scene.stint.pressure(job.queue)).refused).toBe(5)
})
