import { expect, test } from 'vitest'
import { startOperationsWorker } from '../../src/worker/operations-worker.ts'
import { movableClock } from '../support/clock.ts'
import { bury } from '../support/dead-letters.ts'
import { eventually } from '../support/eventually.ts'
import { newJob, startFor, workerScene } from '../support/workers.ts'

const scene = workerScene()

test('a canary that ends while its operation is paused counts as ended, however long ago that was', async () => {
  const clock = await movableClock(scene.db)
  const contract = newJob()
  const { jobs } = await scene.stint.enqueueMany(contract, [1, 2, 3, 4, 5])
  for (const { id } of jobs) await bury(scene.db, id)
  const where = `queue:${contract.queue}`
  const { id } = await scene.stint.operations.start({ action: 'replay', where, canary: 2, reason: 'fixed' })
  const isAt = async (expected: object): Promise<void> => {
    const executor = await startOperationsWorker({ connection: scene.db.url, undecidedMs: 1 })
    try {
      await eventually(async () => {
        expect(await scene.stint.operations.get(id)).toMatchObject(expected)
      })
    } finally {
      await executor.stop()
    }
  }
  await isAt({ state: 'paused', acted: 2 })
  const own = await startFor(scene, contract, () => undefined)
  await own.tells('succeeded', () => true, 2)
  await own.worker.stop()
  await clock.advance('3 hours')
  await scene.stint.operations.resume(id)
  await isAt({ state: 'done', acted: 5, canaryResult: { decided: 2, succeeded: 2 } })
})
