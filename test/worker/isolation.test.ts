import { beforeAll, describe, expect, test } from 'vitest'
import type { IsolateMode } from '../../src/worker.ts'
import { attemptsOf, eventually, newName, stored } from '../support/workers.ts'
import { newRate } from '../limits/rates-scene.ts'
import { isolationScene } from './isolation-scene.ts'

const { scene, isolated, shared, resultOf, whereabouts } = isolationScene()

beforeAll(() => scene.db.query('create table effect (job_id uuid)'))

async function effectsOf(id: string): Promise<number> {
  return (await scene.db.query('select from effect where job_id = $1', [id])).length
}

const modes: IsolateMode[] = ['process', 'thread']

describe.each(modes)('a handler isolated in a %s', (mode) => {
  const group = shared(mode)

  test('an isolated handler runs in its child with currentJob() set, and the next job reuses the child', async () => {
    const one = group.get()
    const first = await whereabouts(one)
    expect(first).toMatchObject({ child: mode, current: first.jobId })
    expect(first.pid === process.pid).toBe(mode === 'thread')
    expect(first.threadId > 0).toBe(mode === 'thread')
    const second = await whereabouts(one)
    expect([second.pid, second.threadId]).toEqual([first.pid, first.threadId])
    expect(second.jobId).not.toBe(first.jobId)
  })

  test('log lines and progress of an isolated handler are stored, and middleware runs around it', async () => {
    const one = group.get()
    const id = await one.send('say')
    expect(await resultOf(one, id)).toBe('act: said')
    expect(await scene.stint.logs(id)).toMatchObject([
      { line: 1, level: 'info', message: 'first', data: { n: 1 } },
      { line: 2, level: 'warn', message: 'second' },
    ])
    const waiting = await one.send('progressAndWait')
    await eventually(async () => (await stored(scene, waiting)).progress?.percent === 40, 'its progress')
    await scene.stint.cancel(waiting)
    await one.worker.hears('cancelled', waiting)
  })

  test('an isolated handler has steps, and waits without its child', async () => {
    const one = group.get()
    const id = await one.send('steps')
    await one.worker.hears('waiting', id)
    expect(await resultOf(one, id)).toBe('step under epoch 1, end under epoch 2')
    expect(await attemptsOf(scene, id)).toMatchObject([{ outcome: 'waiting' }])
  })

  test('an isolated handler has children, and waits for them without its own process', async () => {
    const one = group.get()
    const id = await one.send('family', { queue: one.job.queue })
    expect(await resultOf(one, id)).toEqual(['none', 'none'])
  })

  test('an isolated handler writes in ctx.tx together with its completion', async () => {
    const one = group.get()
    const id = await one.send('tx')
    expect(await resultOf(one, id)).toBe('by tx')
    expect(await effectsOf(id)).toBe(1)
    expect(await scene.stint.logs(id)).toMatchObject([{ message: 'inside' }])
    const failing = await one.send('tx', { fails: true }, { attempts: 1 })
    await one.worker.hears('dead', failing)
    expect(await effectsOf(failing)).toBe(0)
  })

  test('an isolated handler completes in its own transaction, and the outcome of that transaction counts', async () => {
    const one = group.get()
    const { url } = scene.db
    const committed = await one.send('complete', { url, ending: 'commit' })
    const rolledBack = await one.send('complete', { url, ending: 'rollback' })
    const exited = await one.send('complete', { url, ending: 'commit', exits: true })
    expect(await resultOf(one, committed)).toBe('by complete')
    expect(await resultOf(one, rolledBack)).toBe('by complete')
    expect(await resultOf(one, exited)).toBe('by complete')
    expect(one.worker.told('leaseLost')).toEqual([])
  })

  test('an isolated handler has ctx.once', async () => {
    const one = group.get()
    const id = await one.send('once', { key: newName('key') })
    expect(await resultOf(one, id)).toEqual([{ at: 1 }, { at: 1 }])
    expect(await effectsOf(id)).toBe(1)
  })

  test('an isolated handler takes tokens of a rate, and is snoozed when they come too late', async () => {
    const rate = await newRate(scene, { tokens: 1, per: '1h', burst: 3 })
    const one = group.get()
    const answer = await resultOf(one, await one.send('take', { rate: rate.name }))
    expect(answer).toMatchObject({ granted: false, retryAfterMs: expect.any(Number) as number })
    const { reason } = await one.worker.hears('snoozed', await one.send('take', { rate: rate.name }))
    expect(reason).toContain(rate.name)
  })

  test('an isolated handler enqueues children when it succeeds, and not when it fails', async () => {
    const one = group.get()
    const queue = newName()
    const id = await one.send('children', { queue })
    const child = String(await resultOf(one, id))
    expect(await stored(scene, child)).toMatchObject({ parentId: id, input: { of: id }, queue })
    const failing = await one.send('children', { queue, fails: true }, { attempts: 1 })
    await one.worker.hears('dead', failing)
    expect((await scene.stint.list({ queue })).jobs).toHaveLength(1)
  })

  test('what an isolated handler throws decides how its attempt ends', async () => {
    const one = group.get()
    const { worker } = one
    const permanent = await one.send('permanent')
    const snoozed = await one.send('snooze')
    const cancelled = await one.send('cancel')
    const later = await one.send('retryAfter')
    const failing = await one.send('throw', { code: 'ECONNRESET', message: 'broken' }, { attempts: 2 })
    expect(await worker.hears('dead', permanent)).toMatchObject({ reason: 'permanent' })
    expect(await worker.hears('snoozed', snoozed)).toMatchObject({ reason: 'not now', delayMs: 3_600_000 })
    expect(await worker.hears('cancelled', cancelled)).toMatchObject({ reason: 'no need' })
    expect(await worker.hears('failed', later)).toMatchObject({ delayMs: 3_600_000 })
    expect(await worker.hears('dead', failing)).toMatchObject({
      reason: 'exhausted',
      error: { class: 'connection', name: 'TypeError', code: 'ECONNRESET', message: 'broken' },
    })
    expect((await attemptsOf(scene, failing)).map(({ outcome }) => outcome)).toEqual(['failed', 'failed'])
  })

  test('an isolated handler that obeys its signal times out as usual, and its child lives on', async () => {
    const one = await isolated(mode, { children: { max: 1 } })
    const before = await whereabouts(one)
    const id = await one.send('obey', {}, { timeout: '50ms', attempts: 1 })
    await one.worker.hears('dead', id)
    expect(await attemptsOf(scene, id)).toMatchObject([
      { outcome: 'timed-out', error: { class: 'timeout', code: 'attempt-timeout' } },
    ])
    const after = await whereabouts(one)
    expect([after.pid, after.threadId]).toEqual([before.pid, before.threadId])
  })

  test.each(['ignore', 'busy'])(
    'an isolated handler that does not end at its timeout (%s) is killed and retried',
    async (act) => {
      const one = await isolated(mode, { stuck: { grace: '100ms' }, children: { max: 1 } })
      const before = await whereabouts(one)
      const id = await one.send(act, {}, { timeout: '100ms', attempts: 2 })
      expect(await one.worker.hears('dead', id)).toMatchObject({ reason: 'exhausted' })
      const timedOut = { outcome: 'timed-out', error: { class: 'timeout', code: 'attempt-timeout' } }
      expect(await attemptsOf(scene, id)).toMatchObject([timedOut, timedOut])
      const after = await whereabouts(one)
      expect([after.pid, after.threadId]).not.toEqual([before.pid, before.threadId])
    },
  )

  test('an isolated handler that ends its child has crashed, with the reason stored, and the jobs in other children go on', async () => {
    const one = group.get()
    const neighbour = await one.send('obey')
    await one.worker.hears('started', neighbour)
    const id = await one.send('until', { epoch: 2 })
    const { reason } = await one.worker.hears('crashed', id)
    expect(reason).toContain('ended with exit code 6')
    await one.worker.hears('succeeded', id)
    expect(await attemptsOf(scene, id)).toMatchObject([{ outcome: 'crashed', attempt: 1 }])
    // The neighbour still runs its first attempt.
    await scene.stint.cancel(neighbour, { reason: 'seen enough' })
    expect(await one.worker.hears('cancelled', neighbour)).toMatchObject({
      reason: 'seen enough',
      attempt: 1,
    })
    expect(one.worker.told('started').filter(({ id: started }) => started === neighbour)).toHaveLength(1)
  })

  test('an isolated handler that runs out of memory is reported as such, and the worker goes on', async () => {
    const one = await isolated({ in: mode, memoryMb: 40 }, { crashLimit: 1 })
    const id = await one.send('outOfMemory')
    await one.worker.hears('dead', id)
    expect(await stored(scene, id)).toMatchObject({
      reason: 'quarantined',
      error: { class: 'crash', message: expect.stringContaining('out of memory at 40 MB of heap') as string },
    })
    await whereabouts(one)
  })

  test('a child is replaced after maxJobs jobs', async () => {
    const one = await isolated({ in: mode, maxJobs: 2 })
    const ran = [await whereabouts(one), await whereabouts(one), await whereabouts(one)]
    const [first, second, third] = ran.map(({ pid, threadId }) => `${pid} ${threadId}`)
    expect(second).toBe(first)
    expect(third).not.toBe(second)
  })

  test('an isolated job whose completion is stored has succeeded, even if its child ends afterwards', async () => {
    const one = group.get()
    const id = await one.send('txThenExit')
    expect(await resultOf(one, id)).toBe('by tx')
    expect(await effectsOf(id)).toBe(1)
    expect(one.worker.told('crashed').filter((fact) => fact.id === id)).toEqual([])
  })

  test('an uncaught error beside an isolated handler fails the attempt, and its child is not used again', async () => {
    const one = await isolated(mode, { children: { max: 1 } })
    const before = await whereabouts(one)
    const id = await one.send('uncaught', {}, { attempts: 1 })
    expect(await one.worker.hears('dead', id)).toMatchObject({
      reason: 'exhausted',
      error: { class: 'unknown', name: 'RangeError', message: 'this error is not caught' },
    })
    const after = await whereabouts(one)
    expect([after.pid, after.threadId]).not.toEqual([before.pid, before.threadId])
  })

  test.each(['obey', 'ignore'])(
    'an isolated job that is cancelled ends as cancelled with the given reason (%s)',
    async (act) => {
      const one = await isolated(mode, { stuck: { grace: '100ms' } })
      const id = await one.send(act)
      await one.worker.hears('started', id)
      await scene.stint.cancel(id, { reason: 'not wanted' })
      expect(await one.worker.hears('cancelled', id)).toMatchObject({ reason: 'not wanted' })
      expect(one.worker.told('stuck')).toEqual([])
    },
  )
})
