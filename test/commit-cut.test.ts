import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { startFaultProxy } from './support/fault-proxy.ts'
import { isOutOf } from './support/lane.ts'

const charge = defineJob({ kind: 'card.charge', queue: 'billing' })

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

async function storedBy(queue: string): Promise<number> {
  const [row] = await db.query<{ jobs: number }>(
    'select count(*)::integer as jobs from stint.jobs where queue = $1',
    [queue],
  )
  return row?.jobs ?? 0
}

/**
 * Ten rounds at once, each with a client and a proxy of its own: a connection sends the full text of a statement only
 * once.
 */
async function sideBySide(round: (round: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: 10 }, (_, n) => round(n)))
}

describe.each(['before', 'after'] as const)(
  'a connection that dies %s the statement is committed',
  (when) => {
    test.each([
      ['a lone job', 1, 'jobs/enqueue-one.sql'],
      ['like jobs of concurrent callers', 3, 'jobs/enqueue-alike.sql'],
      ['jobs of concurrent callers', 4, 'jobs/enqueue.sql'],
    ])('an enqueue whose connection dies stores %s once, 10 times over', async (_what, callers, text) => {
      const queue = `plain-${when}-${callers}`
      await sideBySide(async (round) => {
        const proxy = await startFaultProxy(db.url)
        const cut = proxy.cutNext({ text, when })
        const stint = new Stint({ connection: proxy.url })
        const jobs = await Promise.all(
          Array.from({ length: callers }, (_, n) =>
            stint.enqueue(charge, { round }, { queue, priority: callers > 3 ? n : 0 }),
          ),
        )
        await cut
        for (const { id, duplicate } of jobs) {
          expect(duplicate).toBe(false)
          expect(await stint.get(id)).toMatchObject({ state: 'ready', input: { round } })
        }
        await stint.close()
      })
      expect(await storedBy(queue)).toBe(10 * callers)
    })

    test('an enqueue whose connection dies stores a unique job once, and its own repeat is no duplicate', async () => {
      await sideBySide(async (round) => {
        const proxy = await startFaultProxy(db.url)
        const stint = new Stint({ connection: proxy.url })
        const cut = proxy.cutNext({ text: 'jobs/enqueue-deciding.sql', when })
        const options = {
          queue: `unique-${when}`,
          unique: { key: `k${round}` },
          idempotencyKey: `${when}-${round}`,
        }
        const job = await stint.enqueue(charge, { round }, options)
        await cut
        expect(job).toMatchObject({ duplicate: false })
        expect(await stint.enqueue(charge, { round }, options)).toMatchObject({ id: job.id, duplicate: true })
        await stint.close()
      })
      expect(await storedBy(`unique-${when}`)).toBe(10)
    })

    test('an enqueueMany whose connection dies stores all its jobs once', async () => {
      const proxy = await startFaultProxy(db.url)
      const stint = new Stint({ connection: proxy.url })
      const cut = proxy.cutNext({ text: 'commit', when })
      // Several statements of 4 MB: with smaller inputs it would take ten times as many jobs, which are slow to store
      // again.
      const inputs = Array.from({ length: 1_200 }, (_, n) => ({ n, text: 'x'.repeat(8_000) }))
      let statements = 0
      const onProgress = (): void => {
        statements++
      }
      const { stored } = await stint.enqueueMany(charge, inputs, { queue: `many-${when}`, onProgress })
      await cut
      expect(statements).toBeGreaterThan(1)
      expect(stored).toBe(1_200)
      expect(await storedBy(`many-${when}`)).toBe(1_200)
      await stint.close()
    })
  },
)

test('a job that ended before its enqueue was repeated is not stored again', async () => {
  const stint = new Stint({ connection: db.url })
  const { id } = await stint.enqueue(charge, { n: 1 }, { queue: 'ended' })
  await stint.cancel(id)
  const repeat = JSON.stringify([
    { id, queue: 'ended', kind: 'card.charge', priority: 0, maxAttempts: 5, version: 1, input: { n: 1 } },
  ])
  const rows = await db.query('select job_id, outcome from stint.enqueue_jobs($1::text::jsonb, true)', [
    repeat,
  ])
  expect(rows).toEqual([{ job_id: id, outcome: 'stored' }])
  expect(await db.query('select id from stint.job where id = $1', [id])).toEqual([])
  await stint.close()
})

const isRefused = isOutOf('pgbouncer', 'what is cut may be its refusal of a name, and nothing is stored then')
test.skipIf(isRefused)('an enqueue without an answer in time rejects with the id to look for', async () => {
  const proxy = await startFaultProxy(db.url)
  const stint = new Stint({ connection: proxy.url, timeout: '6s' })
  // The client is connected first, so that all of its time is for the statement.
  await stint.list({ limit: 1 })
  const cuts = (async () => {
    for (let n = 0; n < 50; n++) {
      await proxy.cutNext({
        text: n === 0 ? 'jobs/enqueue-one.sql' : 'jobs/enqueue-deciding.sql',
        when: 'after',
      })
    }
  })()
  const error: unknown = await stint
    .enqueue(charge, { n: 1 }, { queue: 'unknown' })
    .catch((caught: unknown) => caught)
  expect(error).toMatchObject({
    code: 'enqueue-unknown',
    jobIds: [expect.stringMatching(/^[0-9a-f-]{36}$/)],
  })
  const [id] = (error as { jobIds: string[] }).jobIds
  expect(await db.query('select id from stint.job where id = $1', [id])).toHaveLength(1)
  void cuts
  await stint.close()
})

test('an enqueue to an unreachable database rejects with a typed error, and nothing is stored', async () => {
  const stint = new Stint({ connection: 'postgres://nobody@127.0.0.1:1/nothing', timeout: '300ms' })
  await expect(stint.enqueue(charge, { n: 1 })).rejects.toMatchObject({ code: 'database-unavailable' })
  await stint.close()
})
