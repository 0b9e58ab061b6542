import { expect, onTestFinished, test } from 'vitest'
import { Stint } from '../../src/index.ts'
import type { RateLimit } from '../../src/index.ts'
import { eventually, newName, workerScene } from '../support/workers.ts'
import { bucketsOf, newRate } from './rates-scene.ts'

const scene = workerScene()

/** Another process, as far as the database can tell. */
function otherClient(): Stint {
  const other = new Stint({ connection: scene.db.url })
  onTestFinished(() => other.close())
  return other
}

test('a full bucket gives its burst at once, and then says when the next tokens come', async () => {
  const rate = await newRate(scene, { tokens: 1, per: '10s', burst: 5 })
  const limit = scene.stint.limit(rate.name)
  expect(await limit.tryTake(3)).toEqual({ granted: true, retryAfterMs: 0 })
  expect(await limit.tryTake(2)).toEqual({ granted: true, retryAfterMs: 0 })
  const refused = await limit.tryTake(2)
  expect(refused.granted).toBe(false)
  expect(refused.retryAfterMs).toBeGreaterThan(15_000)
  expect(refused.retryAfterMs).toBeLessThanOrEqual(20_000)
})

test('a refusal is remembered: fewer tokens are asked for, more are refused without a statement', async () => {
  const rate = await newRate(scene, { tokens: 1, per: '1h', burst: 5 })
  const limit = scene.stint.limit(rate.name)
  await limit.tryTake(3)
  expect((await limit.tryTake(4)).granted).toBe(false)
  // The other process gives tokens back, and this one does not know.
  await otherClient().limit(rate.name).correct({ taken: 3, used: 0 })
  expect((await limit.tryTake(5)).granted).toBe(false)
  expect((await limit.tryTake(3)).granted).toBe(true)
})

test('takers are served in their order, at the pace of the rate', async () => {
  const rate = await newRate(scene, { tokens: 100, per: '1s', burst: 1 })
  const limit = scene.stint.limit(rate.name)
  const order: number[] = []
  const startedAt = performance.now()
  await Promise.all([...Array(20).keys()].map((n) => limit.take(1).then(() => order.push(n))))
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(185)
  expect(order).toEqual([...Array(20).keys()])
})

test('tokens that come later than the timeout are refused at once, also behind others in line', async () => {
  const rate = await newRate(scene, { tokens: 1, per: '1h', burst: 2 })
  const limit = scene.stint.limit(rate.name)
  await limit.take(2)
  const controller = new AbortController()
  const first = limit.take(1, { timeout: '2h', signal: controller.signal })
  // Both would wait for longer than any test may take.
  await expect(limit.take(2, { timeout: '50m' })).rejects.toMatchObject({ code: 'rate-limited' })
  await expect(otherClient().limit(rate.name).take(2, { timeout: '50m' })).rejects.toMatchObject({
    code: 'rate-limited',
    current: { retryAfterMs: expect.any(Number) as number },
  })
  controller.abort(new Error('enough'))
  await expect(first).rejects.toThrow('enough')
})

test('more than a full bucket is refused as an option, also while others wait', async () => {
  const rate = await newRate(scene, { tokens: 1, per: '1h', burst: 10 })
  const limit = scene.stint.limit(rate.name)
  const tooMany = { code: 'invalid-option', issues: [{ path: 'tokens' }] }
  await expect(limit.take(11)).rejects.toMatchObject(tooMany)
  await expect(limit.tryTake(11)).rejects.toMatchObject(tooMany)
  await limit.take(10)
  const controller = new AbortController()
  const waiting = limit.take(1, { timeout: '2h', signal: controller.signal })
  await expect(limit.take(11, { timeout: '2h' })).rejects.toThrow('full bucket of the rate')
  controller.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
})

test('a taker that gives up leaves its tokens to others', async () => {
  const rate = await newRate(scene, { tokens: 1, per: '1h', burst: 10 })
  const limit = scene.stint.limit(rate.name)
  await limit.take(10)
  const controller = new AbortController()
  const waiting = limit.take(5, { timeout: '6h', signal: controller.signal })
  await eventually(
    async () =>
      (await bucketsOf(scene, rate))[0]?.tokens !== undefined &&
      ((await bucketsOf(scene, rate))[0]?.tokens ?? 0) < -4,
    'reserved',
  )
  controller.abort(new Error('not needed'))
  await expect(waiting).rejects.toThrow('not needed')
  await eventually(async () => ((await bucketsOf(scene, rate))[0]?.tokens ?? -9) > -1, 'given back')
  await expect(limit.take(1, { signal: controller.signal })).rejects.toThrow('not needed')
})

test('a rate by key has a bucket for each key, another rate one for all', async () => {
  const byKey = await newRate(scene, { tokens: 1, per: '1h', burst: 1, by: 'key' })
  const limit = scene.stint.limit(byKey.name)
  for (const key of ['a', 'b']) expect((await limit.tryTake(1, { key })).granted).toBe(true)
  expect((await limit.tryTake(1, { key: 'a' })).granted).toBe(false)
  expect((await limit.tryTake(1)).granted).toBe(true)
  const one = await newRate(scene, { tokens: 1, per: '1h', burst: 1 })
  expect((await scene.stint.limit(one.name).tryTake(1, { key: 'a' })).granted).toBe(true)
  expect((await scene.stint.limit(one.name).tryTake(1, { key: 'b' })).granted).toBe(false)
})

test('a penalty closes the bucket for all processes, and tokens begin to come when it is over', async () => {
  const rate = await newRate(scene, { tokens: 1000, per: '1s', burst: 10 })
  const other = otherClient()
  await other.limit(rate.name).take(1)
  const startedAt = performance.now()
  await scene.stint.limit(rate.name).penalise('400ms')
  const refused = await other.limit(rate.name).tryTake(1)
  expect(refused.granted).toBe(false)
  expect(refused.retryAfterMs).toBeGreaterThan(200)
  // A shorter penalty does not open it earlier.
  await other.limit(rate.name).penalise(1)
  await other.limit(rate.name).take(10)
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(398)
})

test('a taker that was promised tokens a second ago stops for a penalty too', async () => {
  const rate = await newRate(scene, { tokens: 1, per: '1200ms', burst: 1 })
  const limit = scene.stint.limit(rate.name)
  await limit.take(1)
  const startedAt = performance.now()
  const waiting = limit.take(1, { timeout: '1m' })
  await eventually(async () => ((await bucketsOf(scene, rate))[0]?.tokens ?? 1) < -0.5, 'reserved')
  await otherClient().limit(rate.name).penalise('1500ms')
  await waiting
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1_500)
})

test('real use corrects what was taken, in both directions', async () => {
  const rate = await newRate(scene, { tokens: 1, per: '1m', burst: 100 })
  const limit = scene.stint.limit(rate.name)
  await limit.take(60)
  await limit.correct({ taken: 60, used: 10 })
  expect((await limit.tryTake(90)).granted).toBe(true)
  await limit.correct({ taken: 90, used: 140 })
  const [bucket] = await bucketsOf(scene, rate)
  expect(bucket?.tokens).toBeGreaterThan(-50.1)
  expect(bucket?.tokens).toBeLessThan(-49.9)
  // A correction cannot fill a bucket above its burst, nor close it for more than a day.
  await limit.correct({ taken: 1_000, used: 0 })
  expect((await bucketsOf(scene, rate))[0]?.tokens).toBe(100)
  await limit.correct({ taken: 0, used: 1_000_000_000 })
  expect((await bucketsOf(scene, rate))[0]?.tokens).toBeGreaterThan(-1_441)
})

test('a process takes 100 ms of its use at once, and gives back what it does not use', async () => {
  const rate = await newRate(scene, { tokens: 1, per: '1h', burst: 1_000_000 })
  const other = otherClient()
  const limit = other.limit(rate.name)
  const taken = async (): Promise<number> => (await bucketsOf(scene, rate))[0]?.taken ?? 0
  let used = 0
  const use = async (): Promise<boolean> => {
    for (let n = 0; n < 10; n++, used += 10) await limit.tryTake(10)
    return (await taken()) > used
  }
  await eventually(use, 'more taken than used')
  await eventually(async () => (await taken()) === used, 'given back')
  // So does a client that is closed.
  await eventually(use, 'more taken than used')
  await other.close()
  expect(await taken()).toBe(used)
})

test('refusals are counted with the next grant', async () => {
  const rate = await newRate(scene, { tokens: 100, per: '1s', burst: 1 })
  const limit = scene.stint.limit(rate.name)
  await limit.take(1)
  for (let n = 0; n < 3; n++) await limit.tryTake(1)
  await limit.take(1)
  expect((await bucketsOf(scene, rate))[0]?.refused).toBeGreaterThanOrEqual(1)
})

test('a rate that does not exist is limit-not-found for every call', async () => {
  const limit = scene.stint.limit(newName('missing'))
  const missing = { code: 'limit-not-found' }
  await expect(limit.take(1)).rejects.toMatchObject(missing)
  await expect(limit.tryTake(1)).rejects.toMatchObject(missing)
  await expect(limit.tryTake(1, { onTrouble: 'allow' })).rejects.toMatchObject(missing)
  await expect(limit.penalise('1s')).rejects.toMatchObject(missing)
  await expect(limit.correct({ taken: 2, used: 1 })).rejects.toMatchObject(missing)
})

test.each(['', 'a\0b', '🙂', 'x'.repeat(129), '-x', 7, undefined])('%j is no name of a rate', (name) => {
  expect(() => scene.stint.limit(name as string)).toThrow(
    expect.objectContaining({
      code: 'invalid-option',
      issues: [expect.objectContaining({ path: 'name' })],
    }) as Error,
  )
})

const badCalls: [path: string, call: (limit: RateLimit) => Promise<unknown>][] = [
  ...[0, -1, 1.5, NaN, Infinity, '3', null, 1_000_000_001].flatMap(
    (tokens): [string, (limit: RateLimit) => Promise<unknown>][] => [
      ['tokens', (limit) => limit.take(tokens as number)],
      ['tokens', (limit) => limit.tryTake(tokens as number)],
    ],
  ),
  ...['', 'a\0b', 'x'.repeat(513), 5].map((key): [string, (limit: RateLimit) => Promise<unknown>] => [
    'key',
    (limit) => limit.take(1, { key: key as string }),
  ]),
  ['key', (limit) => limit.tryTake(1, { key: '' })],
  ['key', (limit) => limit.penalise('1s', { key: '\ud800' })],
  ['key', (limit) => limit.correct({ taken: 1, used: 2 }, { key: '' })],
  ...['-1s', 'soon', NaN, '25h'].map((timeout): [string, (limit: RateLimit) => Promise<unknown>] => [
    'timeout',
    (limit) => limit.take(1, { timeout: timeout as '1s' }),
  ]),
  ['onTrouble', (limit) => limit.tryTake(1, { onTrouble: 'maybe' as 'allow' })],
  ['signal', (limit) => limit.take(1, { signal: 5 as unknown as AbortSignal })],
  ['tiemout', (limit) => limit.take(1, { tiemout: '1s' } as object)],
  ['timeout', (limit) => limit.tryTake(1, { timeout: '1s' } as object)],
  ['duration', (limit) => limit.penalise(0)],
  ['duration', (limit) => limit.penalise('soon')],
  ['used', (limit) => limit.correct({ taken: 1, used: -1 })],
  ['taken', (limit) => limit.correct({ taken: 0.5, used: 1 })],
  ['more', (limit) => limit.correct({ taken: 1, used: 1, more: 1 } as { taken: number; used: number })],
]

test.each(badCalls)('a bad value of `%s` is refused before anything is sent', async (path, call) => {
  // A rate that does not exist: a call that is sent would fail with another code.
  await expect(call(scene.stint.limit(newName('missing')))).rejects.toMatchObject({
    code: 'invalid-option',
    issues: [{ path }],
  })
})

test('without a database no tokens are granted, unless the caller asks for it', async () => {
  const away = new Stint({ connection: 'postgres://nobody@127.0.0.1:1/nothing' })
  onTestFinished(() => away.close())
  const limit = away.limit('any')
  const unavailable = { code: 'database-unavailable' }
  await expect(limit.tryTake(1)).rejects.toMatchObject(unavailable)
  await expect(limit.take(1)).rejects.toMatchObject(unavailable)
  await expect(limit.penalise('1s')).rejects.toMatchObject(unavailable)
  expect(await limit.tryTake(1, { onTrouble: 'allow' })).toEqual({ granted: true, retryAfterMs: 0 })
  await limit.take(1, { onTrouble: 'allow' })
})

test('the functions in SQL refuse values that no client sends', async () => {
  const rate = await newRate(scene, { tokens: 10, per: '1s' })
  const take = (wanted: string, least: string, wait: string): Promise<unknown> =>
    scene.db.query(`select stint.take_tokens($1, '', ${wanted}, ${least}, ${wait}, false, 0)`, [rate.name])
  for (const [wanted, least, wait] of [
    ['-5', '-5', '0'],
    ["'NaN'", '1', '0'],
    ['1', "'NaN'", '0'],
    ['1', '2', '0'],
    ['1', '1', "'infinity'"],
    ['null', '1', '0'],
  ] as const)
    await expect(take(wanted, least, wait)).rejects.toMatchObject({ code: '22023' })
  for (const [given, close] of [
    ["'NaN'", '0'],
    ['0', "'infinity'"],
    ['0', '-1'],
    ['null', '0'],
  ] as const)
    await expect(
      scene.db.query(`select stint.change_bucket($1, '', ${given}, ${close})`, [rate.name]),
    ).rejects.toMatchObject({ code: '22023' })
})
