import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { form } from '../support/form.ts'
import { createLedger } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

const job = { kind: 'work' }

async function enqueue(queue: string, count: number, input: object): Promise<void> {
  await stint.enqueueMany(
    defineJob(job),
    Array.from({ length: count }, (_, n) => ({ n, ...input })),
    { queue },
  )
}

/** By how much the share of a queue may differ from its weight. */
const tolerance = 0.1

// Quick jobs are prefetched by the dozen. Of long jobs fewer are prefetched than slots become free at once, because
// jobs that begin together end together.
const quick = { pace: 'quick', ms: 5, concurrency: 10, started: 6_000 }
const slower = [
  { pace: 'slow', ms: 60, concurrency: 20, started: 3_000 },
  { pace: 'long', ms: 200, concurrency: 20, started: 2_000 },
]
test.each(form === 'short' ? [quick] : [quick, ...slower])(
  'queues with weights 6:3:1 get their shares within 10 % under load, in two processes, with $pace jobs',
  async ({ pace, ms, concurrency, started }) => {
    const ledger = await createLedger()
    const weights = [
      [`${pace}-six`, 6],
      [`${pace}-three`, 3],
      [`${pace}-one`, 1],
    ] as const
    // More jobs than the share of each queue, so that no queue runs out of work.
    for (const [queue, weight] of weights)
      await enqueue(queue, (started * (weight + 2)) / 10, { act: 'sleep', ms })
    const options = {
      connection: db.url,
      concurrency,
      queues: Object.fromEntries(weights.map(([queue, weight]) => [queue, { weight, concurrency }])),
    }
    await Promise.all(
      ['first', 'second'].map((name) => startWorker(ledger, { name, jobs: [job], isTerse: true, options })),
    )
    // Counted from the first start: a queue that was ahead because the others had no jobs yet gets less afterwards.
    const starts = await ledger.wroteMany({ type: 'start' }, started)
    for (const [queue, weight] of weights) {
      const share = starts.filter((start) => start.queue === queue).length / starts.length
      expect(share, queue).toBeGreaterThan(((1 - tolerance) * weight) / 10)
      expect(share, queue).toBeLessThan(((1 + tolerance) * weight) / 10)
    }
  },
)

test('a queue gets all slots while the other queues are empty', async () => {
  const ledger = await createLedger()
  await enqueue('lonely', 60, { act: 'hold' })
  await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    options: {
      connection: db.url,
      concurrency: 20,
      queues: { lonely: 30, nothing: { weight: 9, concurrency: 30 } },
    },
  })
  await ledger.wroteMany({ type: 'start', queue: 'lonely' }, 20)
  expect(ledger.lines({ type: 'start' })).toHaveLength(20)
})

test('in strict order, no job of a lower queue starts while a higher queue has jobs', async () => {
  const ledger = await createLedger()
  await enqueue('low', 300, { act: 'sleep', ms: 5 })
  await enqueue('middle', 100, { act: 'sleep', ms: 5 })
  await enqueue('high', 100, { act: 'sleep', ms: 5 })
  const concurrency = 4
  await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    isTerse: true,
    // Without polls: a lower queue must get its turn as soon as the higher ones are empty.
    options: {
      connection: db.url,
      order: 'strict',
      concurrency,
      pollFloor: '60s',
      queues: { high: 10, middle: 10, low: 10 },
    },
  })
  const starts = await ledger.wroteMany({ type: 'start' }, 220)
  const order = starts.map(({ queue }) => queue)
  expect(order.slice(0, 100)).toEqual(Array(100).fill('high'))
  expect(order.slice(100, 200)).toEqual(Array(100).fill('middle'))

  // While the lowest queue runs, more jobs come to the highest: only jobs of the lowest that were already claimed may start.
  await enqueue('high', 100, { act: 'sleep', ms: 5, isLater: true })
  await ledger.wroteMany({ type: 'start', queue: 'high' }, 200)
  const all = ledger.lines({ type: 'start' }).map(({ queue }) => queue)
  const meanwhile = all.slice(all.indexOf('high', 200), all.lastIndexOf('high'))
  expect(meanwhile.filter((queue) => queue === 'low').length).toBeLessThanOrEqual(concurrency)
})

test('a key with many jobs does not delay the other keys of its queue', async () => {
  const ledger = await createLedger()
  const input = { act: 'sleep', ms: 5 }
  const many = Array.from({ length: 600 }, (_, n) => ({ n, ...input }))
  await stint.enqueueMany(defineJob(job), many, { queue: 'keys', key: 'a' })
  await startWorker(ledger, {
    name: 'worker',
    jobs: [job],
    isTerse: true,
    options: { connection: db.url, queues: { keys: { concurrency: 4, prefetch: 0 } } },
  })
  await ledger.wroteMany({ type: 'start' }, 100)
  const others = Array.from({ length: 20 }, (_, n) => ({ n: 1_000 + n, ...input }))
  const each = (_input: unknown, index: number): { key: string } => ({ key: `b${1_000 + index}` })
  await stint.enqueueMany(defineJob(job), others, { queue: 'keys', each })
  const before = ledger.lines({ type: 'start' }).length
  const isOther = (n = 0) => n >= 1_000
  await ledger.wroteMany(({ type, n }) => type === 'start' && isOther(n), others.length)
  const starts = ledger.lines({ type: 'start' }).slice(before)
  const last = starts.findLastIndex(({ n }) => isOther(n))
  // Keys take turns with a few jobs of the busy key in between: far fewer than all its jobs.
  expect(starts.slice(0, last).filter(({ n }) => !isOther(n)).length).toBeLessThan(150)
})

test('a job that waits in a busy worker is left to an idle worker', async () => {
  const ledger = await createLedger()
  await startWorker(ledger, {
    name: 'busy',
    jobs: [job],
    options: { connection: db.url, concurrency: 1, queues: { first: 1, second: 1 } },
  })
  const holding = await stint.enqueue(defineJob(job), { act: 'hold' }, { queue: 'first' })
  await ledger.wrote({ type: 'start', job: holding.id })
  // The worker claims the job so that its queue has a turn when the slot is free, but the slot stays taken.
  const { id } = await stint.enqueue(defineJob(job), {}, { queue: 'second' })
  await ledger.wrote({ name: 'released', job: id })
  // The idle worker runs the job. The busy one does not claim it again and again.
  await startWorker(ledger, {
    name: 'idle',
    jobs: [job],
    options: { connection: db.url, queues: { second: 1 } },
  })
  await ledger.wrote({ name: 'succeeded', job: id, worker: 'idle' })
  const outcomes = await db.query('select outcome from stint.attempt where job_id = $1', [id])
  expect(outcomes).toEqual([{ outcome: 'released' }])
})
