import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { createLedger } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'
import type { ProgramJob } from '../support/worker-process.ts'
import { attemptsOf, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

function options({ queue = '' }: ProgramJob): { connection: string; queues: Record<string, number> } {
  return { connection: scene.db.url, queues: { [queue]: 1 } }
}

test('a replayed dead letter is the same job, with new attempts and its history, and another worker runs it', async () => {
  const ledger = await createLedger()
  const job = { kind: 'again', queue: 'again', retry: { attempts: 2, backoff: ['10ms'] } }
  const first = await startWorker(ledger, { name: 'first', jobs: [job], options: options(job) })
  // Fails at its first three tries in one process, and succeeds at the next.
  const input = { act: 'fail', failure: 'unknown', times: 3 }
  const { id } = await scene.stint.enqueue(defineJob(job), input, { key: 'tenant-1', correlationId: 'r-9' })
  await ledger.wrote({ name: 'dead', job: id })
  first.signal('SIGTERM')
  await first.exited
  await startWorker(ledger, { name: 'second', jobs: [job], options: options(job) })

  // It fails its second set of attempts too; that set is as large as the first. The worker may count further attempts
  // before replay() answers, so the test checks only the limits.
  const replayed = await scene.stint.dead.replay(id)
  expect(replayed).toMatchObject({ id, attemptsBefore: 2, maxAttempts: 4 })
  await ledger.wrote({ name: 'dead', job: id, worker: 'second' })
  expect(await scene.stint.dead.replay(id)).toMatchObject({ id, attemptsBefore: 4, maxAttempts: 6 })
  await ledger.wrote({ name: 'succeeded', job: id, worker: 'second' })

  const starts = ledger.lines({ type: 'start', job: id })
  expect(starts.map(({ worker, attempt, epoch }) => ({ worker, attempt, epoch }))).toEqual([
    ...[1, 2].map((n) => ({ worker: 'first', attempt: n, epoch: n })),
    ...[3, 4, 5, 6].map((n) => ({ worker: 'second', attempt: n, epoch: n })),
  ])
  expect(await stored(scene, id)).toMatchObject({
    state: 'succeeded',
    attempt: 6,
    maxAttempts: 6,
    attemptsBefore: 4,
    result: { by: 'second' },
    input,
    key: 'tenant-1',
    correlationId: 'r-9',
  })
  const failed = { outcome: 'failed', error: { message: 'cannot read it' } }
  expect(await attemptsOf(scene, id)).toMatchObject(
    [1, 2, 3, 4, 5].map((n) => ({ attempt: n, epoch: n, ...failed })),
  )
  expect(await scene.stint.dead.get(id)).toBeUndefined()
})

test('a dead letter that is replayed with another input becomes a new job that names its origin, and runs', async () => {
  const ledger = await createLedger()
  const job = { kind: 'edited', queue: 'edited' }
  const contract = defineJob(job)
  await startWorker(ledger, { name: 'worker', jobs: [job], options: options(job) })
  const wrong = { act: 'fail', failure: 'permanent' }
  const { id } = await scene.stint.enqueue(contract, wrong, { correlationId: 'r-10', priority: 7 })
  await ledger.wrote({ name: 'dead', job: id })

  const input = { act: 'return', value: 'mended' }
  const edited = await scene.stint.dead.replay(id, { contract, input })
  expect(edited).toMatchObject({ attemptsBefore: 0, replaces: id })
  expect(edited.id).not.toBe(id)
  await ledger.wrote({ name: 'succeeded', job: edited.id })
  expect(ledger.lines({ type: 'start', job: edited.id }).map(({ attempt }) => attempt)).toEqual([1])
  expect(await stored(scene, edited.id)).toMatchObject({
    state: 'succeeded',
    result: 'mended',
    replaces: id,
    correlationId: 'r-10',
    priority: 7,
  })

  // The dead letter is unchanged, and can be replayed only once.
  expect(await stored(scene, id)).toMatchObject({ state: 'dead', input: wrong, replacedBy: edited.id })
  await expect(scene.stint.dead.replay(id)).rejects.toMatchObject({ code: 'state-changed' })
})
