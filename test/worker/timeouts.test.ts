import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { HandlerContext } from '../../src/worker.ts'
import { Events } from '../../src/worker/report/events.ts'
import type { WorkerEvents } from '../../src/worker/report/events.ts'
import { HeldJob, HeldJobs } from '../../src/worker/attempt/held-job.ts'
import { silent } from '../../src/worker/report/log.ts'
import { Report } from '../../src/worker/report/report.ts'
import { Deadlines } from '../../src/worker/watch/deadlines.ts'
import { attemptsOf, eventually, newJob, newName, startFor, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** Resolves when the handler is told to stop. */
function aborted({ signal }: HandlerContext): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    signal.addEventListener('abort', () => {
      resolve(signal.reason)
    })
  })
}

describe('an attempt that takes too long', () => {
  test('an attempt that exceeds its timeout is aborted by its signal, and times out when it throws the abort reason', async () => {
    const job = defineJob({
      kind: 'slow',
      queue: newName(),
      timeout: '60ms',
      retry: { attempts: 2, backoff: () => 1 },
    })
    const reasons: unknown[] = []
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const reason = await aborted(ctx)
      reasons.push(reason)
      throw reason
    })
    const { id } = await scene.stint.enqueue(job)
    const { error } = await worker.hears('failed', id)
    expect(error).toMatchObject({ class: 'timeout', name: 'StintError', code: 'attempt-timeout' })
    const { reason, ranMs } = await worker.hears('dead', id)
    expect(reason).toBe('exhausted')
    expect(ranMs).toBeGreaterThanOrEqual(59)
    expect(reasons).toMatchObject([
      { name: 'StintError', code: 'attempt-timeout', jobIds: [id] },
      { name: 'StintError', code: 'attempt-timeout' },
    ])
    expect(await attemptsOf(scene, id)).toMatchObject([
      { attempt: 1, outcome: 'timed-out', error: { class: 'timeout' } },
      { attempt: 2, outcome: 'timed-out' },
    ])
  })

  test('an attempt past its timeout times out with any error, and a signal that is read late is already aborted', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await aborted(ctx)
      expect(ctx.signal.aborted).toBe(true)
      throw new Error('of its own')
    })
    const { id } = await scene.stint.enqueue(job, {}, { timeout: '20ms', attempts: 1 })
    await worker.hears('dead', id)
    expect(await attemptsOf(scene, id)).toMatchObject([
      {
        outcome: 'timed-out',
        error: { class: 'timeout', code: 'attempt-timeout', causes: [{ message: 'of its own' }] },
      },
    ])
  })

  test('the timeout of a job overrides the timeout of its contract', async () => {
    const job = defineJob({ kind: 'patient', queue: newName(), timeout: '1h' })
    const worker = await startFor(scene, job, async (_input, ctx) => {
      throw await aborted(ctx)
    })
    const { id } = await scene.stint.enqueue(job, {}, { timeout: '30ms', attempts: 1 })
    await worker.hears('dead', id)
    expect((await stored(scene, id)).error).toMatchObject({
      message: expect.stringContaining('timeout of 30 ms') as string,
    })
  })

  test('an attempt that finishes after its timeout succeeds', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await aborted(ctx)
      return 'in the end'
    })
    const { id } = await scene.stint.enqueue(job, {}, { timeout: '20ms' })
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: 'in the end', attempt: 1 })
  })
})

test('a job whose deadline has passed becomes a dead letter without running, with reason expired', async () => {
  const job = newJob()
  const late = await scene.stint.enqueue(job, 'late', { deadline: '1ms' })
  const early = await scene.stint.enqueue(job, 'early', { deadline: '1h' })
  const hasPassed = async (): Promise<boolean> => {
    const rows = await scene.db.query('select from stint.job where id = $1 and deadline_at < stint.now()', [
      late.id,
    ])
    return rows.length === 1
  }
  await eventually(hasPassed, 'the deadline has passed')
  const ran: unknown[] = []
  const worker = await startFor(scene, job, (input) => void ran.push(input))
  const { reason } = await worker.hears('dead', late.id)
  await worker.hears('succeeded', early.id)
  expect(reason).toBe('expired')
  expect(ran).toEqual(['early'])
  expect(worker.told('started').map(({ id }) => id)).toEqual([early.id])
  expect(await stored(scene, late.id)).toMatchObject({ state: 'dead', reason: 'expired' })
  expect(await attemptsOf(scene, late.id)).toMatchObject([{ outcome: 'expired' }])
})

describe('an attempt that is unusually slow', () => {
  function watched(): {
    watch: Deadlines
    start: (kind: string) => HeldJob
    slow: Promise<WorkerEvents['slow'][0]>
    told: WorkerEvents['slow'][0][]
  } {
    const held = new HeldJobs()
    const events = new Events(() => undefined)
    const report = new Report(events, silent)
    const told: WorkerEvents['slow'][0][] = []
    const slow = new Promise<WorkerEvents['slow'][0]>((resolve) => {
      events.on('slow', (fact) => {
        told.push(fact)
        resolve(fact)
      })
    })
    const watch = new Deadlines({
      held,
      graceMs: 60_000,
      report,
      giveUp: () => undefined,
      slow: { factor: 3, leastMs: 30 },
    })
    const start = (kind: string): HeldJob => {
      const one = claimedJob(kind)
      one.begin(undefined, 60_000)
      held.add(one)
      watch.started(one)
      return one
    }
    return { watch, start, slow, told }
  }

  test('an unusually slow attempt is reported once, with the usual duration of its kind', async () => {
    const { watch, start, slow, told } = watched()
    const quick = start('quick')
    for (let n = 0; n < 40; n++) watch.ended(quick, 20)
    quick.end()
    const sluggish = start('quick')
    const fact = await slow
    expect(fact).toMatchObject({ id: sluggish.job.id, kind: 'quick', usualMs: 20 })
    expect(fact.ranMs).toBeGreaterThanOrEqual(60)
    // The watch looks again for the next job; it does not report the first one twice.
    const another = start('quick')
    await eventually(() => Promise.resolve(told.some(({ id }) => id === another.job.id)), 'that it is told')
    expect(told.map(({ id }) => id)).toEqual([sluggish.job.id, another.job.id])
    watch.stop()
  })

  test('a slow attempt is not reported before there are enough durations to compare it with', async () => {
    const { watch, start, told } = watched()
    const quick = start('rare')
    for (let n = 0; n < 19; n++) watch.ended(quick, 1)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(told).toEqual([])
    watch.stop()
  })

  test('a slow attempt runs on until its timeout, even if that is years away', async () => {
    const { watch, start, slow } = watched()
    const quick = start('endless')
    for (let n = 0; n < 40; n++) watch.ended(quick, 1)
    quick.begin(undefined, 365 * 86_400_000)
    watch.started(quick)
    await slow
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(quick.abortedFor).toBeUndefined()
    watch.stop()
  })
})

function claimedJob(kind: string): HeldJob {
  const id = crypto.randomUUID()
  const place = { id, runAt: '2026-01-01 00:00:00', queue: 'q', priority: 0, key: null, version: 1 }
  const lease = { leaseId: crypto.randomUUID(), epoch: 1, attempt: 1, maxAttempts: 5 }
  const job = { ...place, ...lease, kind, input: null, more: null }
  return new HeldJob(job, { heldSince: performance.now(), workerId: crypto.randomUUID() })
}
