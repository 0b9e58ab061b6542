/*
 * How the database executes the statements of the hot path, on a queue of 250,000 jobs or a million (support/form.ts).
 * The planner decides by statistics, and those of a queue are always wrong: it was analyzed empty, or when all of it was
 * scheduled, or never. So every statement is planned under each kind of wrong statistics, both as in a session that has
 * sent it often (generic: the parameters are unknown) and as in one that sends it for the first time (custom). The same
 * must hold everywhere: the index that was made for it, in its order, and no work that grows with the table.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Statement } from '../src/db/statement.ts'
import { cancelRunningSql } from '../src/jobs/cancel-running.sql.ts'
import { claimLanesSql } from '../src/jobs/claim-lanes.sql.ts'
import { claimSql } from '../src/jobs/claim.sql.ts'
import { deadLetterSql } from '../src/jobs/dead-letter.sql.ts'
import { floorParams, start } from '../src/jobs/position.ts'
import type { Position } from '../src/jobs/position.ts'
import { putBackSql } from '../src/jobs/put-back.sql.ts'
import { retrySql } from '../src/jobs/retry.sql.ts'
import { settledSql } from '../src/jobs/settled.sql.ts'
import { succeedSql } from '../src/jobs/succeed.sql.ts'
import { surveyLanesSql } from '../src/jobs/survey-lanes.sql.ts'
import { tailSql } from '../src/jobs/tail.sql.ts'
import { sweepSql } from '../src/worker/recovery/sweep.sql.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { analyze, execute, explain, tryOut } from './support/explain.ts'
import {
  claimant,
  claimBulk,
  claimKeyed,
  hotStatements,
  hundredKeys,
  lanesOf,
  surveyKeyed,
  tailBulk,
} from './support/hot-statements.ts'
import type { HotStatement } from './support/hot-statements.ts'
import { batchSize, fill, findLarge, jobs, pickBatch, pickLost, workerId } from './support/large-queue.ts'
import type { Batch } from './support/large-queue.ts'
import { accessPaths, shapeOf, touchedBlocks, unboundedWork } from './support/plan.ts'
import type { Plan } from './support/plan.ts'
import { collectStaleStatistics, collectStatistics, forgetStatistics } from './support/planner-statistics.ts'

let testDb: TestDatabase
let db: pg.Client
let batch: Batch
let lostIds: string
let cases: Record<string, HotStatement>
/** The tables that have many rows. */
let large: ReadonlySet<string>
let statistics: Record<string, () => Promise<void>>

beforeAll(async () => {
  testDb = await createTestDatabase()
  db = await connect()
  const stale = await collectStaleStatistics(db)
  await fill(db)
  // A wrong plan can take minutes.
  await db.query(`set statement_timeout = '60s'`)
  batch = await pickBatch(db)
  lostIds = await pickLost(db)
  cases = hotStatements(batch, lostIds)
  large = await findLarge(db)
  statistics = { ...stale, missing: () => forgetStatistics(db), fresh: () => collectStatistics(db) }
}, 300_000)
afterAll(async () => {
  await db.end()
  await testDb.drop()
})

const modes = ['generic', 'custom'] as const

describe(`${jobs} jobs`, () => {
  test('the statements have the same plans with any statistics', { timeout: 240_000 }, async () => {
    const shapes = new Map<string, Map<string, string[]>>()
    for (const [situation, arrange] of Object.entries(statistics)) {
      await arrange()
      for (const mode of modes)
        for (const [name, one] of Object.entries(cases)) {
          const { Plan: plan } = await (one.isRecursive ? analyze : explain)(db, one, { mode })
          const where = `${name}, ${situation} statistics, ${mode} plan`
          expect.soft({ where, uses: jobPaths(plan) }).toEqual({ where, uses: one.uses })
          expect.soft({ where, unbounded: unboundedWork(plan, large) }).toEqual({ where, unbounded: [] })
          // A server that compiles expensive plans (jit_above_cost) would take a second longer for a claim.
          expect.soft({ where, isDear: plan['Total Cost'] >= 100_000 }).toEqual({ where, isDear: false })
          const ofStatement = getOrSet(shapes, name, () => new Map<string, string[]>())
          getOrSet(ofStatement, shapeOf(plan), () => []).push(`${situation} ${mode}`)
        }
    }
    // Other versions print the same plan a little differently; the assertions above hold for all of them.
    if (!(await isVersion18())) return
    expect(describeShapes(shapes)).toMatchInlineSnapshot(`
      "claim
        Update job(Limit(Result, LockRows(Result(job_ready))), job_pkey)
      claim a level
        Update job(Limit(Result, LockRows(Result(job_ready))), job_pkey)
      claim-lanes
        Update job(Nested Loop(Function Scan, Limit(Result, LockRows(Result(job_ready_keyed)))), job_pkey)
      claim-lanes of one key
        Update job(Nested Loop(Function Scan, Limit(Result, LockRows(Result(job_ready_keyed)))), job_pkey)
      survey-lanes
        lane = Recursive Union(Limit(job_ready_keyed), Nested Loop(lane, Limit(Append(Limit(job_ready_keyed)))))
        Sort(Nested Loop Left(lane, Append(Result, Limit(Result(job_ready_keyed)))))
      tail-lanes
        Nested Loop(Function Scan, Limit(job_ready_keyed backward))
      survey
        served = Function Scan
        levels = Recursive Union(served(Limit(job_ready)), levels(Limit(job_ready)))
        Append(Nested Loop(levels, Limit(job_ready)), Nested Loop(served, Limit(job_ready_keyed)), Nested Loop(served, Append(Limit(job_due), Limit(job_waiting))), wanted_of, queue_rules)
      tail
        Limit(job_ready backward)
      unknown-kinds
        Aggregate(Sort(Nested Loop(unnest, Append(Limit(job_ready), Limit(job_ready_keyed)))))
      succeed
        done = Delete job(Result, Result(job_pkey))
        counted = Insert stat_settle(Aggregate(done))
        Insert finished(done)
      retry
        back = Update job(Result, Result(job_pkey))
        counted = Insert stat_settle(Aggregate(back))
        noted = Insert attempt(back)
        back
      put-back
        back = Update job(Result, Result(job_pkey))
        counted = Insert stat_settle(Aggregate(back))
        noted = Insert attempt(back)
        back
      dead-letter
        gone = Delete job(Result, Result(job_pkey))
        counted = Insert stat_settle(Aggregate(gone))
        noted = Insert attempt(gone)
        Insert dead(gone)
      cancel-running (all scheduled generic, all scheduled custom, all running generic, all running custom, all ready generic, all ready custom, all keyed generic, all keyed custom, drained generic, drained custom, missing generic, missing custom)
        gone = Delete job(Result, Result(job_pkey))
        counted = Insert stat_settle(Aggregate(gone))
        flow_cancelled = Insert flow_ending(gone, flow_parent)
        Insert finished(gone)
      cancel-running (fresh generic, fresh custom)
        gone = Delete job(Result, Result(job_pkey))
        counted = Insert stat_settle(Aggregate(gone))
        flow_cancelled = Insert flow_ending(gone, flow)
        Insert finished(gone)
      progress
        free = LockRows(job_pkey)
        written = Update job(free, job_pkey)
        job_pkey
      begun
        Update job(LockRows(job_pkey), job_pkey)
      add-log
        Insert log(Nested Loop(jsonb_array_elements, Limit(job_pkey)))
      hold-running
        LockRows(job_pkey)
      settled (all scheduled generic, all scheduled custom, all running generic, all running custom, all ready generic, all ready custom, all keyed generic, all keyed custom, drained generic, drained custom, missing generic, missing custom)
        Nested Loop(unnest, Limit(Append(Append(finished_id_idx), dead_pkey, Append(attempt_lease_id_job_id_idx))))
      settled (fresh generic, fresh custom)
        Nested Loop(unnest, Limit(Append(Append(finished_id_idx), dead_pkey, Append(attempt_job_id_epoch_idx))))
      promote
        promoted = Update job(Append(Nested Loop(unnest, Limit(LockRows(job_due))), Nested Loop(unnest, Limit(LockRows(job_waiting)))), job_pkey)
        Append(promoted, Aggregate(Nested Loop(unnest, Append(Limit(job_due), Limit(job_waiting)))))
      due
        Append(Nested Loop(unnest, Limit(job_due)), Nested Loop(unnest, Limit(job_waiting)))
      promote-these
        Update job(job_pkey)
      lost
        owner = Recursive Union(Limit(job_running), owner(Limit(job_running)))
        Limit(Hash Join Anti(owner, worker), LockRows(job_running))
      sweep
        gone = LockRows(job_pkey)
        back = Update job(gone, job_pkey)
        killed = Delete job(gone, job_pkey)
        buried = Insert dead(killed(Result))
        member_ended = Insert flow_ending(Aggregate(buried))
        output = Insert flow_output(buried)
        counted = Insert stat_settle(Aggregate(Append(back, killed)))
        noted = Insert attempt(gone)
        Append(back, buried)
      bury
        buried = Update worker(Limit(LockRows(worker)), worker)
        Result(buried, Limit(job_running))
      held
        job_running
      cancellations
        job_running"
    `)
  })

  test('the statements have the same plans in a session that planned them when the queue was empty', async () => {
    const empty = await createTestDatabase()
    onTestFinished(() => empty.drop())
    const session = new pg.Client({ connectionString: empty.url, statement_timeout: 30_000 })
    await session.connect()
    onTestFinished(() => session.end())
    for (const situation of ['never analyzed', 'analyzed'])
      for (const [name, one] of Object.entries(cases)) {
        if (situation === 'analyzed') await session.query('vacuum (analyze) stint.job')
        const { Plan: plan } = await explain(session, one, { mode: 'generic' })
        const where = `${name}, ${situation}`
        expect.soft({ where, uses: jobPaths(plan) }).toEqual({ where, uses: one.uses })
      }
  })

  describe.each(['fresh', 'missing'])('with %s statistics', (situation) => {
    beforeAll(() => statistics[situation]?.())

    test.each([
      ...['claim', 'claim a level', 'claim-lanes of one key', 'promote', 'lost', 'sweep'],
      ...['succeed', 'retry', 'put-back', 'dead-letter', 'progress'],
    ])('%s touches a bounded number of blocks for each job', async (name) => {
      const one = cases[name]
      if (one === undefined) throw new Error(`no case ${name}`)
      const blocks = touchedBlocks(await analyze(db, one))
      expect(blocks).toBeGreaterThan(batchSize)
      expect(blocks / batchSize).toBeLessThan(30)
    })

    test('a claim from 100 lanes costs the jobs it takes and a probe of each lane', async () => {
      const one = { statement: claimLanesSql, params: { ...claimKeyed, ...lanesOf(hundredKeys, 1) } }
      expect(touchedBlocks(await analyze(db, one))).toBeLessThan(100 * (30 + 6))
    })

    test('a page of a survey of lanes costs a few probes of each lane, however many jobs the lanes have', async () => {
      const blocks = touchedBlocks(await analyze(db, { statement: surveyLanesSql, params: surveyKeyed }))
      expect(blocks).toBeLessThan(1_000 * 20)
    })

    test('settled jobs are looked up in one or two days of history', async () => {
      const one = { statement: settledSql, params: { ...batch, sinceMs: 60_000 } }
      const { Plan: plan } = await analyze(db, one)
      const scanned = accessPaths(plan).filter(({ relation }) => /^(finished|attempt)/.test(relation))
      // Today and, within an hour of midnight, a neighbouring day; none of the days that are made ahead.
      expect(scanned.length).toBeGreaterThanOrEqual(2)
      expect(scanned.length).toBeLessThanOrEqual(4)
      expect(touchedBlocks({ Plan: plan }) / batchSize).toBeLessThan(30)
    })
  })

  test.each([
    { crashLimit: 3, quarantined: false },
    { crashLimit: 1, quarantined: true },
  ])(
    'lost jobs are swept with an attempt row for each ($crashLimit crashes allowed)',
    async ({ crashLimit, quarantined }) => {
      await tryOut(db, async () => {
        const params = { ids: lostIds, crashLimit }
        const swept = await execute<{ id: string; quarantined: boolean }>(db, { statement: sweepSql, params })
        expect(swept.filter((job) => job.quarantined === quarantined)).toHaveLength(batchSize)
        const { rows } = await db.query<{ notes: number; left: number }>(
          `select count(*)::integer as notes, count(job.lease_id)::integer as left
           from stint.attempt
           left join stint.job on job.id = job_id
          where job_id = any($1) and outcome = 'lease-lost' and attempt.attempt = 1 and attempt.epoch = 1
            and attempt.worker_id in ($2, $3) and attempt.lease_id is not null`,
          [swept.map(({ id }) => id), workerId(0), workerId(1)],
        )
        expect(rows).toEqual([{ notes: batchSize, left: 0 }])
      })
    },
  )

  test('settled jobs are found in every table that they can move to', async () => {
    await tryOut(db, async () => {
      const ids = batch.ids.slice(1, -1).split(',')
      const settle = (statement: Statement<string>, index: number) =>
        execute(db, { statement, params: { ...batch, ids: `{${String(ids[index])}}` } })
      await settle(succeedSql, 0)
      await settle(cancelRunningSql, 1)
      await settle(deadLetterSql, 2)
      await settle(retrySql, 3)
      await settle(putBackSql, 4)
      const asked = { ...batch, ids: `{${ids.slice(0, 10).join()}}`, sinceMs: 1_000 }
      const found = await execute<{ id: string }>(db, { statement: settledSql, params: asked })
      expect(found.map(({ id }) => id)).toEqual(ids.slice(0, 5))
      const other = { ...asked, leaseIds: `{${claimant.lease}}` }
      expect(await execute(db, { statement: settledSql, params: other })).toEqual([])
    })
  })

  test('a claim past jobs of an unknown kind is expensive once, and then starts from the tail', async () => {
    const look = async (floor: Position): Promise<number> => {
      const params = { ...claimBulk, ...floorParams(floor), kinds: '{}' }
      return touchedBlocks(await analyze(db, { statement: claimSql, params }))
    }
    expect(await look(start)).toBeGreaterThan(5_000)
    const tail = { statement: tailSql, params: tailBulk }
    expect(touchedBlocks(await analyze(db, tail))).toBeLessThan(10)
    const [last] = await execute<Position>(db, tail)
    if (last === undefined) throw new Error('no tail')
    expect(await look(last)).toBeLessThan(10)
  })

  test('a claim under an old snapshot reads the dead rows of settled jobs from the start, but not from the floor', async () => {
    const report = await connect()
    onTestFinished(() => report.end())
    await report.query('begin isolation level repeatable read')
    await report.query('select from stint.job limit 1')

    let floor = start
    for (let round = 0; round < 4; round++) {
      const claimed = await execute<Position>(db, {
        statement: claimSql,
        params: { ...claimBulk, ...floorParams(floor), limit: 25_000 },
      })
      floor = claimed.at(-1) ?? floor
      const settled = await execute(db, {
        statement: succeedSql,
        params: {
          ids: `{${claimed.map(({ id }) => id).join()}}`,
          leaseIds: `{${claimBulk.lease}}`,
          results: null,
        },
      })
      expect(settled).toHaveLength(25_000)
    }

    const claimTen = async (from: Position): Promise<number> => {
      const params = { ...claimBulk, ...floorParams(from), limit: 10 }
      return touchedBlocks(await analyze(db, { statement: claimSql, params }))
    }
    const fromFloor = await claimTen(floor)
    const fromStart = await claimTen(start)
    // The index entries of 100,000 dead rows fill more than 2,000 blocks.
    expect(fromFloor).toBeLessThan(300)
    expect(fromStart).toBeGreaterThan(2_000)
  })
})

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: testDb.url, statement_timeout: 120_000 })
  await client.connect()
  return client
}

/** The indexes of stint.job that a plan uses, or `job` where it reads the table itself. */
function jobPaths(plan: Plan): string[] {
  const paths = accessPaths(plan).filter(({ relation }) => relation === 'job')
  return [...new Set(paths.map(({ path }) => path))].sort()
}

async function isVersion18(): Promise<boolean> {
  const { rows } = await db.query<{ is18: boolean }>(
    `select current_setting('server_version_num')::integer / 10000 = 18 as "is18"`,
  )
  return rows[0]?.is18 === true
}

/** For people: a plan for each statement, and where it differs, which plan belongs to which situation. */
function describeShapes(shapes: Map<string, Map<string, string[]>>): string {
  const all = Object.keys(statistics).length * modes.length
  return [...shapes]
    .map(([name, ofStatement]) =>
      [...ofStatement]
        .map(([shape, when]) => `${name}${when.length < all ? ` (${when.join(', ')})` : ''}\n${shape}`)
        .join('\n'),
    )
    .join('\n')
}

function getOrSet<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key)
  if (value === undefined) map.set(key, (value = make()))
  return value
}
