import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, fileBlobStore, Stint } from '../../src/index.ts'
import { movableClock } from '../support/clock.ts'
import type { TestClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { bury } from '../support/dead-letters.ts'
import { daysOf, finishJob, upkeepByHand } from '../support/history.ts'
import type { UpkeepHand } from '../support/history.ts'

const job = defineJob({ kind: 'probe' })

let db: TestDatabase
let stint: Stint
let clock: TestClock
let upkeep: UpkeepHand
beforeAll(async () => {
  db = await createTestDatabase()
  clock = await movableClock(db)
  stint = new Stint({ connection: db.url })
  upkeep = upkeepByHand(db.url)
})
afterAll(async () => {
  await upkeep.close()
  await stint.close()
  await db.drop()
})

async function count(table: string, where: string, values: unknown[] = []): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `select count(*)::integer as count from stint.${table} where ${where}`,
    values,
  )
  return row?.count ?? -1
}

/** Moves the clock by a day and runs the daily services. */
async function nextDay(): Promise<void> {
  await clock.advance('1 day')
  for (const name of ['partitions', 'old-days', 'short-kept']) await upkeep.pass(name)
}

describe('finished jobs', () => {
  test('finished jobs are kept as long as their queue says, and for seven days by default', async () => {
    await stint.queues.set('none', { keep: 0 })
    await stint.queues.set('day', { keep: '1d' })
    await stint.queues.set('month', { keep: '30d' })
    const queues = ['none', 'day', 'usual', 'month']
    const ids = new Map<string, string[]>()
    for (const queue of queues) ids.set(queue, await finishJob(db, queue, 5))
    const left = async (): Promise<string[]> => {
      const found: string[] = []
      for (const queue of queues) {
        const has = [
          await count('finished', 'queue = $1', [queue]),
          await count('attempt', 'job_id = any($1)', [ids.get(queue)]),
          await count('log', 'job_id = any($1)', [ids.get(queue)]),
        ]
        // Job, attempts and log are removed together.
        expect(new Set(has).size, `${queue}: ${has.join()}`).toBe(1)
        if (has[0] === 5) found.push(queue)
        else expect(has[0]).toBe(0)
      }
      return found
    }
    await upkeep.pass('short-kept')
    expect(await left()).toEqual(queues)
    await clock.advance('6 minutes')
    await upkeep.pass('short-kept')
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
    expect((await daysOf(db, 'finished'))[0]).toBeGreaterThanOrEqual(-31)
    await stint.queues.set('month', { keep: 'default' })
    await upkeep.pass('old-days')
    expect((await daysOf(db, 'finished'))[0]).toBeGreaterThanOrEqual(-8)
  })

  test('finished jobs of a queue that keeps none are removed in bounded batches, among many that stay', async () => {
    await stint.queues.set('loud', { keep: 0 })
    await finishJob(db, 'loud', 2_500)
    await finishJob(db, 'quiet', 500)
    await finishJob(db, 'loud', 1_500)
    await clock.advance('6 minutes')
    const [late = ''] = await finishJob(db, 'loud')
    await upkeep.pass('short-kept')
    expect(await db.query(`select id from stint.finished where queue = 'loud'`)).toEqual([{ id: late }])
    expect(await count('finished', `queue = 'quiet'`)).toBe(500)
    // Also jobs that were stored in pages that an earlier pass has checked.
    await db.query('vacuum stint.finished')
    await finishJob(db, 'loud', 100)
    await clock.advance('6 minutes')
    await upkeep.pass('short-kept')
    expect(await count('finished', `queue = 'loud'`)).toBe(0)
    expect(await count('finished', `queue = 'quiet'`)).toBe(500)
  })

  test('a finished job that cannot be removed does not keep others from being removed', async () => {
    await stint.queues.set('cursed', { keep: 0 })
    await finishJob(db, 'cursed', 300)
    const [bad = ''] = await finishJob(db, 'cursed')
    await finishJob(db, 'cursed', 300)
    await db.query(`create function public.refuse() returns trigger language plpgsql
                    as $$ begin raise exception 'not this one' using errcode = 'P0001'; end $$`)
    await db.query(`create trigger refuse before delete on stint.finished for each row
                    when (old.id = '${bad}') execute function public.refuse()`)
    await clock.advance('6 minutes')
    await upkeep.pass('short-kept')
    const rows = await db.query<{ id: string }>(`select id from stint.finished where queue = 'cursed'`)
    // The other rows of its page stay with it, and no more.
    expect(rows.map(({ id }) => id)).toContain(bad)
    expect(rows.length).toBeLessThan(100)
    expect(upkeep.passedBy.at(-1)).toMatchObject({
      what: expect.stringMatching(/^page \d+ of 'finished_/) as string,
    })
    await db.query('drop trigger refuse on stint.finished; drop function public.refuse()')
  })
})

describe('settings of a queue', () => {
  test('queues.set changes the given settings and keeps the others', async () => {
    expect(await stint.queues.get('mail')).toEqual({
      queue: 'mail',
      keepMs: null,
      keepDeadMs: null,
      updatedAt: null,
    })
    await stint.queues.set('mail', { keep: '2d' })
    expect(await stint.queues.set('mail', { keepDead: '30d' })).toMatchObject({
      keepMs: 2 * 86_400_000,
      keepDeadMs: 30 * 86_400_000,
      updatedAt: expect.any(Date) as Date,
    })
    expect(await stint.queues.set('mail', { keep: 'default', keepDead: 'forever' })).toMatchObject({
      keepMs: null,
      keepDeadMs: null,
    })
    expect((await stint.queues.list()).map(({ queue }) => queue)).toContain('mail')
  })

  test.each<[string, object]>([
    ['a b', { keep: 0 }],
    ['mail', {}],
    ['mail', { keep: 'forever' }],
    ['mail', { keep: -1 }],
    ['mail', { keepDead: 'never' }],
    ['mail', { kept: 1 }],
  ])('queues.set refuses %j with %j', async (queue, options) => {
    await expect(stint.queues.set(queue, options)).rejects.toMatchObject({ code: 'invalid-option' })
  })
})

describe('dead letters', () => {
  async function dead(queue: string): Promise<string> {
    const { id } = await stint.enqueue(job, null, { queue })
    await bury(db, id)
    await db.query('update stint.dead set died_at = stint.now() where id = $1', [id])
    return id
  }
  const areThere = async (...ids: string[]): Promise<boolean[]> => {
    const rows = await db.query<{ id: string }>('select id from stint.dead where id = any($1)', [ids])
    return ids.map((id) => rows.some((row) => row.id === id))
  }

  test('dead letters are kept for ever unless their queue says how long', async () => {
    await stint.queues.set('dying', { keepDead: '2d' })
    const [kept, short] = [await dead('undying'), await dead('dying')]
    await clock.advance('47 hours')
    await upkeep.pass('dead-letters')
    expect(await areThere(kept, short)).toEqual([true, true])
    await clock.advance('2 hours')
    await upkeep.pass('dead-letters')
    expect(await areThere(kept, short)).toEqual([true, false])
    await clock.advance('400 days')
    await upkeep.pass('dead-letters')
    expect(await areThere(kept)).toEqual([true])
    await upkeep.pass('partitions')
  })

  test('dead letters stay in the trash for a day with any setting of their queue, and a restored one stays', async () => {
    await stint.queues.set('trash', { keepDead: '1h' })
    const [gone, back] = [await dead('trash'), await dead('other')]
    await stint.dead.discard(gone)
    await stint.dead.discard(back)
    await clock.advance('23 hours')
    await upkeep.pass('dead-letters')
    expect(await areThere(gone, back)).toEqual([true, true])
    await stint.dead.restore(back)
    await clock.advance('2 hours')
    await upkeep.pass('dead-letters')
    expect(await areThere(gone, back)).toEqual([false, true])
  })

  test('a dead letter that was replayed as another job is removed like a finished job', async () => {
    const id = await dead('edited')
    // An id contains the time of its creation by the creator's clock: here the database's, which is far ahead of ours.
    await db.query(
      `update stint.dead
          set replaced_by = (lpad(to_hex((extract(epoch from stint.now()) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
        where id = $1`,
      [id],
    )
    await clock.advance('6 days')
    await upkeep.pass('dead-letters')
    expect(await areThere(id)).toEqual([true])
    await clock.advance('25 hours')
    await upkeep.pass('dead-letters')
    expect(await areThere(id)).toEqual([false])
  })

  test('a dead letter that cannot be removed does not keep others from being removed', async () => {
    await stint.queues.set('stubborn', { keepDead: 0 })
    const ids = await Promise.all(Array.from({ length: 9 }, () => dead('stubborn')))
    const [bad = ''] = ids
    await db.query(`create function public.refuse() returns trigger language plpgsql
                    as $$ begin raise exception 'not this one' using errcode = 'P0001'; end $$`)
    await db.query(`create trigger refuse before delete on stint.dead for each row
                    when (old.id = '${bad}') execute function public.refuse()`)
    await clock.advance('1 second')
    await upkeep.pass('dead-letters')
    expect(await db.query(`select id from stint.dead where queue = 'stubborn'`)).toEqual([{ id: bad }])
    await db.query('drop trigger refuse on stint.dead; drop function public.refuse()')
    await upkeep.pass('dead-letters')
    expect(await areThere(bad)).toEqual([false])
  })
})

describe('fires', () => {
  /** Inserts a fire for every minute back from now, decided when it was due. */
  async function plant(name: string, minutes: number, more = ''): Promise<void> {
    await db.query(
      `insert into stint.fire (schedule, fire_at, outcome, reason, at)
       select $1, at, 'skipped', 'planted', at
         from (select date_trunc('minute', stint.now()) - n * interval '1 minute' as at from generate_series(1, $2) as n) as due
       ${more}`,
      [name, minutes],
    )
  }
  const left = (name: string): Promise<number> => count('fire', 'schedule = $1', [name])
  const given = (name: string, keepFires?: string): Promise<unknown> =>
    stint.schedules.set({ name, job, cron: '0 0 1 1 *', keepFires })

  test('fires are kept as long as their schedule says, by default for 30 days, and removed in bounded batches', async () => {
    await given('short', '2d')
    await given('usual')
    await plant('short', 2_500)
    await plant('usual', 2_500)
    expect(await stint.schedules.get('usual')).toMatchObject({ keepFiresMs: 30 * 86_400_000 })
    await upkeep.pass('fires')
    expect([await left('short'), await left('usual')]).toEqual([2_500, 2_500])
    await clock.advance('47 hours')
    // Fires that were decided within two days: about an hour of them, and fewer as the clock goes on.
    const young = (): Promise<number> =>
      count('fire', `schedule = 'short' and at > stint.now() - interval '2 days'`)
    const most = await young()
    expect(most).toBeGreaterThan(0)
    await upkeep.pass('fires')
    const kept = await left('short')
    expect(kept).toBeLessThanOrEqual(most)
    expect(kept).toBeGreaterThanOrEqual(await young())
    await clock.advance('2 hours')
    await upkeep.pass('fires')
    // The last fire is always kept, because it says when the schedule last fired.
    expect([await left('short'), await left('usual')]).toEqual([1, 2_500])
    expect(await stint.schedules.get('short')).toMatchObject({ lastOutcome: 'skipped' })
    await clock.advance('30 days')
    await upkeep.pass('fires')
    expect([await left('short'), await left('usual')]).toEqual([1, 1])
  })

  test('fires stay while their job has not ended, while they wait, or if they were made up for recently', async () => {
    await upkeep.pass('partitions')
    await given('busy', '1d')
    await plant('busy', 6)
    const fires = await db.query<{ fire_at: Date }>(
      `select fire_at from stint.fire where schedule = 'busy' order by fire_at`,
    )
    const [live, ended, queued, madeUp, asked] = fires.map(({ fire_at }) => fire_at)
    const [running, finished] = [await stint.enqueue(job), await stint.enqueue(job)]
    for (const [at, outcome, id] of [
      [live, 'fired', running.id],
      [ended, 'fired', finished.id],
      [queued, 'queued', null],
      [asked, 'asked', '0199a000-0000-7000-8000-000000000001'],
    ])
      await db.query(
        `update stint.fire set outcome = $2, job_id = $3 where schedule = 'busy' and fire_at = $1`,
        [at, outcome, id],
      )
    await stint.cancel(finished.id)
    await clock.advance('25 hours')
    await db.query(`update stint.fire set at = stint.now() where schedule = 'busy' and fire_at = $1`, [
      madeUp,
    ])
    await upkeep.pass('fires')
    const rows = await db.query<{ fire_at: Date }>(
      `select fire_at from stint.fire where schedule = 'busy' order by fire_at`,
    )
    expect(rows.map(({ fire_at }) => fire_at)).toEqual([live, queued, madeUp, asked, fires.at(-1)?.fire_at])
    await stint.cancel(running.id)
    await upkeep.pass('fires')
    expect(await left('busy')).toBe(4)
  })

  test('a fire that cannot be removed does not keep others from being removed', async () => {
    await given('stubborn', '1d')
    await plant('stubborn', 20)
    await clock.advance('25 hours')
    await db.query(`create function public.refuse() returns trigger language plpgsql
                    as $$ begin raise exception 'not this one' using errcode = 'P0001'; end $$`)
    await db.query(`create trigger refuse before delete on stint.fire for each row
                    when (old.reason = 'planted' and extract(minute from old.fire_at)::integer % 20 = 7)
                    execute function public.refuse()`)
    await upkeep.pass('fires')
    // That fire and the last one, which may be the same.
    expect(await left('stubborn')).toBeLessThanOrEqual(2)
    await db.query('drop trigger refuse on stint.fire; drop function public.refuse()')
    await upkeep.pass('fires')
    expect(await left('stubborn')).toBe(1)
  })

  test('backfill refuses fires that were pruned, even if keepFires is raised later, and accepts times before the schedule existed', async () => {
    const hourly = (keepFires: string): Promise<unknown> =>
      stint.schedules.set({ name: 'made-up', job, every: '1h', keepFires })
    const backfill = async (from: string, to: string): Promise<number> => {
      const [range] = await db.query<{ from: Date; to: Date }>(
        'select stint.now() - $1::interval as from, stint.now() - $2::interval as to',
        [from, to],
      )
      if (range === undefined) throw new Error('The database gave no answer')
      return (await stint.schedules.backfill('made-up', { ...range, dryRun: true })).length
    }
    await hourly('3d')
    // It cannot have fired before it existed.
    expect(await backfill('20 days', '19 days')).toBe(24)
    await clock.advance('4 days')
    await expect(backfill('20 days', '19 days')).rejects.toMatchObject({
      code: 'invalid-option',
      message: expect.stringContaining('pruned') as string,
    })
    await expect(backfill('73 hours', '70 hours')).rejects.toMatchObject({ code: 'invalid-option' })
    expect(await backfill('71 hours', '70 hours')).toBe(1)
    await hourly('30d')
    await expect(backfill('73 hours', '70 hours')).rejects.toMatchObject({ code: 'invalid-option' })
    expect(await backfill('71 hours', '70 hours')).toBe(1)
    await stint.schedules.delete('made-up')
  })
})

test('expired idempotency keys and effects are removed in batches, and not earlier', async () => {
  for (const [table, columns, values] of [
    ['idempotency_key', 'digest', `'\\x00'`],
    ['effect', 'result', 'null'],
  ])
    await db.query(
      `insert into stint.${table} (scope, key, job_id, ${columns}, expires_at)
       select 'prune', n::text, gen_random_uuid(), ${values}, stint.now() + case when n <= 2500 then '1 hour' else '2 hours' end::interval
         from generate_series(1, 2600) as n`,
    )
  await upkeep.pass('expired')
  expect(await count('idempotency_key', `scope = 'prune'`)).toBe(2_600)
  await clock.advance('61 minutes')
  await upkeep.pass('expired')
  expect(await count('idempotency_key', `scope = 'prune'`)).toBe(100)
  expect(await count('effect', `scope = 'prune'`)).toBe(100)
})

test('workers are removed a week after they were lost, unless a job still runs under them', async () => {
  const [live, lost, owning] = [randomUUID(), randomUUID(), randomUUID()]
  await db.query(
    `insert into stint.worker (id, lease_until, lost_at)
     values ($1, stint.now() + '1 year', null), ($2, stint.now(), stint.now()), ($3, stint.now(), stint.now())`,
    [live, lost, owning],
  )
  const { id } = await stint.enqueue(job)
  await db.query(
    `update stint.job set state = 'running', worker_id = $2, lease_id = gen_random_uuid() where id = $1`,
    [id, owning],
  )
  await clock.advance('6 days')
  await upkeep.pass('expired')
  expect(await count('worker', 'id = any($1)', [[live, lost, owning]])).toBe(3)
  await clock.advance('25 hours')
  await upkeep.pass('expired')
  const rows = await db.query<{ id: string }>('select id from stint.worker where id = any($1)', [
    [live, lost, owning],
  ])
  expect(rows.map((row) => row.id).sort()).toEqual([live, owning].sort())
})

test('blobs are removed with their jobs', async () => {
  await upkeep.pass('partitions')
  const dir = await mkdtemp(join(tmpdir(), 'stint-blobs-'))
  const store = fileBlobStore({ dir })
  const producer = new Stint({ connection: db.url, blobs: { store, thresholdBytes: 100 } })
  const withBlobs = upkeepByHand(db.url, { blobs: store })
  const blobs = async (): Promise<number> =>
    (await readdir(dir, { recursive: true, withFileTypes: true })).filter((one) => one.isFile()).length
  const { id } = await producer.enqueue(job, 'x'.repeat(1_000), { queue: 'blobs' })
  await producer.enqueue(job, 'y'.repeat(1_000), { queue: 'blobs' })
  await bury(db, id)
  await stint.dead.discard(id)
  await withBlobs.pass('blobs')
  expect(await blobs()).toBe(2)
  await clock.advance('25 hours')
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
