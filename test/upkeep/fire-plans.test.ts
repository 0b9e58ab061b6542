/*
 * How the database finds the fires that a schedule no longer keeps, among a million of them: by schedule, from the
 * earliest on and no further than a batch, with any statistics of the planner.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { render } from '../../src/db/statement.ts'
import { pruneFiresSql } from '../../src/worker/upkeep/prune/prune-fires.sql.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { form } from '../support/form.ts'
import { accessPaths, touchedBlocks, unboundedWork } from '../support/plan.ts'
import type { Explained } from '../support/plan.ts'

const limit = 1_000
/** One schedule that fires every second, and many that fire rarely. */
const [fast, slow] = [form === 'short' ? 90_000 : 900_000, 50]

let testDb: TestDatabase
let db: pg.Client
let statistics: Record<string, () => Promise<unknown>>
beforeAll(async () => {
  testDb = await createTestDatabase()
  db = new pg.Client({ connectionString: testDb.url, statement_timeout: 120_000 })
  await db.connect()
  for (const table of ['fire', 'schedule', 'job'])
    await db.query(`alter table stint.${table} set (autovacuum_enabled = false)`)
  await db.query(
    `insert into stint.schedule (name, kind, queue, spec, job, source, digest)
     select 'slow-' || n, 'k', 'q', '{}'::jsonb, '{}'::jsonb, 'code', 'x' from generate_series(1, $1::integer) as n
      union all
     select 'fast', 'k', 'q', '{}', '{}', 'code', 'x'`,
    [slow],
  )
  await fires('fast', 1_000)
  await db.query('analyze stint.fire, stint.schedule, stint.job')
  await fires('fast', fast, 1_000)
  for (let n = 1; n <= slow; n++) await fires(`slow-${n}`, 2_000)
  await db.query(
    `insert into stint.job (id, queue, kind, state) select gen_random_uuid(), 'q', 'k', 'ready' from generate_series(1, 100000)`,
  )
  statistics = {
    // In this order: deleted statistics cannot be restored.
    stale: () => Promise.resolve(),
    missing: forgetStatistics,
    fresh: () => db.query('analyze stint.fire, stint.schedule, stint.job'),
  }
}, 180_000)
afterAll(async () => {
  await db.end()
  await testDb.drop()
})

/** Inserts fires of which the last is 40 days old; schedules keep 30 days. */
async function fires(schedule: string, count: number, from = 0): Promise<void> {
  await db.query(
    `insert into stint.fire (schedule, fire_at, outcome, job_id, at)
     select $1, at, 'fired', gen_random_uuid(), at
       from generate_series($2::integer + 1, $3::integer) as n
      cross join lateral (select stint.now() - interval '40 days' - ($4::integer - n) * interval '1 second' as at)`,
    [schedule, from, count, Math.max(fast, count)],
  )
}

async function forgetStatistics(): Promise<void> {
  const tables = `('stint.fire'::regclass, 'stint.schedule'::regclass, 'stint.job'::regclass)`
  await db.query(`delete from pg_statistic where starelid in ${tables}`)
  await db.query(
    `update pg_class set relpages = 0, reltuples = -1
      where oid in ${tables} or oid in (select indexrelid from pg_index where indrelid in ${tables})`,
  )
}

type Mode = 'generic' | 'custom'

/** Executes the statement, returns the blocks it touched and the rows it removed, and rolls back. */
async function analyze(mode: Mode, on = db): Promise<Explained & { removed: number }> {
  await on.query(`set plan_cache_mode = force_${mode}_plan`)
  await on.query('deallocate all')
  await on.query(`prepare probe as ${render(pruneFiresSql, 'stint')}`)
  const values: Record<string, number> = { limit, skip: 0 }
  const given = pruneFiresSql.params.map((param) => values[param]).join(', ')
  await on.query('begin')
  try {
    const { rows } = await on.query<{ 'QUERY PLAN': [Explained] }>(
      `explain (analyze, buffers, timing off, format json) execute probe(${given})`,
    )
    const { rows: left } = await on.query<{ left: string }>('select count(*) as left from stint.fire')
    const [explained] = rows[0]?.['QUERY PLAN'] ?? []
    if (explained === undefined) throw new Error('no plan')
    return { ...explained, removed: fast + slow * 2_000 - Number(left[0]?.left) }
  } finally {
    await on.query('rollback')
  }
}

describe('a million fires', () => {
  test(
    'a million fires are pruned by the same indexes with stale, missing and fresh statistics',
    { timeout: 120_000 },
    async () => {
      for (const [situation, arrange] of Object.entries(statistics)) {
        await arrange()
        for (const mode of ['generic', 'custom'] as const) {
          const where = `${situation} statistics, ${mode} plan`
          const explained = await analyze(mode)
          const paths = accessPaths(explained.Plan)
          const of = (name: string): string[] =>
            [...new Set(paths.filter(({ relation }) => relation === name).map(({ path }) => path))].sort()
          expect
            .soft({ where, fire: of('fire') })
            .toEqual({ where, fire: ['ctid', 'fire_pkey', 'fire_pkey backward'] })
          expect.soft({ where, job: of('job') }).toEqual({ where, job: ['job_pkey'] })
          const unbounded = unboundedWork(explained.Plan, new Set(['fire', 'job']))
          expect.soft({ where, unbounded }).toEqual({ where, unbounded: [] })
          expect.soft({ where, removed: explained.removed }).toEqual({ where, removed: limit })
          // One look at a job and three at a fire for each removed row.
          expect.soft(touchedBlocks(explained) / limit, where).toBeLessThan(30)
        }
      }
    },
  )

  test('a pass that keeps all of a million fires reads a few blocks for each schedule', async () => {
    await db.query('update stint.schedule set keep_fires_ms = 300000000000')
    for (const mode of ['generic', 'custom'] as const) {
      const explained = await analyze(mode)
      expect(explained.removed).toBe(0)
      expect(touchedBlocks(explained)).toBeLessThan(20 * (slow + 1))
    }
  })
})
