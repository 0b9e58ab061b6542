import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { createLedger, monotonicMs } from '../support/ledger.ts'
import { logOf, startWorker } from '../support/worker-process.ts'
import { workerScene } from '../support/workers.ts'

const scene = workerScene()

test('a job that runs far longer than usual for its kind is reported once, by an event and a log line', async () => {
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
  // Enough jobs of the kind to know its usual duration.
  await scene.stint.enqueueMany(defineJob(usual), Array(40).fill({ act: 'sleep', ms: 5 }))
  await ledger.wroteMany({ name: 'succeeded' }, 40)
  const { id: unknown } = await scene.stint.enqueue(defineJob(rare), { act: 'hold' })
  // The duration counts from before the first line of the handler; how long before depends on the machine.
  const storedAt = monotonicMs()
  const { id } = await scene.stint.enqueue(defineJob(usual), { act: 'hold' })
  const slow = await ledger.wrote({ name: 'slow' })
  expect(slow).toMatchObject({ job: id, said: { kind: 'usual', attempt: 1 } })
  expect(slow.at - storedAt).toBeGreaterThanOrEqual(10_000)
  const { usualMs, ranMs } = slow.said as { usualMs: number; ranMs: number }
  expect(ranMs).toBeGreaterThanOrEqual(Math.max(10_000, 3 * usualMs))

  // The watch looks at running jobs again when another job times out.
  const timed = await scene.stint.enqueue(defineJob(brief), { act: 'fail', failure: 'timeout' })
  await ledger.wrote({ name: 'failed', job: timed.id })
  worker.tell('go')
  await ledger.wroteMany(({ name, job }) => name === 'succeeded' && (job === id || job === unknown), 2)
  expect(ledger.lines({ name: 'slow' })).toHaveLength(1)
  expect(logOf(worker).filter(({ msg }) => msg.startsWith('slow'))).toEqual([
    expect.objectContaining({ level: 40, id, kind: 'usual', attempt: 1, ranMs, usualMs }),
  ])
})
