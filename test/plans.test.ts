/*
 * How the database executes the statements of the hot path, on a queue of 250,000 jobs or a million (support/form.ts).
 * The planner decides by statistics, and those of a queue are always wrong: it was analyzed empty, or when all of it was
 * scheduled, or never. So every statement is planned under each kind of wrong statistics, both as in a session that has
 * sent it often (generic: the parameters are unknown) and as in one that sends it for the first time (custom). The same
 * must hold everywhere: the index that was made for it, in its order, and no work that grows with the table.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { render } from '../src/db/statement.ts'
import type { Statement } from '../src/db/statement.ts'
import { addLogSql } from '../src/jobs/attempt/add-log.sql.ts'
import { cancelRunningSql } from '../src/jobs/cancel-running.sql.ts'
import { claimLanesSql } from '../src/jobs/claim-lanes.sql.ts'
import { claimSql } from '../src/jobs/claim.sql.ts'
import { deadLetterSql } from '../src/jobs/dead-letter.sql.ts'
import { holdRunningSql } from '../src/jobs/attempt/hold-running.sql.ts'
import { floorParams, start } from '../src/jobs/search/position.ts'
import type { Position } from '../src/jobs/search/position.ts'
import { progressSql } from '../src/jobs/attempt/progress.sql.ts'
import { begunSql } from '../src/jobs/attempt/begun.sql.ts'
import { cancellationsSql } from '../src/jobs/attempt/cancellations.sql.ts'
import { putBackSql } from '../src/jobs/put-back.sql.ts'
import { retrySql } from '../src/jobs/retry.sql.ts'
import { settledSql } from '../src/jobs/settled.sql.ts'
import { succeedSql } from '../src/jobs/succeed.sql.ts'
import { surveyLanesSql } from '../src/jobs/survey-lanes.sql.ts'
import { surveySql } from '../src/jobs/survey.sql.ts'
import { tailLanesSql } from '../src/jobs/tail-lanes.sql.ts'
import { tailSql } from '../src/jobs/tail.sql.ts'
import { unknownKindsSql } from '../src/jobs/unknown-kinds.sql.ts'
import { burySql } from '../src/jobs/leases/bury.sql.ts'
import { heldSql } from '../src/jobs/leases/held.sql.ts'
import { dueSql } from '../src/worker/recovery/due.sql.ts'
import { lostSql } from '../src/worker/recovery/lost.sql.ts'
import { promoteTheseSql } from '../src/worker/recovery/promote-these.sql.ts'
import { promoteSql } from '../src/worker/recovery/promote.sql.ts'
import { sweepSql } from '../src/worker/recovery/sweep.sql.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { form } from './support/form.ts'
import { accessPaths, shapeOf, touchedBlocks, unboundedWork } from './support/plan.ts'
import type { Explained, Plan } from './support/plan.ts'

const [batchSize, jobs] = form === 'short' ? [500, 250_000] : [1_000, 1_000_000]
const kinds = JSON.stringify({ 'bulk.work': 1, 'mail.work': 1, 'keyed.work': 1, 'later.work': 1 })
const queues = '{bulk,mail,foreign,keyed,strange,later}'
const liveWorker = workerId(3)
const claimant = {
  worker: liveWorker,
  lease: '00000000-0000-4000-a000-000000000000',
  kinds,
  limit: batchSize,
}
const claimBulk = { ...claimant, queue: 'bulk', priority: 0, ...floorParams(start) }
const tailBulk = { ...claimBulk, agoMs: 1_000 }
const surveyKeyed = { queue: 'keyed', kinds, afterKey: '', lanes: 1_000 }
const claimKeyed = { ...claimant, queue: 'keyed' }

/** Lanes of priority 0, from the start, as the statements take them. */
function lanesOf(
  keys: readonly string[],
  take: number,
): Record<'keys' | 'priorities' | 'floorAts' | 'floorIds' | 'takes', string> {
  const { floorAt, floorId } = floorParams(start)
  const all = (value: string | number): string => `{${keys.map(() => value).join()}}`
  return {
    keys: `{${keys.join()}}`,
    priorities: all(0),
    floorAts: all(floorAt),
    floorIds: all(floorId),
    takes: all(take),
  }
}

/** Keys of the queue `keyed`; nearly all of them have jobs. */
const hundredKeys = Array.from({ length: 100 }, (_, n) => `key-${n}`)

let testDb: TestDatabase
let db: pg.Client
/** A batch to settle: jobs that run under `liveWorker`. */
let batch: Record<'ids' | 'leaseIds' | 'items' | 'lines' | 'id' | 'lease' | 'worker', string> & {
  results: null
}
/** The tables that have many rows. */
let large: ReadonlySet<string>
let statistics: Record<string, () => Promise<void>>

beforeAll(async () => {
  testDb = await createTestDatabase()
  db = await connect()
  const stale = await collectStaleStatistics()
  await fill()
  // A wrong plan can take minutes.
  await db.query(`set statement_timeout = '60s'`)
  batch = await pickBatch()
  lostIds = await pickLost()
  large = await findLarge()
  statistics = { ...stale, missing: forgetStatistics, fresh: collectStatistics }
}, 300_000)
afterAll(async () => {
  await db.end()
  await testDb.drop()
})

let lostIds: string
/** No parked jobs, which is the usual case. */
const parked = '{}'

type Values = Record<string, string | number | null>

interface Case {
  statement: Statement<string>
  params: () => Values
  /** All indexes of stint.job that it may use. */
  uses: string[]
  /** It must run to show its plan: the parts below the recursive term of a CTE are set up only then. */
  isRecursive?: true
}

const settles = { params: () => batch, uses: ['job_pkey'] }
const cases: Record<string, Case> = {
  claim: { statement: claimSql, params: () => claimBulk, uses: ['job_pkey', 'job_ready'] },
  // A level that is larger than a batch, but looks smaller to a planner that treats queue and priority as independent.
  'claim a level': {
    statement: claimSql,
    params: () => ({ ...claimBulk, queue: 'mail', priority: 10 }),
    uses: ['job_pkey', 'job_ready'],
  },
  'claim-lanes': {
    statement: claimLanesSql,
    params: () => ({ ...claimKeyed, ...lanesOf(hundredKeys, batchSize / 100) }),
    uses: ['job_pkey', 'job_ready_keyed'],
  },
  // As a queue of one key is claimed from.
  'claim-lanes of one key': {
    statement: claimLanesSql,
    params: () => ({ ...claimKeyed, ...lanesOf(['hot'], batchSize) }),
    uses: ['job_pkey', 'job_ready_keyed'],
  },
  'survey-lanes': {
    statement: surveyLanesSql,
    params: () => surveyKeyed,
    uses: ['job_ready_keyed'],
    isRecursive: true,
  },
  'tail-lanes': {
    statement: tailLanesSql,
    params: () => ({ ...claimKeyed, ...lanesOf(hundredKeys, 1), agoMs: 1_000 }),
    uses: ['job_ready_keyed backward'],
  },
  survey: {
    statement: surveySql,
    params: () => ({ queues, kinds }),
    uses: ['job_due', 'job_ready', 'job_ready_keyed'],
    isRecursive: true,
  },
  tail: { statement: tailSql, params: () => tailBulk, uses: ['job_ready backward'] },
  'unknown-kinds': {
    statement: unknownKindsSql,
    params: () => ({ queues, kinds, window: 1_000 }),
    uses: ['job_ready', 'job_ready_keyed'],
  },
  succeed: { statement: succeedSql, ...settles },
  retry: { statement: retrySql, ...settles },
  'put-back': { statement: putBackSql, ...settles },
  'dead-letter': { statement: deadLetterSql, ...settles },
  'cancel-running': { statement: cancelRunningSql, ...settles },
  progress: { statement: progressSql, ...settles },
  begun: { statement: begunSql, ...settles },
  'add-log': { statement: addLogSql, ...settles },
  'hold-running': {
    statement: holdRunningSql,
    params: () => ({ ...batch, idleMs: '1000' }),
    uses: ['job_pkey'],
  },
  settled: { statement: settledSql, params: () => ({ ...batch, sinceMs: 60_000 }), uses: [] },
  promote: {
    statement: promoteSql,
    params: () => ({ queues, limit: batchSize, parked }),
    uses: ['job_due', 'job_pkey'],
  },
  due: { statement: dueSql, params: () => ({ queues, limit: batchSize, parked }), uses: ['job_due'] },
  'promote-these': { statement: promoteTheseSql, params: () => batch, uses: ['job_pkey'] },
  lost: {
    statement: lostSql,
    params: () => ({ limit: batchSize, parked }),
    uses: ['job_running'],
    isRecursive: true,
  },
  sweep: { statement: sweepSql, params: () => ({ ids: lostIds, crashLimit: 3 }), uses: ['job_pkey'] },
  bury: { statement: burySql, params: () => ({}), uses: ['job_running'] },
  held: { statement: heldSql, params: () => ({ worker: liveWorker }), uses: ['job_running'] },
  cancellations: {
    statement: cancellationsSql,
    params: () => ({ worker: liveWorker }),
    uses: ['job_running'],
  },
}
const modes = ['generic', 'custom'] as const

describe(`${jobs} jobs`, () => {
  test('the statements have the same plans with any statistics', { timeout: 240_000 }, async () => {
    const shapes = new Map<string, Map<string, string[]>>()
    for (const [situation, arrange] of Object.entries(statistics)) {
      await arrange()
      for (const mode of modes)
        for (const [name, one] of Object.entries(cases)) {
          const { Plan: plan } = await (one.isRecursive ? analyze : explain)(one, { mode })
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
        Update job(Limit(LockRows(job_ready)), job_pkey)
      claim a level
        Update job(Limit(LockRows(job_ready)), job_pkey)
      claim-lanes
        Update job(Nested Loop(Function Scan, Limit(LockRows(job_ready_keyed))), job_pkey)
      claim-lanes of one key
        Update job(Nested Loop(Function Scan, Limit(LockRows(job_ready_keyed))), job_pkey)
      survey-lanes
        lane = Recursive Union(Limit(job_ready_keyed), Nested Loop(lane, Limit(Append(Limit(job_ready_keyed)))))
        Sort(Nested Loop Left(lane, Limit(job_ready_keyed)))
      tail-lanes
        Nested Loop(Function Scan, Limit(job_ready_keyed backward))
      survey
        served = unnest
        levels = Recursive Union(served(Limit(job_ready)), levels(Limit(job_ready)))
        Append(Nested Loop(levels, Limit(job_ready)), Nested Loop(served, Limit(job_ready_keyed)), Nested Loop(served, Limit(job_due)))
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
      cancel-running
        gone = Delete job(Result, Result(job_pkey))
        counted = Insert stat_settle(Aggregate(gone))
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
        promoted = Update job(Nested Loop(unnest, Limit(LockRows(job_due))), job_pkey)
        Append(promoted, Aggregate(Nested Loop(unnest, Limit(job_due))))
      due
        Nested Loop(unnest, Limit(job_due))
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
        counted = Insert stat_settle(Aggregate(Append(back, killed)))
        noted = Insert attempt(gone)
        Append(back, buried)
      bury (all scheduled generic, all scheduled custom, all running generic, all running custom, all ready generic, all ready custom, all keyed generic, all keyed custom, drained generic, drained custom, missing generic, missing custom)
        buried = Update worker(Limit(LockRows(worker)), worker_pkey)
        Result(buried, Limit(job_running))
      bury (fresh generic, fresh custom)
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
        const { Plan: plan } = await explain(one, { mode: 'generic', on: session })
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
      const blocks = touchedBlocks(await analyze(one))
      expect(blocks).toBeGreaterThan(batchSize)
      expect(blocks / batchSize).toBeLessThan(30)
    })

    test('a claim from 100 lanes costs the jobs it takes and a probe of each lane', async () => {
      const one = { statement: claimLanesSql, params: () => ({ ...claimKeyed, ...lanesOf(hundredKeys, 1) }) }
      expect(touchedBlocks(await analyze(one))).toBeLessThan(100 * (30 + 6))
    })

    test('a page of a survey of lanes costs a few probes of each lane, however many jobs the lanes have', async () => {
      const blocks = touchedBlocks(await analyze({ statement: surveyLanesSql, params: () => surveyKeyed }))
      expect(blocks).toBeLessThan(1_000 * 20)
    })

    test('settled jobs are looked up in one or two days of history', async () => {
      const one = { statement: settledSql, params: () => ({ ...batch, sinceMs: 60_000 }) }
      const { Plan: plan } = await analyze(one)
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
      await tryOut(async () => {
        const params = () => ({ ids: lostIds, crashLimit })
        const swept = await execute<{ id: string; quarantined: boolean }>({ statement: sweepSql, params })
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
    await tryOut(async () => {
      const ids = batch.ids.slice(1, -1).split(',')
      const settle = (statement: Statement<string>, index: number) =>
        execute({ statement, params: () => ({ ...batch, ids: `{${String(ids[index])}}` }) })
      await settle(succeedSql, 0)
      await settle(cancelRunningSql, 1)
      await settle(deadLetterSql, 2)
      await settle(retrySql, 3)
      await settle(putBackSql, 4)
      const asked = { ...batch, ids: `{${ids.slice(0, 10).join()}}`, sinceMs: 1_000 }
      const found = await execute<{ id: string }>({ statement: settledSql, params: () => asked })
      expect(found.map(({ id }) => id)).toEqual(ids.slice(0, 5))
      const other = { ...asked, leaseIds: `{${claimant.lease}}` }
      expect(await execute({ statement: settledSql, params: () => other })).toEqual([])
    })
  })

  test('a claim past jobs of an unknown kind is expensive once, and then starts from the tail', async () => {
    const look = async (floor: Position): Promise<number> => {
      const params = { ...claimBulk, ...floorParams(floor), kinds: '{}' }
      return touchedBlocks(await analyze({ statement: claimSql, params: () => params }))
    }
    expect(await look(start)).toBeGreaterThan(5_000)
    const tail = { statement: tailSql, params: () => tailBulk }
    expect(touchedBlocks(await analyze(tail))).toBeLessThan(10)
    const [last] = await execute<Position>(tail)
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
      const claimed = await execute<Position>({
        statement: claimSql,
        params: () => ({ ...claimBulk, ...floorParams(floor), limit: 25_000 }),
      })
      floor = claimed.at(-1) ?? floor
      const settled = await execute({
        statement: succeedSql,
        params: () => ({
          ids: `{${claimed.map(({ id }) => id).join()}}`,
          leaseIds: `{${claimBulk.lease}}`,
          results: null,
        }),
      })
      expect(settled).toHaveLength(25_000)
    }

    const claimTen = async (from: Position): Promise<number> => {
      const params = { ...claimBulk, ...floorParams(from), limit: 10 }
      return touchedBlocks(await analyze({ statement: claimSql, params: () => params }))
    }
    const fromFloor = await claimTen(floor)
    const fromStart = await claimTen(start)
    expect(fromFloor).toBeLessThan(300)
    expect(fromStart).toBeGreaterThan(20 * fromFloor)
  })
})

function workerId(n: number): string {
  return `00000000-0000-4000-8000-00000000000${String(n)}`
}

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

interface Sending {
  mode?: 'generic' | 'custom'
  on?: pg.Client
  options?: string
}

/** Plans a statement as a named statement of the driver. */
async function explain(
  { statement, params }: Pick<Case, 'statement' | 'params'>,
  { mode = 'generic', on = db, options = '' }: Sending = {},
): Promise<Explained> {
  await on.query(`set plan_cache_mode = force_${mode}_plan`)
  await on.query('deallocate all')
  await on.query(`prepare probe as ${render(statement, 'stint')}`)
  const { rows } = await on.query<{ 'QUERY PLAN': [Explained] }>(
    `explain (${options} format json) execute probe${argumentsOf(statement, params())}`,
  )
  const [row] = rows
  if (row === undefined) throw new Error('no plan')
  return row['QUERY PLAN'][0]
}

/** Executes a statement, returns what it touched, and rolls back. */
function analyze(one: Pick<Case, 'statement' | 'params'>, sending: Sending = {}): Promise<Explained> {
  return tryOut(() => explain(one, { ...sending, options: 'analyze, buffers, timing off,' }))
}

async function tryOut<Result>(work: () => Promise<Result>): Promise<Result> {
  await db.query('begin')
  try {
    return await work()
  } finally {
    await db.query('rollback')
  }
}

async function execute<Row extends pg.QueryResultRow>({
  statement,
  params,
}: Pick<Case, 'statement' | 'params'>): Promise<Row[]> {
  const values = params()
  const { rows } = await db.query<Row>(
    render(statement, 'stint'),
    statement.params.map((param) => values[param]),
  )
  return rows
}

function argumentsOf({ params }: Statement<string>, values: Values): string {
  const literals = params.map((param) => {
    const value = values[param] ?? null
    return value === null ? 'null' : pg.escapeLiteral(String(value))
  })
  return literals.length === 0 ? '' : `(${literals.join(', ')})`
}

/** Most are ready, at several priorities; some have keys, are due later, are of an unknown kind, or run. */
async function fill(): Promise<void> {
  const rebuild = await dropIndexes()
  await db.query(`
    insert into stint.worker (id, lease_until, lost_at)
    select ('00000000-0000-4000-8000-00000000000' || n)::uuid, stint.now() + interval '1 hour',
           case when n < 2 then stint.now() end
      from generate_series(0, 7) as n`)
  await db.query(`
    insert into stint.job (id, created_at, run_at, state, attempt, epoch, priority, queue, kind, key, input,
                           started_at, worker_id, lease_id, begun_lease)
    select ${uuidAt('at', 'n')}, at,
           case when state in ('scheduled', 'retrying') and n % 4 > 0 then at + interval '1 day' else at end,
           state, 1, 1,
           case when queue = 'mail' then (array[-10, 0, 0, 5, 10])[1 + n / 100 % 5] else 0 end,
           queue, queue || '.work',
           case when part = 80 then 'hot' when part between 81 and 87 then 'key-' || (hashint4(n) & 16383) end,
           '{"n": 1}',
           case when state = 'running' then at end,
           case when state = 'running' then ('00000000-0000-4000-8000-00000000000' || n / 100 % 8)::uuid end,
           case when state = 'running' then ('00000000-0000-4000-9000-00000000000' || n / 100 % 8)::uuid end,
           case when state = 'running' then ('00000000-0000-4000-9000-00000000000' || n / 100 % 8)::uuid end
      from generate_series(1, ${jobs}) as n
     cross join lateral (select n % 100 as part, stint.now() - (${jobs + 1} - n) * interval '3 milliseconds' as at)
     cross join lateral (
             select case when part < 60 then 'bulk' when part < 70 then 'mail' when part < 80 then 'foreign'
                         when part < 88 then 'keyed' when part < 96 then 'later' else 'bulk' end as queue,
                    case when part in (96, 97) then 'running' when part = 95 then 'retrying'
                         when part between 88 and 94 then 'scheduled' else 'ready' end::stint.job_state as state)`)
  // One key without any job for this worker, and the next key.
  await db.query(`
    insert into stint.job (id, created_at, run_at, state, queue, kind, key, input)
    select ${uuidAt('at', 'n')}, at, at, 'ready', 'strange',
           case when n <= ${jobs / 5} then 'strange.work' else 'keyed.work' end,
           case when n <= ${jobs / 5} then 'busy' else 'next' end, '{"n": 1}'
      from generate_series(1, ${jobs / 5 + 1}) as n
     cross join lateral (select stint.now() - (${jobs + 1} - n) * interval '3 milliseconds' as at)`)
  await rebuild()
  // Jobs of a day on either side of midnight.
  await db.query(`
    insert into stint.finished (id, created_at, run_at, finished_at, state, epoch, attempt, max_attempts, crashes,
                                priority, version, queue, kind, lease_id)
    select ${uuidAt('at', 'n')}, at, at, at, 'succeeded', 1, 1, 5, 0, 0, 1, 'bulk', 'bulk.work', gen_random_uuid()
      from generate_series(1, 100000) as n cross join lateral (select ${daysAround} as at)`)
  await db.query(`
    insert into stint.dead (id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version, queue,
                            kind, lease_id, reason)
    select ${uuidAt('at', 'n')}, at, at, 5, 5, 5, 0, 0, 1, 'bulk', 'bulk.work', gen_random_uuid(), 'exhausted'
      from generate_series(1, 50000) as n cross join lateral (select ${daysAround} as at)`)
  await db.query(`
    insert into stint.attempt (job_id, epoch, attempt, outcome, lease_id, ended_at)
    select ${uuidAt('at', 'n')}, 1, 1, 'failed', gen_random_uuid(), at
      from generate_series(1, 100000) as n cross join lateral (select ${daysAround} as at)`)
}

/** Building the indexes over a full table takes half the time. */
async function dropIndexes(): Promise<() => Promise<void>> {
  const { rows } = await db.query<{ name: string; definition: string; isPrimary: boolean }>(`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition, indisprimary as "isPrimary"
      from pg_index
     where indrelid = 'stint.job'::regclass`)
  for (const { name, isPrimary } of rows)
    await db.query(isPrimary ? 'alter table stint.job drop constraint job_pkey' : `drop index ${name}`)
  return async () => {
    for (const { definition, isPrimary } of rows)
      await db.query(
        isPrimary ? 'alter table stint.job add constraint job_pkey primary key (id)' : definition,
      )
  }
}

async function findLarge(): Promise<Set<string>> {
  const { rows } = await db.query<{ relname: string }>(
    `select relname from pg_class where relnamespace = 'stint'::regnamespace and pg_relation_size(oid) > 1e6`,
  )
  return new Set(rows.map(({ relname }) => relname))
}

const daysAround = `date_trunc('day', stint.now(), 'utc') + (n % 2 - 0.5) * n * interval '1 second'`

/** A UUIDv7 of a time, with a number as its random part. */
function uuidAt(at: string, n: string): string {
  const ms = `lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0')`
  return `(${ms} || '70008000' || lpad(to_hex(${n}), 12, '0'))::uuid`
}

async function pickBatch(): Promise<typeof batch> {
  const { rows } = await db.query<{ id: string; lease: string }>(
    `select id, lease_id as lease from stint.job where state = 'running' and worker_id = $1 limit ${String(batchSize)}`,
    [liveWorker],
  )
  const [first] = rows
  if (first === undefined || rows.length < batchSize) throw new Error('nothing runs')
  const items = rows.map(({ id, lease }) => {
    const item = { lease, delayMs: 1_000, burns: true, class: 'thrown', ranMs: 5, outcome: 'failed' }
    return [id, { ...item, reason: 'exhausted', percent: 50 }] as const
  })
  const lines = rows.map(({ id, lease }, line) => ({
    id,
    lease,
    epoch: 1,
    line,
    agoMs: 5,
    level: 'info',
    message: 'hello',
  }))
  return {
    ids: `{${rows.map(({ id }) => id).join()}}`,
    leaseIds: `{${first.lease}}`,
    items: JSON.stringify(Object.fromEntries(items)),
    lines: JSON.stringify(lines),
    ...first,
    worker: liveWorker,
    results: null,
  }
}

async function pickLost(): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `select id from stint.job where state = 'running' and worker_id = $1 limit ${String(batchSize)}`,
    [workerId(0)],
  )
  return `{${rows.map(({ id }) => id).join()}}`
}

/**
 * The statistics that ANALYZE wrote when the queue was in another state, by the name of that state; each can be restored.
 */
async function collectStaleStatistics(): Promise<Record<string, () => Promise<void>>> {
  await db.query('create schema kept')
  const stale: Record<string, () => Promise<void>> = {}
  const lives: Record<string, string> = {
    'all scheduled': `'scheduled', null, null, null`,
    'all running': `'running', null, gen_random_uuid(), gen_random_uuid()`,
    'all ready': `'ready', null, null, null`,
    'all keyed': `'ready', 'key-' || n, null, null`,
  }
  for (const [life, columns] of Object.entries(lives)) {
    await db.query(`
      insert into stint.job (id, queue, kind, state, key, worker_id, lease_id)
      select gen_random_uuid(), 'bulk', 'bulk.work', ${columns}
        from generate_series(1, 20000) as n`)
    await db.query('vacuum (analyze) stint.job')
    stale[life] = await keepStatistics(life)
    await db.query('delete from stint.job')
  }
  await db.query('vacuum (analyze) stint.job')
  stale['drained'] = await keepStatistics('drained')
  return stale
}

const jobRelations = `(select 'stint.job'::regclass::oid union all
                       select indexrelid from pg_index where indrelid = 'stint.job'::regclass)`
const statisticColumns = [
  'staattnum, stainherit, stanullfrac, stawidth, stadistinct',
  ...['stakind', 'staop', 'stacoll', 'stanumbers', 'stavalues'].flatMap((name) =>
    [1, 2, 3, 4, 5].map((n) => `${name}${String(n)}`),
  ),
].join(', ')

/** Saves the current statistics of stint.job; the result restores them. */
async function keepStatistics(name: string): Promise<() => Promise<void>> {
  const keeper = `kept.${pg.escapeIdentifier(name)}`
  await db.query(`create table ${keeper} ()`)
  await copyStatistics('stint.job', keeper)
  const { rows } = await db.query<{ oid: number; relpages: number; reltuples: number }>(
    `select oid, relpages, reltuples from pg_class where oid in ${jobRelations}`,
  )
  return async () => {
    await forgetStatistics()
    await copyStatistics(keeper, 'stint.job')
    for (const { oid, relpages, reltuples } of rows)
      await db.query('update pg_class set relpages = $2, reltuples = $3 where oid = $1', [
        oid,
        relpages,
        reltuples,
      ])
  }
}

async function copyStatistics(from: string, to: string): Promise<void> {
  await db.query(
    `insert into pg_statistic (starelid, ${statisticColumns})
     select $2::regclass, ${statisticColumns} from pg_statistic where starelid = $1::regclass`,
    [from, to],
  )
}

/** As if no table had ever been analyzed or vacuumed. */
async function forgetStatistics(): Promise<void> {
  await db.query('drop table if exists forgotten')
  await db.query(`
    create temporary table forgotten as
    select oid from pg_class where relnamespace = 'stint'::regnamespace and relkind in ('r', 'p')`)
  await db.query('delete from pg_statistic where starelid in (select oid from forgotten)')
  await db.query(`
    update pg_class set relpages = 0, reltuples = -1
     where oid in (select oid from forgotten
                   union all
                   select indexrelid from pg_index where indrelid in (select oid from forgotten))`)
}

async function collectStatistics(): Promise<void> {
  await db.query('analyze')
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
