import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { Database } from '../../src/db/database.ts'
import { Stint } from '../../src/index.ts'
import { rebuildIndexes } from '../../src/worker/upkeep/rebuild-indexes.ts'
import { usualServices } from '../../src/worker/upkeep/services.ts'
import { Upkeep } from '../../src/worker/upkeep/upkeep.ts'
import { createEmptyDatabase, createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { lane } from '../support/lane.ts'
import { pgBouncerVersion, startPgBouncer } from '../support/pgbouncer.ts'
import { holdSnapshot } from '../support/snapshot.ts'
import { straightWay } from '../support/way.ts'

/** Smaller limits than in production, which would need indexes of 64 MB. */
const limits = { minBytes: 512 * 1_024, minWaste: 0.6, openMs: 60_000 }

let db: TestDatabase
let own: Database
beforeAll(async () => {
  db = await createTestDatabase()
  own = connectAs(db.url)
})
beforeEach(() => db.query('delete from stint.index_upkeep'))
afterAll(async () => {
  await own.close()
  await db.drop()
})

function connectAs(url: string, schema = 'stint'): Database {
  return new Database({ url, schema, poolSize: 3, deadlineMs: 10_000, applicationName: 'indexes' })
}

/** Runs the service once, and records what it skipped. */
function pass(database = own, some = limits): { done: Promise<void>; passedBy: string[] } {
  const passedBy: string[] = []
  const context = {
    signal: new AbortController().signal,
    onPassedBy: (what: string, error: unknown) => passedBy.push(`${what}: ${String(error)}`),
  }
  return { done: rebuildIndexes(database, context, some), passedBy }
}

/** Fills ready jobs and deletes most of them: the indexes keep their size. */
async function bloat(schema = 'stint', database = db): Promise<void> {
  await database.query(
    `insert into ${schema}.job (id, queue, kind, input)
     select gen_random_uuid(), 'bloat', 'k', '{}' from generate_series(1, 30000)`,
  )
  await database.query(`delete from ${schema}.job where queue = 'bloat' and id::text > '02'`)
  await database.query(`vacuum analyze ${schema}.job`)
}

async function sizes(): Promise<Record<string, number>> {
  const rows = await db.query<{ name: string; bytes: number }>(
    `select relname as name, pg_relation_size(oid)::integer as bytes
       from pg_class where relnamespace = 'stint'::regnamespace and relname in ('job_ready', 'job_pkey')`,
  )
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]))
}

function tries(): Promise<Record<string, unknown>[]> {
  return db.query(
    `select name, error, bytes_after < bytes_before as smaller, took_ms is not null as ended
       from stint.index_upkeep order by name`,
  )
}

function invalid(): Promise<{ name: string }[]> {
  return db.query(`select indexrelid::regclass::text as name from pg_index where not indisvalid order by 1`)
}

/** The phases of the index builds in this database. */
async function phases(): Promise<string[]> {
  const rows = await db.query<{ phase: string }>(
    `select phase from pg_stat_progress_create_index where datname = current_database()`,
  )
  return rows.map(({ phase }) => phase)
}

/** Waits until the build of an index waits for other transactions. */
async function isWaiting(): Promise<void> {
  await eventually(async () => {
    expect(await phases()).toEqual([expect.stringMatching(/^waiting/)])
  })
}

describe('an index that is mostly empty', () => {
  test('a mostly empty index is rebuilt, one in each pass, the largest first, and only once a day', async () => {
    await bloat()
    const before = await sizes()
    await pass().done
    expect(await tries()).toMatchObject([{ error: null, smaller: true, ended: true }])
    await pass().done
    expect(await tries()).toEqual([
      { name: 'job_pkey', error: null, smaller: true, ended: true },
      { name: 'job_ready', error: null, smaller: true, ended: true },
    ])
    const after = await sizes()
    for (const name of ['job_pkey', 'job_ready']) {
      expect(before[name]).toBeGreaterThan(limits.minBytes)
      expect(after[name]).toBeLessThan((before[name] ?? 0) * 0.2)
    }
    expect(await invalid()).toEqual([])

    // Bloated again within the day: it is rebuilt only after a day.
    await bloat()
    const again = await sizes()
    await pass().done
    expect(await sizes()).toEqual(again)
    await db.query(`update stint.index_upkeep set tried_at = stint.now() - interval '25 hours'`)
    await pass().done
    expect((await sizes())['job_ready']).toBeLessThan(again['job_ready'] ?? 0)
    await pass().done
  })

  test('a full or small index is not rebuilt', async () => {
    await db.query(
      `insert into stint.job (id, queue, kind, input)
       select gen_random_uuid(), 'full', 'k', '{}' from generate_series(1, 30000)`,
    )
    // Not analyzed: the catalogue says that the table is empty.
    await pass().done
    expect(await tries()).toEqual([])
    await db.query(`delete from stint.job where queue = 'full'`)
    await db.query('vacuum analyze stint.job')
    await pass(own, { ...limits, minBytes: 64 * 2 ** 20 }).done
    expect(await tries()).toEqual([])
    await pass().done
    await pass().done
    expect(await tries()).toHaveLength(2)
  })

  test('an index build behind a held snapshot is given up in time, is reported, and leaves nothing behind', async () => {
    await bloat()
    const before = await sizes()
    const holder = await holdSnapshot(db.url, 'stint.queue')
    const { done, passedBy } = pass()
    await isWaiting()
    await done
    // A session of its own gives up by itself; the session of a pooler is cancelled from outside.
    const how = lane === 'pgbouncer' ? 'canceling statement due to user request' : 'lock timeout'
    expect(passedBy).toEqual([expect.stringMatching(`^'job_ready' could not be built anew: .*${how}`)])
    expect(await invalid()).toEqual([])
    expect(await sizes()).toEqual(before)
    expect(await tries()).toEqual([
      {
        name: 'job_ready',
        error: expect.stringContaining(how) as string,
        smaller: null,
        ended: true,
      },
    ])
    await holder.query('rollback')
  })

  test('an index build does not begin behind a snapshot that has been held for long', async () => {
    await bloat()
    const holder = await holdSnapshot(db.url, 'stint.queue')
    const { done, passedBy } = pass(own, { ...limits, openMs: 0 })
    await done
    expect(passedBy).toEqual([expect.stringMatching(/has had a transaction open for \d+ s/)])
    expect(await tries()).toEqual([])
    await holder.query('rollback')
  })

  test('an index build that fails because a reader has the table open leaves its remains to the next pass', async () => {
    await bloat()
    const reader = await holdSnapshot(db.url, 'stint.job')
    const first = pass()
    await isWaiting()
    await first.done
    expect(first.passedBy.join()).toContain('could not be dropped yet')
    expect((await invalid()).length).toBeGreaterThan(0)
    await reader.query('rollback')
    const second = pass()
    await second.done
    expect(second.passedBy).toEqual([])
    expect(await invalid()).toEqual([])
  })

  test('an index build is given up at once and cleaned up when the leader stops', async () => {
    await bloat()
    const holder = await holdSnapshot(db.url, 'stint.queue')
    const told: string[] = []
    const upkeep = new Upkeep({
      db: connectAs(db.url),
      termMs: 30_000,
      holder: randomUUID,
      about: {},
      services: [
        {
          name: 'indexes',
          everyMs: 60_000,
          runOnce: (database, context) => rebuildIndexes(database, context, limits),
        },
      ],
      onTrouble: (what, error) => told.push(`${what}: ${String(error)}`),
    })
    onTestFinished(() => upkeep.stop())
    const passing = upkeep.runOnce()
    await isWaiting()
    await upkeep.stop()
    await passing
    expect(told).toEqual([expect.stringContaining('canceling statement due to user request')])
    expect(await invalid()).toEqual([])
    expect(await phases()).toEqual([])
    await holder.query('rollback')
  })
})

test('remains of interrupted builds of our indexes are dropped, and an invalid index is rebuilt', async () => {
  await db.query('create table stint.theirs (n integer)')
  await db.query('create index theirs_ccnew on stint.theirs (n)')
  await db.query('create index job_due_ccnew on stint.job (queue)')
  await db.query('create index job_due_ccold1 on stint.job (queue)')
  await db.query(
    `update pg_index set indisvalid = false
      where indexrelid in ('stint.theirs_ccnew'::regclass, 'stint.job_due_ccnew'::regclass,
                           'stint.job_due_ccold1'::regclass, 'stint.job_waiting'::regclass)`,
  )
  await pass(own, { ...limits, minBytes: 2 ** 40 }).done
  expect(await invalid()).toEqual([{ name: 'stint.theirs_ccnew' }])
  expect(await tries()).toMatchObject([{ name: 'job_waiting', error: null }])
  await db.query('drop table stint.theirs')
})

test.skipIf(pgBouncerVersion() === undefined)(
  'an index is rebuilt through a pooler too, and no session setting is left behind',
  async () => {
    await bloat()
    const bouncer = await startPgBouncer(inject('serverUrl'))
    onTestFinished(() => bouncer.remove())
    const pooled = connectAs(bouncer.url(db.url))
    onTestFinished(() => pooled.close())
    await pass(pooled).done
    expect(await tries()).toMatchObject([{ error: null, smaller: true }])
    const settings = await Promise.all(
      Array.from({ length: 3 }, () =>
        pooled.query(`select current_setting('statement_timeout') as setting, pg_sleep(0.05)`, []),
      ),
    )
    expect(settings.flat().map((row) => (row as { setting: string }).setting)).toEqual(['0', '0', '0'])
  },
)

test('a pass does nothing while another one builds an index', async () => {
  await bloat()
  const holder = await holdSnapshot(db.url, 'stint.queue')
  const first = pass()
  await isWaiting()
  const second = pass()
  await second.done
  expect(second.passedBy).toEqual([])
  expect(await tries()).toMatchObject([{ ended: false }])
  await holder.query('rollback')
  await first.done
  expect(first.passedBy).toEqual([])
  expect(await tries()).toMatchObject([{ error: null, smaller: true, ended: true }])
  expect(await invalid()).toEqual([])
})

test('two passes that begin at once both end', async () => {
  await bloat()
  const both = [pass(), pass()]
  await Promise.all(both.map(({ done }) => done))
  expect(both.flatMap(({ passedBy }) => passedBy)).toEqual([])
  // The later pass finds the first index rebuilt, and rebuilds the second one alone.
  const tried = await tries()
  expect(tried).not.toEqual([])
  for (const one of tried) expect(one).toMatchObject({ error: null, smaller: true, ended: true })
  expect(await invalid()).toEqual([])
})

test('a login that does not own the tables reports that once, records it, and does not fail', async () => {
  const schema = 'index_test'
  const empty = await createEmptyDatabase()
  onTestFinished(() => empty.drop())
  const stint = new Stint({ connection: empty.url, schema })
  await stint.migrate({ roles: true })
  await stint.close()
  await bloat(schema, empty)
  await empty.query('drop role if exists login_indexes')
  await empty.query(`create role login_indexes login password 'secret' in role ${schema}_worker`)
  // A pooler in between knows only the usual login.
  const url = new URL(straightWay(empty.url))
  url.username = 'login_indexes'
  url.password = 'secret'
  const worker = connectAs(url.href, schema)
  onTestFinished(async () => {
    await worker.close()
    await empty.query('drop owned by login_indexes; drop role login_indexes')
  })
  const first = pass(worker)
  await first.done
  expect(first.passedBy).toHaveLength(2)
  expect(first.passedBy[0]).toContain(`Only the owner of 'job' may build it anew`)
  await empty.query(`update ${schema}.index_upkeep set tried_at = tried_at - interval '2 days'`)
  const second = pass(worker)
  await second.done
  expect(second.passedBy).toEqual([])
  expect(await empty.query(`select distinct error from ${schema}.index_upkeep`)).toEqual([
    { error: `Only the owner of 'job' may build it anew` },
  ])
})

test('the rebuild of indexes is one of the services of the leader', () => {
  expect(usualServices({}).map(({ name }) => name)).toContain('indexes')
})
