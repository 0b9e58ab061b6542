import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { movableClock } from './support/clock.ts'
import type { TestClock } from './support/clock.ts'
import { connectTo, createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'

const sync = defineJob({ kind: 'account.sync', queue: 'sync' })

let db: TestDatabase
let stint: Stint
let clock: TestClock
beforeAll(async () => {
  db = await createTestDatabase()
  clock = await movableClock(db)
  stint = new Stint({ connection: db.url })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

/** Sets the columns that a claim would set. */
async function start(id: string): Promise<void> {
  await db.query(
    `update stint.job
        set state = 'running', worker_id = gen_random_uuid(), lease_id = gen_random_uuid(), epoch = epoch + 1, started_at = stint.now(),
            unique_key = case when unique_until_start then null else unique_key end
      where id = $1`,
    [id],
  )
}

describe('a unique job', () => {
  test('a unique job blocks others until it ends, by its input where no key is given', async () => {
    const queue = randomUUID()
    const options = { queue, unique: {} }
    const first = await stint.enqueue(sync, { account: 1, deep: { a: 1, b: 2 } }, options)
    const again = await stint.enqueue(sync, { deep: { b: 2, a: 1 }, account: 1 }, options)
    expect(again).toMatchObject({ id: first.id, duplicate: true, replaced: false })
    expect(await stint.enqueue(sync, { account: 2 }, options)).toMatchObject({ duplicate: false })
    await start(first.id)
    expect(await stint.enqueue(sync, { account: 1, deep: { a: 1, b: 2 } }, options)).toMatchObject({
      duplicate: true,
    })
  })

  test('a unique job may be enqueued again once it was cancelled', async () => {
    const options = { queue: randomUUID(), unique: { key: 'a' } }
    const first = await stint.enqueue(sync, 1, options)
    await stint.cancel(first.id)
    expect(await stint.enqueue(sync, 1, options)).toMatchObject({ duplicate: false })
  })

  test("a unique job until 'started' lets the next one in as soon as a worker has claimed it", async () => {
    const options = { queue: randomUUID(), unique: { key: 'a', until: 'started' as const } }
    const first = await stint.enqueue(sync, 1, options)
    expect(await stint.enqueue(sync, 1, options)).toMatchObject({ id: first.id, duplicate: true })
    await start(first.id)
    expect(await stint.enqueue(sync, 1, options)).toMatchObject({ duplicate: false })
  })

  test('a unique job for a window blocks others even after it has ended', async () => {
    const options = { queue: randomUUID(), unique: { key: 'a', for: '10m' } }
    const first = await stint.enqueue(sync, 1, options)
    await stint.cancel(first.id)
    expect(await stint.enqueue(sync, 1, options)).toMatchObject({ id: first.id, duplicate: true })
    await clock.advance('11 minutes')
    expect(await stint.enqueue(sync, 1, options)).toMatchObject({ duplicate: false })
  })

  test('a unique job of another kind or queue is another job', async () => {
    const queue = randomUUID()
    const other = defineJob({ kind: 'account.close', queue })
    const unique = { key: 'a' }
    expect(await stint.enqueue(sync, 1, { queue, unique })).toMatchObject({ duplicate: false })
    expect(await stint.enqueue(other, 1, { unique })).toMatchObject({ duplicate: false })
    expect(await stint.enqueue(sync, 1, { queue: randomUUID(), unique })).toMatchObject({ duplicate: false })
  })

  test('a unique key comes from the contract, unless the call gives one', async () => {
    const queue = randomUUID()
    const byAccount = defineJob({
      kind: 'x',
      queue,
      unique: { by: (input) => String((input as { id: number }).id) },
    })
    const first = await stint.enqueue(byAccount, { id: 1, at: 1 })
    expect(await stint.enqueue(byAccount, { id: 1, at: 2 })).toMatchObject({ id: first.id, duplicate: true })
    expect(await stint.enqueue(byAccount, { id: 1, at: 2 }, { unique: { key: 'own' } })).toMatchObject({
      duplicate: false,
    })
    expect(await stint.enqueue(byAccount, { id: 1, at: 2 }, { unique: false })).toMatchObject({
      duplicate: false,
    })
  })
})

describe('on conflict', () => {
  test('on conflict replace gives the waiting job the new input and keeps its time', async () => {
    const queue = randomUUID()
    const first = await stint.enqueue(sync, { n: 1 }, { queue, delay: '1h', unique: { key: 'a' } })
    const before = await stint.get(first.id)
    const again = await stint.enqueue(
      sync,
      { n: 2 },
      { queue, priority: 9, unique: { key: 'a', onConflict: 'replace' } },
    )
    expect(again).toMatchObject({ id: first.id, duplicate: true, replaced: true })
    expect(await stint.get(first.id)).toMatchObject({
      state: 'scheduled',
      input: { n: 2 },
      priority: 9,
      runAt: before?.runAt,
    })
  })

  test('on conflict debounce also restarts the delay', async () => {
    const queue = randomUUID()
    const options = { queue, delay: '1h', unique: { key: 'a', onConflict: 'debounce' as const } }
    const first = await stint.enqueue(sync, { n: 1 }, options)
    const before = await stint.get(first.id)
    await clock.advance('30 minutes')
    expect(await stint.enqueue(sync, { n: 2 }, options)).toMatchObject({ id: first.id, replaced: true })
    const after = await stint.get(first.id)
    expect(after).toMatchObject({ state: 'scheduled', input: { n: 2 } })
    expect(Number(after?.runAt) - Number(before?.runAt)).toBeGreaterThanOrEqual(30 * 60_000)
  })

  test('on conflict debounce, key and deadline follow the new input', async () => {
    const queue = randomUUID()
    const owned = defineJob({
      kind: 'owned',
      queue,
      key: (input) => (input as { of: string }).of,
      deadline: '1h',
    })
    const unique = { key: 'a' }
    const first = await stint.enqueue(owned, { of: 'ana' }, { unique })
    await stint.enqueue(owned, { of: 'bob' }, { delay: '2h', unique: { ...unique, onConflict: 'debounce' } })
    const job = await stint.get(first.id)
    expect(job).toMatchObject({ key: 'bob', input: { of: 'bob' } })
    expect(Number(job?.deadlineAt) - Number(job?.runAt)).toBe(3_600_000)
  })

  test.each(['replace', 'debounce'] as const)(
    'on conflict %s leaves a running job alone',
    async (onConflict) => {
      const queue = randomUUID()
      const first = await stint.enqueue(sync, { n: 1 }, { queue, unique: { key: 'a' } })
      await start(first.id)
      const again = await stint.enqueue(sync, { n: 2 }, { queue, unique: { key: 'a', onConflict } })
      expect(again).toMatchObject({ id: first.id, duplicate: true, replaced: false })
      expect(await stint.get(first.id)).toMatchObject({ state: 'running', input: { n: 1 } })
    },
  )

  test('on conflict error rejects only that caller, and names the other job', async () => {
    const queue = randomUUID()
    const first = await stint.enqueue(sync, 1, { queue, unique: { key: 'a' } })
    const unique = { key: 'a', onConflict: 'error' as const }
    const [refused, fine] = await Promise.allSettled([
      stint.enqueue(sync, 1, { queue, unique }),
      stint.enqueue(sync, 1, { queue, unique: { key: 'b' } }),
    ])
    expect(refused).toMatchObject({
      status: 'rejected',
      reason: { code: 'duplicate-job', jobIds: [first.id] },
    })
    expect(fine).toMatchObject({ status: 'fulfilled' })
  })
})

describe('an idempotency key', () => {
  test('an idempotency key returns the first job for the same input, also after it has ended', async () => {
    const options = { idempotencyKey: randomUUID() }
    const first = await stint.enqueue(sync, { n: 1 }, options)
    expect(await stint.enqueue(sync, { n: 1 }, options)).toMatchObject({ id: first.id, duplicate: true })
    await stint.cancel(first.id)
    expect(await stint.enqueue(sync, { n: 1 }, options)).toMatchObject({ id: first.id, duplicate: true })
  })

  test('an idempotency key with another input is an error', async () => {
    const options = { idempotencyKey: randomUUID() }
    const first = await stint.enqueue(sync, { n: 1 }, options)
    await expect(stint.enqueue(sync, { n: 2 }, options)).rejects.toMatchObject({
      code: 'idempotency-conflict',
      jobIds: [first.id],
    })
  })

  test('an idempotency key is free again when a unique conflict was an error', async () => {
    const queue = randomUUID()
    const first = await stint.enqueue(sync, { n: 1 }, { queue, unique: { key: 'a' } })
    const options = { queue, idempotencyKey: randomUUID() }
    await expect(
      stint.enqueue(sync, { n: 1 }, { ...options, unique: { key: 'a', onConflict: 'error' } }),
    ).rejects.toMatchObject({
      code: 'duplicate-job',
      jobIds: [first.id],
    })
    const second = await stint.enqueue(sync, { n: 1 }, options)
    expect(second).toMatchObject({ duplicate: false })
    expect(await stint.get(second.id)).toMatchObject({ state: 'ready' })
  })

  test('an idempotency key is forgotten after its window', async () => {
    const options = { idempotencyKey: randomUUID(), idempotencyFor: '1h' }
    const first = await stint.enqueue(sync, { n: 1 }, options)
    await clock.advance('61 minutes')
    const second = await stint.enqueue(sync, { n: 2 }, options)
    expect(second).toMatchObject({ duplicate: false })
    expect(second.id).not.toBe(first.id)
  })

  test('an idempotency key is scoped to its queue and kind', async () => {
    const options = { idempotencyKey: randomUUID() }
    await stint.enqueue(sync, { n: 1 }, options)
    const other = defineJob({ kind: 'other', queue: sync.queue })
    expect(await stint.enqueue(other, { n: 9 }, options)).toMatchObject({ duplicate: false })
    expect(await stint.enqueue(sync, { n: 9 }, { ...options, queue: 'elsewhere' })).toMatchObject({
      duplicate: false,
    })
  })

  test('an idempotency key leads to the existing job of a unique conflict', async () => {
    const queue = randomUUID()
    const first = await stint.enqueue(sync, { n: 1 }, { queue, unique: { key: 'a' } })
    const options = { queue, unique: { key: 'a' }, idempotencyKey: randomUUID() }
    expect(await stint.enqueue(sync, { n: 1 }, options)).toMatchObject({ id: first.id, duplicate: true })
    await stint.cancel(first.id)
    expect(await stint.enqueue(sync, { n: 1 }, options)).toMatchObject({ id: first.id, duplicate: true })
  })

  test('an idempotency key taken in a transaction that rolls back is free again', async () => {
    const options = { idempotencyKey: randomUUID() }
    const client = await connectTo(db.url)
    await client.query('begin')
    await stint.enqueue(sync, { n: 1 }, { ...options, tx: client })
    await client.query('rollback')
    expect(await stint.enqueue(sync, { n: 2 }, options)).toMatchObject({ duplicate: false })
  })
})
