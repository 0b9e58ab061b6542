import { expect, test } from 'vitest'
import { startOperationsWorker } from '../../src/console-worker/operations-worker.ts'
import { movableClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { newJob, workerScene } from '../support/workers.ts'

const scene = workerScene()

test('an operation takes what was stored in the very millisecond that it is asked for in, and nothing later', async () => {
  const clock = await movableClock(scene.db)
  await clock.stopAt('2026-11-05 12:00:00.123456Z')
  const contract = newJob()
  await scene.stint.enqueueMany(contract, [{}, {}], { delay: '1h' })
  const where = `queue:${contract.queue}`
  expect(await scene.stint.operations.preview({ action: 'run-now', where })).toMatchObject({
    matched: { count: 2, isExact: true },
  })
  const { id } = await scene.stint.operations.start({ action: 'run-now', where, reason: 'soon' })
  await clock.stopAt('2026-11-05 12:00:00.124789Z')
  await scene.stint.enqueue(contract, {}, { delay: '1h' })
  const worker = await startOperationsWorker({ connection: scene.db.url })
  try {
    await eventually(async () => {
      expect(await scene.stint.operations.get(id)).toMatchObject({ state: 'done', matched: 2, acted: 2 })
    })
  } finally {
    await worker.stop()
  }
})
