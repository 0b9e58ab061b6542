import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { createLedger, monotonicMs } from '../support/ledger.ts'
import { logOf, startWorker } from '../support/worker-process.ts'
import { workerScene } from '../support/workers.ts'

const scene = workerScene()

test('a job that runs far longer than its kind usually does is told of once, by an event and a line of log', async () => {
  const ledger = await createLedger()
  const queue = 'slow'
  const usual = { kind: 'usual', queue, timeout: '10m' }
  const rare = { kind: 'rare', queue, timeout: '10m' }
  const brief = { kind: 'brief', queue, timeout: '100ms' }
  const worker = await startWorker(ledger, {
    name: 'worker',
    jobs: [usual, rare, brief],
    options: { connection: scene.db.url, queues: { [queue]: 10 } },
  })
  // Enough of a kind to know what is usual.
  await scene.stint.enqueueMany(defineJob(usual), Array(40).fill({ act: 'sleep', ms: 5 }))
  await ledger.wroteMany({ name: 'succeeded' }, 40)
  const { id: unknown } = await scene.stint.enqueue(defineJob(rare), { act: 'hold' })
  // Its time runs from before its handler writes its first line: how long before is the machine's business.
  const storedAt = monotonicMs()
  const { id } = await scene.stint.enqueue(defineJob(usual), { act: 'hold' })
  const slow = await ledger.wrote({ name: 'slow' })
  expect(slow).toMatchObject({ job: id, said: { kind: 'usual', attempt: 1 } })
  expect(slow.at - storedAt).toBeGreaterThanOrEqual(10_000)
  const { usualMs, ranMs } = slow.said as { usualMs: number; ranMs: number }
  expect(ranMs).toBeGreaterThanOrEqual(Math.max(10_000, 3 * usualMs))

  // What runs is looked at again when another's time is up.
  const timed = await scene.stint.enqueue(defineJob(brief), { act: 'fail', failure: 'timeout' })
  await ledger.wrote({ name: 'failed', job: timed.id })
  worker.tell('go')
  await ledger.wroteMany(({ name, job }) => name === 'succeeded' && (job === id || job === unknown), 2)
  expect(ledger.lines({ name: 'slow' })).toHaveLength(1)
  expect(logOf(worker).filter(({ msg }) => msg.startsWith('slow'))).toEqual([
    expect.objectContaining({ level: 40, id, kind: 'usual', attempt: 1, ranMs, usualMs }),
  ])
})
