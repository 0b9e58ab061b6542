import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { Worker as Thread } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../../src/entry/index.ts'
import { leaseMemory } from '../../src/worker/lease-memory.ts'
import type { LeaseThreadData, LeaseThreadOrder } from '../../src/worker/lease-memory.ts'
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
    ...{ url: scene.db.url, schema: 'stint', workerId: randomUUID(), memory: leaseMemory() },
    ...{ leaseMs: 3_600_000, graceMs: 10_000, skew: undefined },
  }
  const thread = new Thread(createRequire(import.meta.url).resolve('#dist/worker/lease-thread'), {
    workerData,
  })
  onTestFinished(async () => {
    await thread.terminate()
  })
  await eventually(hasHeartbeat, 'its connection')
  thread.postMessage('stop' satisfies LeaseThreadOrder)
  expect(await once(thread, 'exit')).toEqual([0])
})

test('the heartbeat thread of a worker that stops has ended', async () => {
  const exits: number[] = []
  const watch = (thread: Thread): void => {
    thread.once('exit', (code) => exits.push(code))
  }
  process.on('worker', watch)
  onTestFinished(() => void process.off('worker', watch))
  const worker = await startFor(scene, newJob(), () => undefined)
  await eventually(hasHeartbeat, 'its connection')
  await worker.worker.stop()
  // By itself, or by force where the machine was too busy for it.
  expect(exits).toHaveLength(1)
})

test('a heartbeat thread that takes long to load its code is waited for', async () => {
  const ledger = await createLedger()
  const job = { kind: 'work', queue: 'slow-thread' }
  // As on a machine that has no time for it: for longer than a thread that is up may keep silent.
  const slow = `import { isMainThread } from 'node:worker_threads'
    if (!isMainThread) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6000)`
  const worker = await startWorker(ledger, {
    ...{
      name: 'worker',
      jobs: [job],
      execArgv: ['--import', `data:text/javascript,${encodeURIComponent(slow)}`],
    },
    options: { connection: scene.db.url, lease: '1s', queues: { [job.queue]: 1 } },
  })
  await eventually(() => Promise.resolve(worker.output().includes('lease at risk')), 'that it is missed')
  const { id } = await scene.stint.enqueue(defineJob(job), {})
  await ledger.wrote({ name: 'succeeded', job: id })
  expect(worker.output()).not.toContain('it is replaced')
})
