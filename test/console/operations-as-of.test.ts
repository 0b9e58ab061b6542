import { beforeAll, expect, test } from 'vitest'
import { startOperationsWorker } from '../../src/worker/operations-worker.ts'
import { movableClock } from '../support/clock.ts'
import type { TestClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { newJob, workerScene } from '../support/workers.ts'

const scene = workerScene()
let clock: TestClock
beforeAll(async () => {
  clock = await movableClock(scene.db)
})

test('an operation takes jobs stored in the same millisecond as its start, and none stored later', async () => {
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

test('an operation started from a preview takes the jobs of the preview, and later jobs do not make it refuse', async () => {
  await clock.stopAt('2026-11-05 13:00:00.123456Z')
  const contract = newJob()
  await scene.stint.enqueueMany(contract, [{}, {}], { delay: '1h' })
  const where = `queue:${contract.queue}`
  const { asOf, matched } = await scene.stint.operations.preview({ action: 'run-now', where })
  await clock.stopAt('2026-11-05 13:05:00Z')
  await scene.stint.enqueue(contract, {}, { delay: '1h' })
  const request = { action: 'run-now', where, max: matched.count, reason: 'soon' } as const
  await expect(scene.stint.operations.start(request)).rejects.toMatchObject({ code: 'too-many-matches' })
  const { id } = await scene.stint.operations.start({ ...request, asOf })
  const worker = await startOperationsWorker({ connection: scene.db.url })
  try {
    await eventually(async () => {
      expect(await scene.stint.operations.get(id)).toMatchObject({
        state: 'done',
        matched: 2,
        acted: 2,
        frozenAt: asOf,
      })
    })
  } finally {
    await worker.stop()
  }
})
