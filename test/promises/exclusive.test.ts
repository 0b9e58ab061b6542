import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createLedger } from '../support/ledger.ts'
import type { Line } from '../support/ledger.ts'
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

test('four workers on one queue run 2,000 jobs, each of them once', async () => {
  const ledger = await createLedger()
  const job = { kind: 'work', queue: 'shared' }
  const names = ['a', 'b', 'c', 'd']
  const workers = await Promise.all(
    names.map((name) =>
      startWorker(ledger, {
        name,
        jobs: [job],
        isTerse: true,
        options: { connection: db.url, queues: { shared: 5 } },
      }),
    ),
  )
  // One job for every slot: when all of them have started, all workers are running jobs.
  const slots = Array.from({ length: 5 * names.length }, () => ({ act: 'hold' }))
  await stint.enqueueMany(defineJob(job), slots)
  await ledger.wroteMany({ type: 'start' }, slots.length)
  const count = 2_000
  const inputs = Array.from({ length: count }, (_, n) => ({ n, act: 'sleep', ms: n % 4 }))
  // With and without keys, because different statements claim them.
  const keyed = { each: (_: unknown, n: number) => (n % 2 === 0 ? {} : { key: `tenant-${n % 7}` }) }
  await stint.enqueueMany(defineJob(job), inputs, keyed)
  for (const worker of workers) worker.tell('go')
  const all = count + slots.length
  await ledger.wroteMany({ type: 'end' }, all)

  const runs = new Map<string, Line[]>()
  for (const line of ledger.lines(({ type }) => type === 'start' || type === 'end'))
    runs.set(line.job as string, [...(runs.get(line.job as string) ?? []), line])
  expect(runs.size).toBe(all)
  const odd = [...runs.values()].filter((lines) => lines.map(({ type }) => type).join() !== 'start,end')
  expect(odd).toEqual([])
  expect(new Set(ledger.lines({ type: 'start' }).map(({ worker }) => worker))).toEqual(new Set(names))
  await eventually(async () => {
    const rows = await db.query(
      `select place, state, attempt, crashes, count(*)::integer as jobs from stint.jobs group by 1, 2, 3, 4`,
    )
    expect(rows).toEqual([{ place: 'finished', state: 'succeeded', attempt: 1, crashes: 0, jobs: all }])
  })
})
