import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { Worker } from '../../src/worker.ts'
import type { IsolateMode, IsolateOptions, WorkerOptions } from '../../src/worker.ts'
import { createLedger } from '../support/ledger.ts'
import { optionsOfLane } from '../support/way.ts'
import {
  attemptsOf,
  eventually,
  newName,
  startWorker,
  stored,
  takeLease,
  TestWorker,
  workerScene,
} from '../support/workers.ts'

const scene = workerScene()
const entry = join(import.meta.dirname, 'programs/acting.mjs')

beforeAll(() => scene.db.query('create table effect (job_id uuid)'))

interface Isolated {
  worker: TestWorker
  job: JobContract
  /** Enqueues a job whose handler does this act. */
  send: (act: string, more?: object, options?: object) => Promise<string>
}

/** A worker whose `act` handler runs only in children, until the test is finished. */
async function isolated(
  isolate: IsolateMode | IsolateOptions,
  { children, ...options }: WorkerOptions = {},
): Promise<Isolated> {
  const job = newAct()
  const all = { queues: { [job.queue]: 4 }, children: { entry, ...children }, ...options }
  return acting(job, await startWorker(scene, all, (worker) => worker.handle(job, inTheWorker, { isolate })))
}

/** A worker that all tests of a group share, because its children are warm. */
function shared(isolate: IsolateMode): { get: () => Isolated } {
  let one: Isolated | undefined
  beforeAll(async () => {
    const job = newAct()
    const options = { connection: scene.db.url, log: false, pollFloor: '200ms' } as const
    const all = { ...optionsOfLane(options), ...options }
    const worker = new Worker({ ...all, queues: { [job.queue]: 4 }, children: { entry } })
    one = acting(job, new TestWorker(worker.handle(job, inTheWorker, { isolate })))
    await worker.start()
  })
  afterAll(() => one?.worker.worker.stop({ drain: 0 }))
  return {
    get: () => {
      if (one === undefined) throw new Error('There is no worker yet')
      return one
    },
  }
}

function newAct(): JobContract {
  return defineJob({ kind: 'act', queue: newName('act'), timeout: '1m', retry: { backoff: () => 1 } })
}

function inTheWorker(): never {
  throw new Error('It ran in the worker')
}

function acting(job: JobContract, worker: TestWorker): Isolated {
  const send = async (act: string, more = {}, options = {}): Promise<string> => {
    const { id } = await scene.stint.enqueue(job, { act, ...more }, options)
    return id
  }
  return { worker, job, send }
}

interface Whereabouts {
  pid: number
  threadId: number
  child: string
  jobId: string
  current: string
}

async function resultOf({ worker }: Isolated, id: string): Promise<unknown> {
  await worker.hears('succeeded', id)
  return (await stored(scene, id)).result
}

/** Runs a job to its end and returns where it ran. */
async function whereabouts(one: Isolated): Promise<Whereabouts> {
  return (await resultOf(one, await one.send('return'))) as Whereabouts
}

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

test('a job whose handler kills its process three times is quarantined', async () => {
  const one = await isolated('process')
  const stories = { abort: 'killed by SIGABRT', segfault: 'killed by SIGSEGV' }
  const ids = await Promise.all(Object.keys(stories).map((act) => one.send(act)))
  for (const [index, story] of Object.values(stories).entries()) {
    const id = ids[index] ?? ''
    await one.worker.hears('dead', id)
    expect(await stored(scene, id)).toMatchObject({
      state: 'dead',
      reason: 'quarantined',
      error: { class: 'crash', code: 'job-crashed', message: expect.stringContaining(story) as string },
    })
    const attempts = await attemptsOf(scene, id)
    expect(attempts.map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ...[['crashed', 1] as const, ['crashed', 1] as const, ['crashed', 1] as const],
    ])
    expect(attempts[0]?.reason).toMatch(/, with \d+ MB of memory$/)
    const [row] = await scene.db.query('select crashes from stint.dead where id = $1', [id])
    expect(row).toEqual({ crashes: 3 })
  }
})

test('an isolated handler whose lease is lost is killed before another worker can run the job', async () => {
  const one = await isolated('process', { lease: '2s', sweepEvery: '100ms' })
  const { pid } = await whereabouts(one)
  const id = await one.send('busy')
  await one.worker.hears('started', id)
  await takeLease(scene, id)
  await one.worker.hears('leaseLost', id)
  expect(isAlive(pid)).toBe(false)
  // This worker is the only one that can claim the job again.
  await one.worker.hears('started', id, 2)
})

test('a child that ends before a job began in it is not counted as a crash of the job', async () => {
  const one = await isolated('process')
  const { pid } = await whereabouts(one)
  process.kill(pid, 'SIGKILL')
  const after = await whereabouts(one)
  expect(after.pid).not.toBe(pid)
  expect((await attemptsOf(scene, after.jobId)).filter(({ outcome }) => outcome === 'crashed')).toEqual([])
})

test('a child ignores the signals that are meant for its worker', async () => {
  const one = await isolated('process')
  const { pid } = await whereabouts(one)
  process.kill(pid, 'SIGTERM')
  process.kill(pid, 'SIGINT')
  expect((await whereabouts(one)).pid).toBe(pid)
})

test('an entry file that no longer loads costs no attempt', async () => {
  const file = join(import.meta.dirname, `programs/${newName('vanishing')}.mjs`)
  await writeFile(file, "export { worker } from './acting.mjs'")
  onTestFinished(() => rm(file, { force: true }))
  const one = await isolated({ in: 'process', maxJobs: 1 }, { children: { entry: file } })
  await whereabouts(one)
  await rm(file)
  const id = await one.send('return')
  const { error, delayMs } = await one.worker.hears('failed', id)
  expect(error).toMatchObject({ code: 'isolation-failed' })
  expect(delayMs).toBeGreaterThanOrEqual(10_000)
  expect(await stored(scene, id)).toMatchObject({ state: 'retrying', attempt: 0 })
})

test('a job that crashed a thread runs in its own process from then on', async () => {
  const one = await isolated('thread')
  const { pid } = await whereabouts(one)
  expect(pid).toBe(process.pid)
  const id = await one.send('until', { epoch: 3 })
  const own = Number(await resultOf(one, id))
  expect(own).not.toBe(process.pid)
  expect((await attemptsOf(scene, id)).map(({ outcome }) => outcome)).toEqual(['crashed', 'crashed'])
  await eventually(() => Promise.resolve(!isAlive(own)), 'that process is gone')
})

test('a worker that stops gives back the jobs in its children and leaves no child behind', async () => {
  const others = new Set(await childrenOf(process.pid))
  const one = await isolated('process', { stuck: { grace: '10s' } })
  const { pid: warm } = await whereabouts(one)
  const ids = [await one.send('ignore'), await one.send('busy'), await one.send('obey')]
  for (const id of ids) await one.worker.hears('started', id)
  const pids = (await childrenOf(process.pid)).filter((pid) => !others.has(pid))
  expect(pids).toContain(warm)
  await one.worker.worker.stop({ drain: '100ms' })
  expect(pids.filter(isAlive)).toEqual([])
  for (const id of ids) {
    expect(await stored(scene, id)).toMatchObject({ state: 'ready', attempt: 0 })
    expect(await attemptsOf(scene, id)).toMatchObject([{ outcome: 'released' }])
  }
})

test('a killed handler takes the processes that it started with it', async () => {
  const ledger = await createLedger()
  const one = await isolated('process', { stuck: { grace: '50ms' } })
  const id = await one.send('spawn', { ledger: ledger.file })
  const pid = Number((await ledger.wrote({ type: 'spawned' })).pid)
  expect(isAlive(pid)).toBe(true)
  await scene.stint.cancel(id)
  await one.worker.hears('cancelled', id)
  await eventually(() => Promise.resolve(!isAlive(pid)), 'that process is gone')
})

test('jobs beyond the number of children wait for a child, and their timeout does not run meanwhile', async () => {
  const one = await isolated('process', { children: { max: 1 } })
  await whereabouts(one)
  const first = await one.send('obey', {}, { timeout: '700ms', attempts: 1 })
  await one.worker.hears('started', first)
  const second = await one.send('obey', {}, { timeout: '700ms', attempts: 1 })
  await one.worker.hears('started', second)
  const facts = [await one.worker.hears('dead', first), await one.worker.hears('dead', second)]
  for (const { ranMs } of facts) expect(ranMs).toBeGreaterThanOrEqual(690)
  expect((await attemptsOf(scene, second)).map(({ outcome }) => outcome)).toEqual(['timed-out'])
})

test('a handler without isolation runs in the process of the worker', async () => {
  const job = defineJob({ kind: 'beside', queue: newName() })
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 }, children: { entry } }, (one) =>
    one.handle(job, () => process.pid),
  )
  const { id } = await scene.stint.enqueue(job, {})
  await worker.hears('succeeded', id)
  expect((await stored(scene, id)).result).toBe(process.pid)
})

test('a suspect job of a kind without isolation runs in a child if an entry exists', async () => {
  const job = defineJob({ kind: 'act', queue: newName(), retry: { backoff: () => 1 } })
  const { id } = await scene.stint.enqueue(job, { act: 'return' })
  await scene.db.query('update stint.job set crashes = 1 where id = $1', [id])
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 }, children: { entry } }, (one) =>
    one.handle(job, () => 'beside'),
  )
  await worker.hears('succeeded', id)
  expect((await stored(scene, id)).result).toMatchObject({ child: 'process' })
})

test('a suspect job of a kind without isolation runs in the worker if the entry does not load', async () => {
  const job = defineJob({ kind: 'act', queue: newName(), retry: { backoff: () => 1 } })
  const { id } = await scene.stint.enqueue(job, { act: 'return' })
  await scene.db.query('update stint.job set crashes = 1 where id = $1', [id])
  const options = { queues: { [job.queue]: 1 }, children: { entry: '/no/such/file.mjs' } }
  const worker = await startWorker(scene, options, (one) => one.handle(job, () => 'beside'))
  await worker.hears('succeeded', id)
  expect((await stored(scene, id)).result).toBe('beside')
})

/** The child processes of a process, as listed by the kernel. */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return text.trim().split(' ').map(Number)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
