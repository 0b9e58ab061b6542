/*
 * How the database reads what the screens show: through indexes and up to a limit, with any statistics.
 */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { render } from '../../src/db/statement.ts'
import type { Statement } from '../../src/db/statement.ts'
import { readRatesSql } from '../../src/stats/read/series/read-rates.sql.ts'
import { deadCountsSql } from '../../src/stats/read/queues/dead-counts.sql.ts'
import { deadlyErrorsSql } from '../../src/stats/read/deadly-errors.sql.ts'
import { jobBriefsSql } from '../../src/stats/read/job-briefs.sql.ts'
import { lastHourBinsSql } from '../../src/stats/read/queues/last-hour-bins.sql.ts'
import { lastHourSql } from '../../src/stats/read/queues/last-hour.sql.ts'
import { leasesSql } from '../../src/stats/read/fleet/leases.sql.ts'
import { queueKindsBinsSql } from '../../src/stats/read/queues/queue-kinds-bins.sql.ts'
import { queueKindsSql } from '../../src/stats/read/queues/queue-kinds.sql.ts'
import { seriesBinsSql } from '../../src/stats/read/series/series-bins.sql.ts'
import { seriesCountsSql } from '../../src/stats/read/series/series-counts.sql.ts'
import { seriesHourBinsSql } from '../../src/stats/read/series/series-hour-bins.sql.ts'
import { seriesHourCountsSql } from '../../src/stats/read/series/series-hour-counts.sql.ts'
import { totalsSql } from '../../src/stats/read/series/totals.sql.ts'
import { fleetSql } from '../../src/stats/read/fleet/fleet.sql.ts'
import { connectTo, createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { accessPaths, touchedBlocks } from '../support/plan.ts'
import type { Explained } from '../support/plan.ts'

const running = 3_000

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
  await db.query(
    `insert into stint.job (id, queue, kind, state, worker_id, lease_id, input)
     select gen_random_uuid(), 'q' || n % 5, 'k', case when n <= $1 then 'running' else 'ready' end::stint.job_state,
            case when n <= $1 then ('00000000-0000-4000-8000-' || lpad((n % 10)::text, 12, '0'))::uuid end,
            case when n <= $1 then gen_random_uuid() end, jsonb_build_object('text', repeat('x', 200))
       from generate_series(1, 60000) as n`,
    [running],
  )
  await db.query(
    `insert into stint.dead (id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version, queue, kind, reason, input)
     select gen_random_uuid(), now(), now(), 1, 1, 1, 0, 0, 1, 'q' || n % 5, 'k', 'exhausted', jsonb_build_object('text', repeat('x', 200))
       from generate_series(1, 30000) as n`,
  )
  // A week by the minute and by the hour; a screen reads about an hour of it.
  await db.query(
    `insert into stint.stat_minute (minute, queue, kind, process, flush, succeeded, wait)
     select date_trunc('minute', now()) - m * interval '1 minute', 'q' || q, 'k', gen_random_uuid(), 1, 1, '{"100": 1}'
       from generate_series(0, 10079) as m, generate_series(0, 4) as q`,
  )
  await db.query(
    `insert into stint.stat_hour (hour, queue, kind, enqueued, started, succeeded, failed, dead, lease_expired, refused,
                                  cancelled, snoozed, released, crashed, attempts, wait, run)
     select date_trunc('hour', now()) - h * interval '1 hour', 'q' || q, 'k', 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, '{"100": 1}', '{}'
       from generate_series(2, 2160) as h, generate_series(0, 9) as q`,
  )
  await db.query(
    `insert into stint.error_hour (fingerprint, hour, process, flush, failures, deaths)
     select lpad(to_hex(n), 16, '0'), date_trunc('hour', now()) - h * interval '1 hour', gen_random_uuid(), 1, 3, 3
       from generate_series(0, 99) as n, generate_series(0, 299) as h`,
  )
  await db.query(
    `insert into stint.finished (id, created_at, run_at, state, epoch, attempt, max_attempts, crashes, priority, version, queue, kind)
     select gen_random_uuid(), now(), now(), 'succeeded', 1, 1, 1, 0, 0, 1, 'q', 'k' from generate_series(1, 30000) as n`,
  )
}, 120_000)
afterAll(() => db.drop())

interface Case {
  statement: Statement<string>
  params: () => Record<string, unknown>
  uses: RegExp
  /** Blocks that it may touch, of the hundreds and more that each table has. */
  blocks: number
}

const hourMs = 3_600_000
const ago = (ms: number): Date => new Date(Date.now() - ms)
const lately = (ms: number): Record<string, unknown> => ({
  from: ago(ms),
  to: ago(0),
  stepMs: 60_000,
  queue: null,
  kind: null,
  every: 7,
})

const cases: Record<string, Case> = {
  workers: {
    statement: fleetSql,
    params: () => ({ lostWithinMs: 3_600_000, mostRunning: 1_000, limit: 500 }),
    uses: /^job_running$/,
    blocks: 1_200,
  },
  leases: {
    statement: leasesSql,
    params: () => ({ seen: 1_000, limit: 201 }),
    uses: /^job_running$/,
    blocks: 1_200,
  },
  'dead-counts': {
    statement: deadCountsSql,
    params: () => ({ queues: 500, rows: 500 }),
    uses: /^dead_(queue|died)( backward)?$/,
    blocks: 1_000,
  },
  'job-briefs': {
    statement: jobBriefsSql,
    params: () => ({ ids: Array.from({ length: 20 }, () => randomUUID()) }),
    uses: /^(job_pkey|dead_pkey|finished_\d+_id_idx)$/,
    blocks: 2_000,
  },
}

/** Figures: an hour out of a week, or a few hours out of three months. */
const figures: Record<string, Case> = {
  'last-hour': {
    statement: lastHourSql,
    params: () => ({ from: null }),
    uses: /^stat_minute_pkey$/,
    blocks: 60,
  },
  'last-hour-bins': {
    statement: lastHourBinsSql,
    params: () => ({ from: ago(hourMs), every: 7 }),
    uses: /^stat_minute_pkey$/,
    blocks: 60,
  },
  'queue-kinds': {
    statement: queueKindsSql,
    params: () => ({ minutes: 60, queue: 'q1' }),
    uses: /^stat_minute_pkey$/,
    blocks: 60,
  },
  'queue-kinds-bins': {
    statement: queueKindsBinsSql,
    params: () => ({ minutes: 60, queue: 'q1', every: 7 }),
    uses: /^stat_minute_pkey$/,
    blocks: 60,
  },
  rates: {
    statement: readRatesSql,
    params: () => ({ windowMs: 300_000 }),
    uses: /^stat_minute_pkey$/,
    blocks: 60,
  },
  totals: {
    statement: totalsSql,
    params: () => ({ from: ago(hourMs / 3), until: ago(hourMs / 3) }),
    uses: /^stat_minute_pkey$/,
    blocks: 60,
  },
  'series-counts': {
    statement: seriesCountsSql,
    params: () => lately(hourMs),
    uses: /^stat_minute_pkey$/,
    blocks: 60,
  },
  'series-bins': {
    statement: seriesBinsSql,
    params: () => lately(hourMs),
    uses: /^stat_minute_pkey$/,
    blocks: 60,
  },
  'series-hour-counts': {
    statement: seriesHourCountsSql,
    params: () => lately(4 * hourMs),
    uses: /^(stat_hour_pkey|stat_minute_raw|stat_minute_pkey)$/,
    blocks: 100,
  },
  'series-hour-bins': {
    statement: seriesHourBinsSql,
    params: () => lately(4 * hourMs),
    uses: /^(stat_hour_pkey|stat_minute_raw|stat_minute_pkey)$/,
    blocks: 100,
  },
  'deadly-errors': {
    statement: deadlyErrorsSql,
    params: () => ({ limit: 20 }),
    uses: /^error_hour_(age|pkey)$/,
    blocks: 150,
  },
}

async function explain(client: pg.Client, { statement, params }: Case): Promise<Explained> {
  const values = params()
  const { rows } = await client.query<{ 'QUERY PLAN': [Explained] }>(
    `explain (analyze, buffers, format json) ${render(statement, 'stint')}`,
    statement.params.map((param) => values[param]),
  )
  const [explained] = rows[0]?.['QUERY PLAN'] ?? []
  if (explained === undefined) throw new Error('no plan')
  return explained
}

describe.each(['never analyzed', 'analyzed'])('%s', (statistics) => {
  test.each(Object.entries({ ...cases, ...figures }))(
    '%s reads through an index, up to its limit',
    async (_, one) => {
      const client = await connectTo(db.url)
      if (statistics === 'analyzed') await client.query('analyze')
      await client.query(`set statement_timeout = '20s'`)
      const explained = await explain(client, one)
      const large = accessPaths(explained.Plan).filter(({ relation }) =>
        /^(job|dead|finished_\d+|stat_minute|stat_hour|error_hour)$/.test(relation),
      )
      // Days that are made ahead are empty, so reading them whole is fine.
      const used = large.filter(
        ({ relation, path }) => !(relation.startsWith('finished_') && path === relation),
      )
      expect(used.length).toBeGreaterThan(0)
      for (const { relation, path } of used) {
        // A branch of the view that was not executed.
        if (path === relation) expect(neverRun(explained, relation), `reads all of ${relation}`).toBe(true)
        else expect(path).toMatch(one.uses)
      }
      expect(touchedBlocks(explained)).toBeLessThan(one.blocks)
    },
  )
})

/** Whether no scan of a whole table was executed. */
function neverRun({ Plan: plan }: Explained, relation: string): boolean {
  const nodes = [plan]
  for (const node of nodes) nodes.push(...(node.Plans ?? []))
  return nodes
    .filter((node) => node['Relation Name'] === relation && node['Node Type'] === 'Seq Scan')
    .every((node) => (node as { 'Actual Loops'?: number })['Actual Loops'] === 0)
}
