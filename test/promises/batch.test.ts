import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { createLedger } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'
import { attemptsOf, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

test('jobs handled in one batch call each end in their own way, with middleware around each', async () => {
  const ledger = await createLedger()
  const job = { kind: 'together', queue: 'together', retry: { backoff: ['20ms'] } }
  const contract = defineJob(job)
  const inputs = {
    fine: { act: 'return', value: { mails: 1 } },
    flaky: { act: 'fail', failure: 'unknown', times: 1 },
    hopeless: { act: 'fail', failure: 'permanent' },
    early: { act: 'fail', failure: 'snooze' },
    unwanted: { act: 'fail', failure: 'cancel' },
    'answered by inner': {},
  }
  // Enqueued before the worker starts, so that one claim can take them together.
  const names = Object.keys(inputs)
  const { jobs } = await scene.stint.enqueueMany(contract, Object.values(inputs), {
    each: (_input, index) => ({ correlationId: names[index] }),
  })
  const [fine = '', flaky = '', hopeless = '', early = '', unwanted = '', answered = ''] = jobs.map(
    ({ id }) => id,
  )
  await startWorker(ledger, {
    name: 'worker',
    jobs: [{ ...job, batch: 10 }],
    middleware: ['outer', 'inner'],
    options: { connection: scene.db.url, queues: { [job.queue]: 1 } },
  })
  for (const [name, id] of [
    ...[['succeeded', fine] as const, ['failed', flaky] as const, ['dead', hopeless] as const],
    ...[['snoozed', early] as const, ['cancelled', unwanted] as const, ['succeeded', answered] as const],
    ['succeeded', flaky] as const,
  ])
    await ledger.wrote({ type: 'event', name, job: id })

  // One call for all jobs that middleware let through; the failed job is handled again alone.
  expect(ledger.lines({ type: 'batch' }).map((line) => line['jobs'])).toEqual([
    [fine, flaky, hopeless, early, unwanted],
    [flaky],
  ])
  for (const { id } of jobs) {
    const layers = ledger
      .lines(({ type, job: of, attempt }) => /enter|leave/.test(type) && of === id && attempt === 1)
      .map(({ type, layer }) => `${type} ${String(layer)}`)
    expect(layers).toEqual(['enter outer', 'enter inner', 'leave inner', 'leave outer'])
  }
  expect((await stored(scene, fine)).result).toEqual({ outer: { inner: { mails: 1 } } })
  expect((await stored(scene, flaky)).result).toEqual({ outer: { inner: { by: 'worker' } } })
  expect((await stored(scene, answered)).result).toEqual({ outer: { by: 'inner' } })
  expect(await stored(scene, hopeless)).toMatchObject({ state: 'dead', reason: 'permanent', attempt: 1 })
  expect(await stored(scene, early)).toMatchObject({ state: 'scheduled', attempt: 0 })
  expect(await stored(scene, unwanted)).toMatchObject({ state: 'cancelled', reason: 'not needed any more' })

  // Only the failed job has a record of the failure.
  const outcomes = async (id: string): Promise<string[]> =>
    (await attemptsOf(scene, id)).map(({ outcome }) => outcome)
  expect(await outcomes(flaky)).toEqual(['failed'])
  for (const id of [fine, answered]) expect(await outcomes(id)).toEqual([])
})
