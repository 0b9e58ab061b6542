import type { Worker as Thread } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
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
