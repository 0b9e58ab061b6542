import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { isStintError } from '../../src/index.ts'
import type { PauseOptions } from '../../src/index.ts'
import { lookAt } from '../doctor/scene.ts'
import { movableClock } from '../support/clock.ts'
import type { TestClock } from '../support/clock.ts'
import { upkeepByHand } from '../support/history.ts'
import { dropChecks, plant } from '../support/planted-rows.ts'
import { newJob, newName, startFor, startWorker, workerScene } from '../support/workers.ts'

const scene = workerScene()
const reason = 'the provider is down'

let clock: TestClock
beforeAll(async () => {
  clock = await movableClock(scene.db)
})

test('a pause is shown with author, start, end and reason, wherever its queue is shown', async () => {
  const { stint } = scene
  const queue = newName('unknown')
  const until = new Date(Date.now() + 3_600_000)
  const settings = await stint.as({ actor: 'ana' }).pauseQueue(queue, { until, reason })
  const pause = { kind: null, key: null, since: expect.any(Date) as Date, until, by: 'ana', reason }
  expect(settings).toMatchObject({ queue, keepMs: null, pauses: [pause] })
  await stint.queues.pause(queue, { key: 'acme 🙂', reason: 'their uploads' })
  await stint.queues.pause(queue, { kind: 'mail.send', for: '2h', reason: 'bounces' })
  const pauses = [
    pause,
    { kind: null, key: 'acme 🙂', by: 'code', until: null, reason: 'their uploads' },
    { kind: 'mail.send', key: null, by: 'code', until: expect.any(Date) as Date, reason: 'bounces' },
  ]
  expect((await stint.queues.get(queue)).pauses).toMatchObject(pauses)
  expect((await stint.queues.list()).find((one) => one.queue === queue)).toMatchObject({ pauses })
  expect((await stint.view.queue(queue))?.pauses).toMatchObject(pauses)
  expect((await stint.view.queues()).queues.find((one) => one.queue === queue)?.pauses).toMatchObject(pauses)
  expect((await stint.status()).queues.find((one) => one.queue === queue)?.pauses).toMatchObject(pauses)
  // Another pause of the same changes its end, author and reason, and keeps its start.
  const again = await stint.queues.pause(queue, { reason: 'still down' })
  expect(again.pauses[0]).toEqual({ ...settings.pauses[0], until: null, by: 'code', reason: 'still down' })
  // Each pause ends on its own.
  expect((await stint.queues.resume(queue)).pauses).toMatchObject(pauses.slice(1))
  await stint.queues.resume(queue, { key: 'acme 🙂' })
  expect((await stint.as({ actor: 'bo' }).resumeQueue(queue, { kind: 'mail.send' })).pauses).toEqual([])
  expect((await stint.queues.resume(queue)).pauses).toEqual([])
  const { entries } = await stint.audit.list({ target: queue })
  expect(entries.map(({ actor, action, reason: why, after }) => [actor, action, why, after])).toEqual([
    ['bo', 'queue.resume', null, { kind: 'mail.send' }],
    ['ana', 'queue.pause', reason, { until: until.toISOString() }],
  ])
})

describe('a pause that cannot be meant', () => {
  const options: [string, Record<string, unknown>, string][] = [
    ['without a reason', {}, 'reason'],
    ['with an empty reason', { reason: '' }, 'reason'],
    ['with a reason of 1,001 characters', { reason: 'x'.repeat(1_001) }, 'reason'],
    ['with NUL in its reason', { reason: 'a\0b' }, 'reason'],
    ['of a kind and a key', { kind: 'a', key: 'b', reason }, 'key'],
    ['that ended already', { until: new Date(Date.now() - 1_000), reason }, 'until'],
    ['until no time', { until: new Date(Number.NaN), reason }, 'until'],
    ['until a time without a zone', { until: '2030-01-31T09:00:00', reason }, 'until'],
    ['with two ends', { until: '2100-01-31T09:00:00Z', for: '1h', reason }, 'until'],
    ['for no time', { for: 0, reason }, 'for'],
    ['for a wrong unit', { for: '2 hours', reason }, 'for'],
    ['of a kind with NUL', { kind: 'a\0', reason }, 'kind'],
    ['of a kind with an emoji', { kind: '🙂', reason }, 'kind'],
    ['of a kind of 129 characters', { kind: 'x'.repeat(129), reason }, 'kind'],
    ['of an empty key', { key: '', reason }, 'key'],
    ['of a key with NUL', { key: 'a\0', reason }, 'key'],
    ['of a key of 513 bytes', { key: 'x'.repeat(513), reason }, 'key'],
    ['with an unknown option', { keys: ['a'], reason }, 'keys'],
  ]
  test.each(options)('%s is refused before anything is sent', async (_, given, path) => {
    const queue = newName()
    const refused = await scene.stint.queues
      .pause(queue, given as unknown as PauseOptions)
      .catch((error: unknown) => error)
    expect(isStintError(refused, 'invalid-option')).toBe(true)
    expect(refused).toMatchObject({ issues: [{ path }] })
    expect((await scene.stint.queues.list()).map((one) => one.queue)).not.toContain(queue)
  })

  test.each([['a\0'], ['🙂'], ['x'.repeat(129)], ['']])('of a queue named %j is refused', async (queue) => {
    await expect(scene.stint.queues.pause(queue, { reason })).rejects.toMatchObject({
      code: 'invalid-option',
    })
    await expect(scene.stint.queues.resume(queue)).rejects.toMatchObject({ code: 'invalid-option' })
  })

  test('of one more than 1,000 kinds and keys is refused, and a changed one is not', async () => {
    const queue = newName()
    await scene.db.query(
      `insert into stint.pause (queue, key, paused_by) select $1, 'k' || n, 'ana' from generate_series(1, 1000) as n`,
      [queue],
    )
    await expect(scene.stint.queues.pause(queue, { key: 'one more', reason })).rejects.toMatchObject({
      code: 'invalid-option',
    })
    const { pauses } = await scene.stint.queues.pause(queue, { key: 'k7', reason })
    expect(pauses).toHaveLength(1_000)
  })
})

test('odd rows of another role are shown, and stop nothing else', async () => {
  const [job, other] = [newJob('mail'), newJob('other')]
  await dropChecks(scene.db)
  const text = (value: string): string => `'${value}'`
  const queue = text(job.queue)
  const row = { queue, paused_by: `''`, reason: 'null' }
  await plant(scene.db, 'pause', { ...row, kind: text('k'.repeat(3_000)), paused_until: `'infinity'` })
  await plant(scene.db, 'pause', { ...row, kind: text('\\u202e<b>🙂'), paused_at: `'-infinity'` })
  await plant(scene.db, 'pause', { ...row, key: `repeat('x', 2000)`, paused_at: `'infinity'` })
  await plant(scene.db, 'pause', { ...row, kind: text('a'), key: text('b'), paused_until: `'294276-01-01'` })
  await plant(scene.db, 'pause', { ...row, paused_until: `'294276-01-01'` })
  await plant(scene.db, 'pause', { ...row, kind: text('gone'), paused_until: `'-infinity'` })
  const foreign = newName('foreign')
  await plant(scene.db, 'queue', { name: text(foreign), paused_until: `'294276-01-01'` })
  await scene.db.query(
    `insert into stint.pause (queue, key, paused_by) select $1, 'k' || n, 'ana' from generate_series(1, 20000) as n`,
    [foreign],
  )
  const worker = await startWorker(
    scene,
    { queues: { [job.queue]: 1, [other.queue]: 1, [foreign]: 1 } },
    (one) => one.handle(job, () => undefined).handle(other, () => undefined),
  )
  for (const contract of [job, other]) await scene.stint.enqueue(contract, {})
  await worker.tells('succeeded', undefined, 2)
  const { pauses } = await scene.stint.queues.get(job.queue)
  expect(pauses).toHaveLength(5)
  expect(JSON.stringify(pauses)).toContain('null')
  const [own, ...keys] = (await scene.stint.queues.get(foreign)).pauses
  expect(own).toMatchObject({ kind: null, key: null, by: null, since: null })
  expect(keys).toHaveLength(1_000)
  expect((await scene.stint.view.queue(job.queue))?.pauses).toHaveLength(5)
  const listed = (await scene.stint.queues.list()).find((one) => one.queue === foreign)
  expect(listed?.pauses.length).toBeLessThanOrEqual(21)
  await scene.db.query('delete from stint.pause')
})

test('a pause whose end has passed reads as none, and upkeep removes its row', async () => {
  const queue = newName()
  await scene.stint.queues.pause(queue, { for: '1h', reason })
  await scene.stint.queues.pause(queue, { key: 'acme', for: '1h', reason })
  await scene.stint.queues.pause(queue, { key: 'bolt', reason })
  const upkeep = upkeepByHand(scene.db.url)
  onTestFinished(() => upkeep.close())
  await upkeep.pass('expired')
  expect((await scene.stint.queues.get(queue)).pauses).toHaveLength(3)
  await clock.advance('61 minutes')
  const left = [{ key: 'bolt', until: null }]
  expect((await scene.stint.queues.get(queue)).pauses).toMatchObject(left)
  await upkeep.pass('expired')
  expect(await scene.db.query('select key from stint.pause where queue = $1', [queue])).toEqual([
    { key: 'bolt' },
  ])
  // A new pause after the end begins anew.
  const [again] = (await scene.stint.queues.pause(queue, { reason })).pauses
  expect(again?.since?.getTime()).toBeGreaterThan(Date.now() + 3_600_000)
  await scene.stint.queues.resume(queue, { key: 'bolt' })
})

test('the doctor finds a pause that holds a job for more than a day', async () => {
  const job = newJob('forgotten')
  const key = newName('key')
  await scene.stint.queues.pause(job.queue, { key, reason })
  await scene.stint.enqueue(job, {})
  expect(await lookAt(scene.db.url, 'pauses')).toMatchObject({ level: 'ok' })
  await scene.stint.enqueue(job, {}, { key })
  await clock.advance('25 hours')
  const found = await lookAt(scene.db.url, 'pauses')
  expect(found).toMatchObject({
    level: 'warn',
    title: 'A pause holds old jobs',
    fix: `stint queue get ${job.queue}`,
  })
  expect(found.detail).toContain(`key ${key} of ${job.queue} was paused by code (${reason})`)
  const worker = await startFor(scene, job, () => undefined)
  await worker.tells('succeeded')
})
