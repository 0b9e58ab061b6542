import { expect, onTestFinished, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { attemptsOf, eventually, newName, startWorker, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

function down(): never {
  throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
}

/** A stored breaker, as the worker of another program stores it. */
async function newBreaker(state = 'closed', more = ''): Promise<string> {
  const name = newName('breaker')
  await scene.db.query(
    `insert into stint.breaker (name, window_ms, share, least, open_ms, most_open_ms, probes, counts, state, probe_at)
     values ($1, 10000, 0.5, 4, 300, 1000, 2, '{connection,timeout}', $2, stint.now() + interval '1 hour')`,
    [name, state],
  )
  if (more !== '') await scene.db.query(`update stint.breaker set ${more} where name = $1`, [name])
  return name
}

function stateOf(name: string): Promise<string | undefined> {
  return scene.stint.breakers.get(name).then((found) => found?.state)
}

test('calls by hand open a breaker, which then refuses calls without making them', async () => {
  const name = await newBreaker()
  const breaker = scene.stint.breaker(name)
  expect(await breaker.run(() => 'sent')).toBe('sent')
  for (let n = 0; n < 6; n++)
    await expect(breaker.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  // Those were of a class that does not count.
  for (let n = 0; n < 6; n++) await expect(breaker.run(down)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  await eventually(async () => (await stateOf(name)) === 'open', 'the breaker is open')
  await scene.db.query(
    `update stint.breaker set probe_at = stint.now() + interval '1 minute' where name = $1`,
    [name],
  )
  const other = new Stint({ connection: scene.db.url })
  onTestFinished(() => other.close())
  let calls = 0
  const refused: unknown = await other
    .breaker(name)
    .run(() => calls++)
    .catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'breaker-open' })
  const { retryAfterMs = 0 } = refused as { retryAfterMs?: number }
  expect(retryAfterMs).toBeGreaterThan(50_000)
  expect(retryAfterMs).toBeLessThanOrEqual(60_000)
  expect(calls).toBe(0)
})

test('when its time has come, calls by hand probe a breaker and close it, or open it again', async () => {
  const name = await newBreaker('open', `probe_at = stint.now() - interval '1 second', opens = 1`)
  const breaker = scene.stint.breaker(name)
  await expect(breaker.run(down)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  expect(await scene.stint.breakers.get(name)).toMatchObject({ state: 'open', opens: 2 })
  await scene.stint.breakers.probe(name)
  await eventually(() => breaker.run(() => true).catch(() => false), 'a call is made as the first probe')
  expect(await scene.stint.breakers.get(name)).toMatchObject({ state: 'half-open', probed: 1 })
  expect(await breaker.run(() => 'second')).toBe('second')
  expect(await stateOf(name)).toBe('closed')
})

test('a handler that does not catch breaker-open gives its job back until the probe, and burns no attempt', async () => {
  const name = await newBreaker('open')
  const job = defineJob({ kind: newName('mail'), queue: newName() })
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) =>
    one.handle(job, (_, ctx) => ctx.breaker(name).run(() => 'sent')),
  )
  const { id } = await scene.stint.enqueue(job, null)
  const { delayMs } = await worker.hears('snoozed', id)
  expect(delayMs).toBeGreaterThan(3_500_000)
  expect(await stored(scene, id)).toMatchObject({ state: 'scheduled', attempt: 0 })
  expect((await attemptsOf(scene, id))[0]?.reason).toContain(`The breaker '${name}' is open`)
  await scene.stint.breakers.reset(name)
  // Its state is at most half a second old in the worker.
  await eventually(async () => {
    const { state } = await stored(scene, id)
    if (state === 'scheduled') await scene.stint.reschedule(id, { delay: 0 })
    return state === 'succeeded'
  }, 'the job has succeeded')
})

test('an unknown breaker, a bad option and an unreachable database are typed errors', async () => {
  const { stint } = scene
  await expect(stint.breaker('no-such').run(() => 1)).rejects.toMatchObject({ code: 'breaker-not-found' })
  expect(() => stint.breaker('a b')).toThrow(expect.objectContaining({ code: 'invalid-option' }))
  expect(() => stint.breaker('x'.repeat(129))).toThrow(expect.objectContaining({ code: 'invalid-option' }))
  expect(() => stint.breaker('a\0b')).toThrow(expect.objectContaining({ code: 'invalid-option' }))
  const wrong = { onTrouble: 'ignore' } as never
  await expect(stint.breaker('x').run(() => 1, wrong)).rejects.toMatchObject({ code: 'invalid-option' })
  await expect(stint.breaker('x').run('no' as never)).rejects.toMatchObject({ code: 'invalid-option' })
  const away = new Stint({ connection: 'postgres://127.0.0.1:1/none', timeout: '200ms' })
  onTestFinished(() => away.close())
  await expect(away.breaker('x').run(() => 1)).rejects.toMatchObject({ code: 'database-unavailable' })
  expect(await away.breaker('x').run(() => 1, { onTrouble: 'allow' })).toBe(1)
})

test('open and close need an end in the future; all verbs need a breaker that exists', async () => {
  const name = await newBreaker()
  const { breakers } = scene.stint
  for (const options of [
    {},
    { until: new Date(0) },
    { for: '0s' },
    { for: '1m', until: new Date(Date.now() + 9e5) },
  ])
    await expect(breakers.open(name, options)).rejects.toMatchObject({ code: 'invalid-option' })
  await expect(breakers.open(name, { for: '1m', reason: 'x'.repeat(1_001) })).rejects.toMatchObject({
    code: 'invalid-option',
  })
  await expect(breakers.open('gone', { for: '1m' })).rejects.toMatchObject({ code: 'breaker-not-found' })
  await expect(breakers.reset('gone')).rejects.toMatchObject({ code: 'breaker-not-found' })
  await expect(breakers.probe('gone')).rejects.toMatchObject({ code: 'breaker-not-found' })
  expect(await breakers.get('gone')).toBeUndefined()
  await expect(breakers.probe(name)).rejects.toMatchObject({ code: 'state-changed' })
  const until = new Date(Date.now() + 60_000)
  expect(await breakers.close(name, { until })).toMatchObject({
    state: 'closed',
    forced: { until, by: 'code' },
  })
})

test('rows with odd values are shown, and stop neither calls nor jobs', async () => {
  const name = await newBreaker(
    'open',
    `probe_at = 'infinity', since = '-infinity', forced_until = '-infinity', cause = '[1, {"error": 5}]', opens = 1000000,
     counts = '{null,"${'y'.repeat(3_000)}"}', changes = 1000000000000000, probed = 1000000`,
  )
  await scene.db.query(
    `insert into stint.breaker_change (name, at, was, state, cause) values
       ($1, 'infinity', 'open', 'open', '"x"'), ($1, '-infinity', 'open', 'open', null),
       ($1, stint.now(), 'open', 'closed', '{"failed": "many", "error": {"a": 1}, "of": 1e400}')`,
    [name],
  )
  await scene.db.query(
    `insert into stint.breaker_count (name, slot, process, flush, ok, failed)
     values ($1, 'infinity', gen_random_uuid(), 2147483647, 1000000000, 1000000000)`,
    [name],
  )
  const found = await scene.stint.breakers.get(name)
  expect(found).toMatchObject({ state: 'open', seen: { ok: 0, failed: 0 }, forced: null })
  expect(found?.recent).toHaveLength(1)
  expect((await scene.stint.breakers.list({ limit: 1_000 })).some((one) => one.name === name)).toBe(true)
  await expect(scene.stint.breaker(name).run(() => 1)).rejects.toMatchObject({ code: 'breaker-open' })
  // A cover that another role wrote, without kinds, holds nothing back.
  const job = defineJob({ kind: newName('job'), queue: newName() })
  await scene.db.query(`insert into stint.limit_cover (queue, type, name) values ($1, 'breaker', $2)`, [
    job.queue,
    name,
  ])
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 } }, (one) => one.handle(job, () => 1))
  const { id } = await scene.stint.enqueue(job, null)
  await worker.hears('succeeded', id)
  expect(await scene.stint.breakers.reset(name)).toMatchObject({ state: 'closed', opens: 0 })
  const isAllowed = (): Promise<boolean> =>
    scene.stint
      .breaker(name)
      .run(() => true)
      .catch(() => false)
  await eventually(isAllowed, 'calls are made again')
})
