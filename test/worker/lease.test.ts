import type { Worker as Thread } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../../src/entry/index.ts'
import { createLedger } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'
import { eventually, newJob, startFor, workerScene } from '../support/workers.ts'

const scene = workerScene()

test('the heartbeat thread of a worker that stops ends by itself, and is not waited for in vain', async () => {
  const exits: number[] = []
  const watch = (thread: Thread): void => {
    thread.once('exit', (code) => exits.push(code))
  }
  process.on('worker', watch)
  onTestFinished(() => void process.off('worker', watch))
  const beats = () =>
    scene.db.query(`select 1 from pg_stat_activity
      where datname = current_database() and application_name = 'stint heartbeat'`)
  // On a machine that is too busy for one of them it is ended by force.
  for (let time = 1; time <= 5 && !exits.includes(0); time++) {
    const worker = await startFor(scene, newJob(), () => undefined)
    await eventually(async () => (await beats()).length > 0, 'its connection')
    await worker.worker.stop()
    expect(exits).toHaveLength(time)
  }
  expect(exits).toContain(0)
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
