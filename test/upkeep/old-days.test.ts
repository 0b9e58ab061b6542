import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { Stint } from '../../src/index.ts'
import { movableClock } from '../support/clock.ts'
import type { TestClock } from '../support/clock.ts'
import { connectTo, createEmptyDatabase, createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { daysOf, finishJob, upkeepByHand } from '../support/history.ts'
import type { UpkeepHand } from '../support/history.ts'
import { holdSnapshot } from '../support/snapshot.ts'
import { straightWay } from '../support/way.ts'

const tables = ['finished', 'attempt', 'log'] as const

let db: TestDatabase
let clock: TestClock
let upkeep: UpkeepHand
beforeAll(async () => {
  db = await createTestDatabase()
  clock = await movableClock(db)
  // At noon, so that no day ends during the tests.
  await clock.moveTo(await nextNoon())
  upkeep = upkeepByHand(db.url)
})
beforeEach(async () => {
  await upkeep.pass('partitions')
})
afterAll(async () => {
  await upkeep.close()
  await db.drop()
})

async function nextNoon(): Promise<Date> {
  const [row] = await db.query<{ at: Date }>(
    `select (date_trunc('day', stint.now() at time zone 'utc') + interval '36 hours') at time zone 'utc' as at`,
  )
  return row?.at ?? new Date()
}

/** Settles until stopped, on a connection with a lock timeout of 1 s, half of what a drop waits; then returns the errors. */
async function settleOnAndOn(
  schema = 'stint',
  url = db.url,
): Promise<() => Promise<{ settled: number; errors: string[] }>> {
  const settler = await connectTo(url)
  await settler.query(`set lock_timeout = '1s'`)
  const errors: string[] = []
  let settled = 0
  const stopped = new AbortController()
  const settling = (async () => {
    while (!stopped.signal.aborted) {
      try {
        await settler.query(
          `insert into ${schema}.finished (id, created_at, run_at, state, epoch, attempt, max_attempts, crashes, priority,
                                           version, queue, kind, finished_at)
           values (gen_random_uuid(), ${schema}.now(), ${schema}.now(), 'succeeded', 1, 1, 5, 0, 0, 1, 'settle', 'k', ${schema}.now())`,
        )
        await settler.query(
          `insert into ${schema}.attempt (job_id, epoch, attempt, outcome, ended_at)
           values (gen_random_uuid(), 1, 1, 'failed', ${schema}.now())`,
        )
        settled++
      } catch (error) {
        errors.push(String(error))
        // A broken connection fails at once, every time.
        if (errors.length === 100) return
      }
    }
  })()
  return async () => {
    stopped.abort()
    await settling
    return { settled, errors }
  }
}

function pendingDays(): Promise<unknown[]> {
  return db.query('select 1 from pg_inherits where inhdetachpending')
}

describe('old days', () => {
  /** How many days ago the finished jobs of a queue ended, oldest first. */
  async function agesOf(queue: string): Promise<number[]> {
    const rows = await db.query<{ age: number }>(
      `select (extract(epoch from stint.now() - finished_at) / 86400)::float8 as age
         from stint.finished where queue = $1 order by 1 desc`,
      [queue],
    )
    return rows.map(({ age }) => age)
  }

  test('days are created and dropped for a month by the settings of the queues, while a session holds a snapshot of live jobs', async () => {
    const stint = new Stint({ connection: db.url })
    onTestFinished(() => stint.close())
    await stint.queues.set('week', { keep: '7d' })
    await stint.queues.set('day', { keep: '1d' })
    await stint.queues.set('none', { keep: 0 })
    const reader = await holdSnapshot(db.url, 'stint.job')
    const { rows: before } = await reader.query('select count(*) from stint.job')
    const stop = await settleOnAndOn()
    for (let day = 1; day <= 30; day++) {
      for (const queue of ['week', 'day', 'none', 'usual']) await finishJob(db, queue)
      await clock.advance('1 day')
      for (const name of ['partitions', 'old-days', 'short-kept']) await upkeep.pass(name)
      // One job of each of the last seven days, and jobs that are removed with their day, at most one day later.
      for (const queue of ['week', 'usual']) {
        const ages = await agesOf(queue)
        const young = ages.filter((age) => age <= 7)
        expect(young.length, `${queue} on day ${day}`).toBeGreaterThanOrEqual(Math.min(day, 6))
        expect(ages.length).toBeLessThanOrEqual(8)
        expect(ages[0]).toBeLessThan(8)
      }
      expect((await agesOf('day')).filter((age) => age > 1.001)).toEqual([])
      expect(await agesOf('none')).toEqual([])
      for (const table of tables) {
        const days = await daysOf(db, table)
        expect(days[0], `${table} on day ${day}`).toBeGreaterThanOrEqual(-8)
        expect(days.at(-1)).toBe(14)
        expect(days.length).toBeLessThanOrEqual(8 + 1 + 14)
      }
    }
    const { settled, errors } = await stop()
    expect(errors).toEqual([])
    expect(settled).toBeGreaterThan(30)
    expect(upkeep.passedBy).toEqual([])
    // The snapshot was held all the time, and shows the same rows.
    expect((await reader.query('select count(*) from stint.job')).rows).toEqual(before)
    for (const queue of ['week', 'day', 'none']) await stint.queues.set(queue, { keep: 'default' })
  })

  test('old days that are being read stay pending, block no statement, and are dropped when the reader ends', async () => {
    const reader = await holdSnapshot(db.url, 'stint.jobs')
    const stop = await settleOnAndOn()
    await clock.advance('3 days')
    await upkeep.pass('partitions')
    const before = await daysOf(db, 'finished')
    // It waits two seconds for readers of a table, not for ever.
    await upkeep.pass('old-days')
    await upkeep.pass('old-days')
    expect(await daysOf(db, 'finished')).toEqual(before)
    expect((await daysOf(db, 'log'))[0]).toBeGreaterThanOrEqual(-8)
    expect(await pendingDays()).toHaveLength(1)
    expect(upkeep.passedBy.map(({ what }) => what)).toContainEqual(expect.stringContaining('finished_'))
    // None of our statements is left waiting in the database.
    expect(
      await db.query(
        `select query from pg_stat_activity
          where datname = current_database() and application_name = 'upkeep by hand' and state = 'active'`,
      ),
    ).toEqual([])
    // New days can be created meanwhile.
    await clock.advance('1 day')
    await upkeep.pass('partitions')
    expect((await daysOf(db, 'finished')).at(-1)).toBe(14)
    // The reader still sees the same rows.
    await reader.query('select count(*) from stint.jobs')
    await reader.query('rollback')
    await upkeep.pass('old-days')
    for (const table of tables) expect((await daysOf(db, table))[0]).toBeGreaterThanOrEqual(-8)
    expect(await pendingDays()).toEqual([])
    expect((await stop()).errors).toEqual([])
  })

  test('days that Stint detached are dropped, and days that another user detached are kept', async () => {
    await clock.advance('2 days')
    await upkeep.pass('partitions')
    const [ours, theirs] = await db.query<{ day_table: string }>(
      `select day_table from stint.old_days() where parent = 'finished'`,
    )
    for (const day of [ours, theirs])
      await db.query(`alter table stint.finished detach partition stint.${day?.day_table ?? ''}`)
    await db.query(`comment on table stint.${ours?.day_table ?? ''} is 'to be dropped by Stint'`)
    await upkeep.pass('old-days')
    const left = await db.query<{ name: string }>(
      `select relname as name from pg_class where relname = any($1) order by 1`,
      [[ours?.day_table, theirs?.day_table]],
    )
    expect(left).toEqual([{ name: theirs?.day_table }])
    await db.query(`drop table stint.${theirs?.day_table ?? ''}`)
  })

  test('a clock that is a year ahead does not break the creation and dropping of days', async () => {
    await clock.advance('365 days')
    await upkeep.pass('partitions')
    await upkeep.pass('old-days')
    expect((await daysOf(db, 'finished'))[0]).toBe(-1)
    await finishJob(db, 'any')
  })
})

test('drop_day refuses a day before its time, and any other table', async () => {
  const [today] = await db.query<{ dropped: boolean }>(
    `select stint.drop_day('finished_' || to_char(stint.now() at time zone 'utc', 'YYYYMMDD')) as dropped`,
  )
  expect(today).toEqual({ dropped: false })
  for (const name of ['job', 'dead', 'finished', 'finished_20200101; drop table stint.job'])
    expect(await db.query('select stint.drop_day($1) as dropped', [name])).toEqual([{ dropped: false }])
})

test('creating a day does not wait for readers, and settles do not wait for it', async () => {
  await holdSnapshot(db.url, 'stint.jobs')
  const stop = await settleOnAndOn()
  await clock.advance('1 day')
  await upkeep.pass('partitions')
  expect((await daysOf(db, 'finished')).at(-1)).toBe(14)
  expect((await stop()).errors).toEqual([])
})

test('a worker that does not own the tables drops days too, and no settle waits long for it', async () => {
  const schema = 'upkeep_test'
  const own = await createEmptyDatabase()
  onTestFinished(() => own.drop())
  const owner = new Stint({ connection: own.url, schema })
  await owner.migrate({ roles: true })
  await owner.close()
  await own.query('drop role if exists login_upkeep')
  await own.query(`create role login_upkeep login password 'secret' in role ${schema}_worker`)
  // A pooler in between knows only the usual login.
  const url = new URL(straightWay(own.url))
  url.username = 'login_upkeep'
  url.password = 'secret'
  const hand = upkeepByHand(url.href, { schema })
  onTestFinished(async () => {
    await hand.close()
    await own.query('drop owned by login_upkeep; drop role login_upkeep')
  })
  await own.query(`create table ${schema}.test_clock (ahead interval not null)`)
  await own.query(`insert into ${schema}.test_clock values ('20 days')`)
  await own.query(`grant select on ${schema}.test_clock to public`)
  await own.query(`create or replace function ${schema}.now() returns timestamptz language sql stable
                   as 'select statement_timestamp() + (select ahead from ${schema}.test_clock)'`)
  await hand.pass('partitions')
  const reader = await holdSnapshot(own.url, `${schema}.jobs`)
  const stop = await settleOnAndOn(schema, own.url)
  for (let i = 0; i < 5; i++) await hand.pass('old-days')
  expect(hand.passedBy.length).toBeGreaterThan(0)
  expect((await daysOf(own, 'finished', schema))[0]).toBeLessThan(-8)
  await reader.query('rollback')
  await hand.pass('old-days')
  const { settled, errors } = await stop()
  expect(errors).toEqual([])
  expect(settled).toBeGreaterThan(10)
  for (const table of tables) expect((await daysOf(own, table, schema))[0]).toBeGreaterThanOrEqual(-8)
  for (const name of ['short-kept', 'dead-letters', 'expired']) await hand.pass(name)
})
