import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, fileBlobStore, Stint } from '../../src/index.ts'
import { bury } from '../support/dead-letters.ts'
import { daysOf, finishJob, upkeepByHand } from '../support/history.ts'
import { openRetentionScene } from './retention-scene.ts'
import type { RetentionScene } from './retention-scene.ts'

const job = defineJob({ kind: 'probe' })

let scene: RetentionScene
beforeAll(async () => {
  scene = await openRetentionScene()
})
afterAll(() => scene.close())

/** Moves the clock by a day and runs the daily services. */
async function nextDay(): Promise<void> {
  await scene.clock.advance('1 day')
  for (const name of ['partitions', 'old-days', 'short-kept']) await scene.upkeep.pass(name)
}

describe('finished jobs', () => {
  test('finished jobs are kept as long as their queue says, and for seven days by default', async () => {
    await scene.stint.queues.set('none', { keep: 0 })
    await scene.stint.queues.set('day', { keep: '1d' })
    await scene.stint.queues.set('month', { keep: '30d' })
    const queues = ['none', 'day', 'usual', 'month']
    const ids = new Map<string, string[]>()
    for (const queue of queues) ids.set(queue, await finishJob(scene.db, queue, 5))
    const left = async (): Promise<string[]> => {
      const found: string[] = []
      for (const queue of queues) {
        const has = [
          await scene.count('finished', 'queue = $1', [queue]),
          await scene.count('attempt', 'job_id = any($1)', [ids.get(queue)]),
          await scene.count('log', 'job_id = any($1)', [ids.get(queue)]),
        ]
        // Job, attempts and log are removed together.
        expect(new Set(has).size, `${queue}: ${has.join()}`).toBe(1)
        if (has[0] === 5) found.push(queue)
        else expect(has[0]).toBe(0)
      }
      return found
    }
    await scene.upkeep.pass('short-kept')
    expect(await left()).toEqual(queues)
    await scene.clock.advance('6 minutes')
    await scene.upkeep.pass('short-kept')
    expect(await left()).toEqual(['day', 'usual', 'month'])
    await nextDay()
    expect(await left()).toEqual(['usual', 'month'])
    for (let day = 2; day <= 6; day++) await nextDay()
    expect(await left()).toEqual(['usual', 'month'])
    await nextDay()
    expect(await left()).toEqual(['month'])
    for (let day = 8; day <= 29; day++) await nextDay()
    expect(await left()).toEqual(['month'])
    // Removed with their day, when that whole day is over.
    await nextDay()
    await nextDay()
    expect(await left()).toEqual([])
    expect((await daysOf(scene.db, 'finished'))[0]).toBeGreaterThanOrEqual(-31)
    await scene.stint.queues.set('month', { keep: 'default' })
    await scene.upkeep.pass('old-days')
    expect((await daysOf(scene.db, 'finished'))[0]).toBeGreaterThanOrEqual(-8)
  })

  test('finished jobs of a queue that keeps none are removed in bounded batches, among many that stay', async () => {
    await scene.stint.queues.set('loud', { keep: 0 })
    await finishJob(scene.db, 'loud', 2_500)
    await finishJob(scene.db, 'quiet', 500)
    await finishJob(scene.db, 'loud', 1_500)
    await scene.clock.advance('6 minutes')
    const [late = ''] = await finishJob(scene.db, 'loud')
    await scene.upkeep.pass('short-kept')
    expect(await scene.db.query(`select id from stint.finished where queue = 'loud'`)).toEqual([{ id: late }])
    expect(await scene.count('finished', `queue = 'quiet'`)).toBe(500)
    // Also jobs that were stored in pages that an earlier pass has checked.
    await scene.db.query('vacuum stint.finished')
    await finishJob(scene.db, 'loud', 100)
    await scene.clock.advance('6 minutes')
    await scene.upkeep.pass('short-kept')
    expect(await scene.count('finished', `queue = 'loud'`)).toBe(0)
    expect(await scene.count('finished', `queue = 'quiet'`)).toBe(500)
  })

  test('a finished job that cannot be removed does not keep others from being removed', async () => {
    await scene.stint.queues.set('cursed', { keep: 0 })
    await finishJob(scene.db, 'cursed', 300)
    const [bad = ''] = await finishJob(scene.db, 'cursed')
    await finishJob(scene.db, 'cursed', 300)
    await scene.db.query(`create function public.refuse() returns trigger language plpgsql
                          as $$ begin raise exception 'not this one' using errcode = 'P0001'; end $$`)
    await scene.db.query(`create trigger refuse before delete on stint.finished for each row
                          when (old.id = '${bad}') execute function public.refuse()`)
    await scene.clock.advance('6 minutes')
    await scene.upkeep.pass('short-kept')
    const rows = await scene.db.query<{ id: string }>(`select id from stint.finished where queue = 'cursed'`)
    // The other rows of its page stay with it, and no more.
    expect(rows.map(({ id }) => id)).toContain(bad)
    expect(rows.length).toBeLessThan(100)
    expect(scene.upkeep.passedBy.at(-1)).toMatchObject({
      what: expect.stringMatching(/^page \d+ of 'finished_/) as string,
    })
    await scene.db.query('drop trigger refuse on stint.finished; drop function public.refuse()')
  })
})

describe('settings of a queue', () => {
  test('queues.set changes the given settings and keeps the others', async () => {
    expect(await scene.stint.queues.get('mail')).toEqual({
      queue: 'mail',
      keepMs: null,
      keepDeadMs: null,
      updatedAt: null,
      pauses: [],
    })
    await scene.stint.queues.set('mail', { keep: '2d' })
    expect(await scene.stint.queues.set('mail', { keepDead: '30d' })).toMatchObject({
      keepMs: 2 * 86_400_000,
      keepDeadMs: 30 * 86_400_000,
      updatedAt: expect.any(Date) as Date,
    })
    expect(await scene.stint.queues.set('mail', { keep: 'default', keepDead: 'forever' })).toMatchObject({
      keepMs: null,
      keepDeadMs: null,
    })
    expect((await scene.stint.queues.list()).map(({ queue }) => queue)).toContain('mail')
  })

  test.each<[string, object]>([
    ['a b', { keep: 0 }],
    ['mail', {}],
    ['mail', { keep: 'forever' }],
    ['mail', { keep: -1 }],
    ['mail', { keepDead: 'never' }],
    ['mail', { kept: 1 }],
  ])('queues.set refuses %j with %j', async (queue, options) => {
    await expect(scene.stint.queues.set(queue, options)).rejects.toMatchObject({ code: 'invalid-option' })
  })
})

describe('dead letters', () => {
  async function dead(queue: string): Promise<string> {
    const { id } = await scene.stint.enqueue(job, null, { queue })
    await bury(scene.db, id)
    await scene.db.query('update stint.dead set died_at = stint.now() where id = $1', [id])
    return id
  }
  const areThere = async (...ids: string[]): Promise<boolean[]> => {
    const rows = await scene.db.query<{ id: string }>('select id from stint.dead where id = any($1)', [ids])
    return ids.map((id) => rows.some((row) => row.id === id))
  }

  test('dead letters are kept for ever unless their queue says how long', async () => {
    await scene.stint.queues.set('dying', { keepDead: '2d' })
    const [kept, short] = [await dead('undying'), await dead('dying')]
    await scene.clock.advance('47 hours')
    await scene.upkeep.pass('dead-letters')
    expect(await areThere(kept, short)).toEqual([true, true])
    await scene.clock.advance('2 hours')
    await scene.upkeep.pass('dead-letters')
    expect(await areThere(kept, short)).toEqual([true, false])
    await scene.clock.advance('400 days')
    await scene.upkeep.pass('dead-letters')
    expect(await areThere(kept)).toEqual([true])
    await scene.upkeep.pass('partitions')
  })

  test('dead letters stay in the trash for a day with any setting of their queue, and a restored one stays', async () => {
    await scene.stint.queues.set('trash', { keepDead: '1h' })
    const [gone, back] = [await dead('trash'), await dead('other')]
    await scene.stint.dead.discard(gone)
    await scene.stint.dead.discard(back)
    await scene.clock.advance('23 hours')
    await scene.upkeep.pass('dead-letters')
    expect(await areThere(gone, back)).toEqual([true, true])
    await scene.stint.dead.restore(back)
    await scene.clock.advance('2 hours')
    await scene.upkeep.pass('dead-letters')
    expect(await areThere(gone, back)).toEqual([false, true])
  })

  test('a dead letter that was replayed as another job is removed like a finished job', async () => {
    const id = await dead('edited')
    // An id contains the time of its creation by the creator's clock: here the database's, which is far ahead of ours.
    await scene.db.query(
      `update stint.dead
          set replaced_by = (lpad(to_hex((extract(epoch from stint.now()) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
        where id = $1`,
      [id],
    )
    await scene.clock.advance('6 days')
    await scene.upkeep.pass('dead-letters')
    expect(await areThere(id)).toEqual([true])
    await scene.clock.advance('25 hours')
    await scene.upkeep.pass('dead-letters')
    expect(await areThere(id)).toEqual([false])
  })

  test('a dead letter that cannot be removed does not keep others from being removed', async () => {
    await scene.stint.queues.set('stubborn', { keepDead: 0 })
    const ids = await Promise.all(Array.from({ length: 9 }, () => dead('stubborn')))
    const [bad = ''] = ids
    await scene.db.query(`create function public.refuse() returns trigger language plpgsql
                          as $$ begin raise exception 'not this one' using errcode = 'P0001'; end $$`)
    await scene.db.query(`create trigger refuse before delete on stint.dead for each row
                          when (old.id = '${bad}') execute function public.refuse()`)
    await scene.clock.advance('1 second')
    await scene.upkeep.pass('dead-letters')
    expect(await scene.db.query(`select id from stint.dead where queue = 'stubborn'`)).toEqual([{ id: bad }])
    await scene.db.query('drop trigger refuse on stint.dead; drop function public.refuse()')
    await scene.upkeep.pass('dead-letters')
    expect(await areThere(bad)).toEqual([false])
  })
})

test('expired idempotency keys and effects are removed in batches, and not earlier', async () => {
  for (const [table, columns, values] of [
    ['idempotency_key', 'digest', `'\\x00'`],
    ['effect', 'result', 'null'],
  ])
    await scene.db.query(
      `insert into stint.${table} (scope, key, job_id, ${columns}, expires_at)
       select 'prune', n::text, gen_random_uuid(), ${values}, stint.now() + case when n <= 2500 then '1 hour' else '2 hours' end::interval
         from generate_series(1, 2600) as n`,
    )
  await scene.upkeep.pass('expired')
  expect(await scene.count('idempotency_key', `scope = 'prune'`)).toBe(2_600)
  await scene.clock.advance('61 minutes')
  await scene.upkeep.pass('expired')
  expect(await scene.count('idempotency_key', `scope = 'prune'`)).toBe(100)
  expect(await scene.count('effect', `scope = 'prune'`)).toBe(100)
})

test('workers are removed a week after they were lost, unless a job still runs under them', async () => {
  const [live, lost, owning] = [randomUUID(), randomUUID(), randomUUID()]
  await scene.db.query(
    `insert into stint.worker (id, lease_until, lost_at)
     values ($1, stint.now() + '1 year', null), ($2, stint.now(), stint.now()), ($3, stint.now(), stint.now())`,
    [live, lost, owning],
  )
  const { id } = await scene.stint.enqueue(job)
  await scene.db.query(
    `update stint.job set state = 'running', worker_id = $2, lease_id = gen_random_uuid() where id = $1`,
    [id, owning],
  )
  await scene.clock.advance('6 days')
  await scene.upkeep.pass('expired')
  expect(await scene.count('worker', 'id = any($1)', [[live, lost, owning]])).toBe(3)
  await scene.clock.advance('25 hours')
  await scene.upkeep.pass('expired')
  const rows = await scene.db.query<{ id: string }>('select id from stint.worker where id = any($1)', [
    [live, lost, owning],
  ])
  expect(rows.map((row) => row.id).sort()).toEqual([live, owning].sort())
})

test('blobs are removed with their jobs', async () => {
  await scene.upkeep.pass('partitions')
  const dir = await mkdtemp(join(tmpdir(), 'stint-blobs-'))
  const store = fileBlobStore({ dir })
  const producer = new Stint({ connection: scene.db.url, blobs: { store, thresholdBytes: 100 } })
  const withBlobs = upkeepByHand(scene.db.url, { blobs: store })
  const blobs = async (): Promise<number> =>
    (await readdir(dir, { recursive: true, withFileTypes: true })).filter((one) => one.isFile()).length
  const { id } = await producer.enqueue(job, 'x'.repeat(1_000), { queue: 'blobs' })
  await producer.enqueue(job, 'y'.repeat(1_000), { queue: 'blobs' })
  await bury(scene.db, id)
  await scene.stint.dead.discard(id)
  await withBlobs.pass('blobs')
  expect(await blobs()).toBe(2)
  await scene.clock.advance('25 hours')
  await withBlobs.pass('dead-letters')
  await withBlobs.pass('blobs')
  expect(await blobs()).toBe(1)
  // A blob without a record in this schema may belong to another schema.
  await store.put('2020/01/01/elsewhere', new Uint8Array([1]))
  await withBlobs.pass('blobs')
  expect(await blobs()).toBe(2)
  await producer.close()
  await withBlobs.close()
})
