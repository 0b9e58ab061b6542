import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker as Thread } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { leaseMemory } from '../../src/worker/lease/lease-memory.ts'
import type { LeaseThreadData, LeaseThreadOrder } from '../../src/worker/lease/lease-memory.ts'
import { createLedger } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'
import { eventually, newJob, startFor, workerScene } from '../support/workers.ts'

const scene = workerScene()

async function hasHeartbeat(): Promise<boolean> {
  const rows = await scene.db.query(`select from pg_stat_activity
    where datname = current_database() and application_name = 'stint heartbeat'`)
  return rows.length > 0
}

test('the heartbeat thread ends by itself when it is told to stop', async () => {
  const workerData: LeaseThreadData = {
    url: scene.db.url,
    schema: 'stint',
    workerId: randomUUID(),
    memory: leaseMemory(),
    leaseMs: 3_600_000,
    graceMs: 10_000,
    claims: '{}',
    skew: undefined,
  }
  const thread = new Thread(createRequire(import.meta.url).resolve('#dist/worker/lease/lease-thread'), {
    workerData,
  })
  onTestFinished(async () => {
    await thread.terminate()
  })
  await eventually(hasHeartbeat, 'its connection')
  thread.postMessage('stop' satisfies LeaseThreadOrder)
  expect(await once(thread, 'exit')).toEqual([0])
})

test('a worker that has stopped has no heartbeat thread left', async () => {
  const exits: number[] = []
  const watch = (thread: Thread): void => {
    thread.once('exit', (code) => exits.push(code))
  }
  process.on('worker', watch)
  onTestFinished(() => void process.off('worker', watch))
  const worker = await startFor(scene, newJob(), () => undefined)
  await eventually(hasHeartbeat, 'its connection')
  await worker.worker.stop()
  // It ends by itself, or is terminated if the machine was too busy.
  expect(exits).toHaveLength(1)
})

test('a heartbeat thread that loads its code slowly is not replaced', async () => {
  const ledger = await createLedger()
  const job = { kind: 'work', queue: 'slow-thread' }
  // As on an overloaded machine: for longer than a running thread may be silent.
  const slow = `import { isMainThread } from 'node:worker_threads'
    if (!isMainThread) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6000)`
  const worker = await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    execArgv: ['--import', `data:text/javascript,${encodeURIComponent(slow)}`],
    options: { connection: scene.db.url, lease: '1s', queues: { [job.queue]: 1 } },
  })
  await eventually(() => Promise.resolve(worker.output().includes('lease at risk')), 'that it is missed')
  const { id } = await scene.stint.enqueue(defineJob(job), {})
  await ledger.wrote({ name: 'succeeded', job: id })
  expect(worker.output()).not.toContain('it is replaced')
})

/** Lets the first heartbeat thread of a process, or each one, die or hang after it started and before it sends anything. */
function failingThread(what: 'dies' | 'hangs', which: 'first' | 'each'): string[] {
  const failure =
    what === 'dies'
      ? `throw new Error('the heart stops')`
      : `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`
  const program = `import { parentPort, threadId } from 'node:worker_threads'
    const tell = parentPort?.postMessage.bind(parentPort)
    if (tell && ${which === 'each' ? 'true' : 'threadId === 1'}) parentPort.postMessage = (message) => {
      tell(message)
      if (message.type === 'up') setImmediate(() => { ${failure} })
    }`
  return ['--import', `data:text/javascript,${encodeURIComponent(program)}`]
}

function leaseEnd(pid: number): Promise<{ until: number }[]> {
  return scene.db.query<{ until: number }>(
    `select extract(epoch from lease_until)::float8 as until from stint.worker where (about ->> 'pid')::integer = $1`,
    [pid],
  )
}

test('a heartbeat thread that dies is replaced, and running jobs go on', async () => {
  const ledger = await createLedger()
  const job = { kind: 'work', queue: 'dead-thread' }
  const worker = await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    execArgv: failingThread('dies', 'first'),
    options: { connection: scene.db.url, lease: '15s', queues: { [job.queue]: 1 } },
  })
  const { id } = await scene.stint.enqueue(defineJob(job), { act: 'hold' })
  await ledger.wrote({ type: 'start', job: id })
  await eventually(() => Promise.resolve(worker.output().includes('the heart stops')), 'its death')
  const [before] = await leaseEnd(worker.pid)
  const isRenewed = async (): Promise<boolean> => {
    const [now] = await leaseEnd(worker.pid)
    return (now?.until ?? 0) > (before?.until ?? Infinity)
  }
  await eventually(isRenewed, 'a heartbeat of another thread')
  worker.tell('go')
  await ledger.wrote({ name: 'succeeded', job: id })
  expect(ledger.lines({ type: 'start', job: id })).toHaveLength(1)
  expect(worker.output()).not.toContain('lease at risk')
})

test('a heartbeat thread that hangs is replaced, and the worker goes on', async () => {
  const ledger = await createLedger()
  const job = { kind: 'work', queue: 'hung-thread' }
  const worker = await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    execArgv: failingThread('hangs', 'first'),
    options: { connection: scene.db.url, lease: '2s', queues: { [job.queue]: 1 } },
  })
  for (const news of ['it is replaced', 'lease renewed'])
    await eventually(() => Promise.resolve(worker.output().includes(news)), news)
  const { id } = await scene.stint.enqueue(defineJob(job), {})
  await ledger.wrote({ name: 'succeeded', job: id })
})

test.each([
  ['dies', 'the heartbeat thread ended again and again'],
  ['hangs', 'the heartbeat thread came to no answer twice'],
] as const)('a process ends with an error when each heartbeat thread %s', async (what, why) => {
  const ledger = await createLedger()
  const job = { kind: 'work', queue: `each-${what}` }
  const worker = await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    execArgv: failingThread(what, 'each'),
    options: {
      connection: scene.db.url,
      lease: '6s',
      queues: { [job.queue]: 1 },
      health: { port: 0, host: '127.0.0.1' },
    },
  })
  const { healthPort } = await ledger.wrote({ name: 'ready' })
  // The handler ignores its signal, so the process ends slowly enough to be asked for its health.
  const { id } = await scene.stint.enqueue(defineJob(job), { act: 'hold' })
  await ledger.wrote({ type: 'start', job: id })
  const verdicts: unknown[] = []
  const exited = worker.exited.then((exit) => ({ exit }))
  for (let over: object | undefined; over === undefined;) {
    const answer = await fetch(`http://127.0.0.1:${String(healthPort)}/healthz`).catch(() => undefined)
    if (answer?.status === 503) verdicts.push(await answer.json())
    over = await Promise.race([exited, pause(20, undefined)])
  }
  expect(await worker.exited).toEqual({ code: 1, signal: null })
  expect(ledger.lines({ type: 'fatal' })).toMatchObject([{ message: `Nothing renews the lease: ${why}.` }])
  expect(verdicts[0]).toMatchObject({
    problems: [expect.stringMatching(/^its lease was last renewed \d+ ms ago$/)],
  })
  // The job was given back: it is not to blame.
  expect(await scene.stint.get(id)).toMatchObject({ state: 'ready', attempt: 0, crashes: 0 })
})
