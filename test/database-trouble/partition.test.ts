import { expect, test } from 'vitest'
import { movableClock } from '../support/clock.ts'
import { newJob, startFor, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

test('the first settle on a day without a partition creates the partition', async () => {
  const clock = await movableClock(scene.db)
  const job = newJob('partition')
  const worker = await startFor(scene, job, (input) => {
    if (input === 'fail') throw new Error('on purpose')
    return input
  })
  // Past all partitions that exist, as after a long time without upkeep.
  await clock.advance('400 days')
  const fine = await scene.stint.enqueue(job, 'fine')
  await worker.hears('succeeded', fine.id)
  const bad = await scene.stint.enqueue(job, 'fail', { attempts: 1 })
  await worker.hears('dead', bad.id)
  expect(await stored(scene, fine.id)).toMatchObject({ state: 'succeeded', attempt: 1, result: 'fine' })
  expect(await stored(scene, bad.id)).toMatchObject({ state: 'dead', attempt: 1 })
})
