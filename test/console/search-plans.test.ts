/*
 * How the database executes the statements of a search: by the index that was made for the filter or within a window,
 * never by reading a large table, with any statistics.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { render } from '../../src/db/statement.ts'
import type { Statement } from '../../src/db/statement.ts'
import { deadCountsSql } from '../../src/jobs/dead/dead-counts.sql.ts'
import { deadFingerprintsSql } from '../../src/jobs/search/dead-fingerprints.sql.ts'
import { deadKindsSql } from '../../src/jobs/search/dead-kinds.sql.ts'
import { searchCorrelationSql } from '../../src/jobs/search/search-correlation.sql.ts'
import { searchDeadSql } from '../../src/jobs/search/search-dead.sql.ts'
import { searchIdsSql } from '../../src/jobs/search/search-ids.sql.ts'
import { searchLiveQueuesSql } from '../../src/jobs/search/search-live-queues.sql.ts'
import { searchLiveSql } from '../../src/jobs/search/search-live.sql.ts'
import { searchIdEndsSql } from '../../src/jobs/search/search-id-ends.sql.ts'
import { searchWordsSql } from '../../src/jobs/search/search-words.sql.ts'
import { searchWindowEndSql } from '../../src/jobs/search/search-window-end.sql.ts'
import { searchWindowSql } from '../../src/jobs/search/search-window.sql.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { accessPaths, touchedBlocks, unboundedWork } from '../support/plan.ts'
import type { Explained } from '../support/plan.ts'

// With fewer rows and no statistics, sorting all of them costs about as much as reading the indexes.
const rows = 130_000
const dead = 20_000
let testDb: TestDatabase
let db: pg.Client

beforeAll(async () => {
  testDb = await createTestDatabase()
  db = new pg.Client({ connectionString: testDb.url, statement_timeout: 120_000 })
  await db.connect()
  await db.query(`set max_parallel_workers_per_gather = 0`)
  await fill()
}, 120_000)
afterAll(async () => {
  await db.end()
  await testDb.drop()
})

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const firstId = '00000000-0000-0000-0000-000000000000'
const nothing = {
  states: null,
  queues: null,
  kinds: null,
  keys: null,
  workers: null,
  correlations: null,
  reasons: null,
  priorities: null,
  madeBefore: null,
  madeAfter: null,
  asOf: null,
  discarded: false,
  replaced: false,
  words: null,
}
const page = { ...nothing, upTo: lastId, from: firstId, limit: 51 }
const window = { window: 5_000 }
const byDead = (by: string, values: string): Params => ({
  ...page,
  ...window,
  by,
  values,
})
const everywhere = '{live,finished,dead}'

type Params = Readonly<Record<string, string | number | boolean | null>>

interface Case {
  statement: Statement<string>
  params: Params
  /** The ways in which it may read large tables. */
  paths: RegExp
  /** Blocks that it may touch. */
  blocks: number
  /** It gathers and sorts no whole index of live jobs. */
  isBounded?: boolean
}

const cases: Record<string, Case> = {
  'all, a page': {
    statement: searchWindowSql,
    params: { ...page, ...window, tables: everywhere },
    paths: /_pkey|_id_idx|finished_id/,
    blocks: 3_000,
  },
  'a window without a match': {
    statement: searchWindowSql,
    params: { ...page, ...window, tables: everywhere, kinds: '{nothing}' },
    paths: /_pkey|_id_idx|finished_id/,
    blocks: 20_000,
  },
  'the end of a window': {
    statement: searchWindowEndSql,
    params: { upTo: lastId, tables: everywhere, ...window },
    paths: /_pkey|_id_idx|finished_id/,
    blocks: 20_000,
  },
  'the end of an id': {
    statement: searchIdEndsSql,
    params: { ends: '{%2e3f}', limit: 1_000, ...window },
    paths: /_pkey|_id_idx|finished_id/,
    blocks: 20_000,
  },
  'search words': {
    statement: searchWordsSql,
    params: { names: '{country}', ...window },
    paths: /_pkey|_id_idx|finished_id/,
    blocks: 20_000,
  },
  'running jobs': {
    statement: searchLiveSql,
    params: { ...page, states: '{running}', most: 5_000 },
    paths: /job_(running|pkey|ready|ready_keyed|due|waiting)/,
    blocks: 20_000,
  },
  'ready jobs': {
    statement: searchLiveSql,
    params: { ...page, states: '{ready}', most: 1_000 },
    paths: /job_(running|pkey|ready|ready_keyed|due|waiting)/,
    blocks: 5_000,
    isBounded: true,
  },
  'a quiet queue': {
    statement: searchLiveQueuesSql,
    params: { ...page, states: '{ready,scheduled,retrying,waiting,running}', queues: '{quiet}', most: 5_000 },
    paths: /job_(running|pkey|ready|ready_keyed|due|waiting)/,
    blocks: 20_000,
  },
  'a busy queue': {
    statement: searchLiveQueuesSql,
    params: { ...page, states: '{ready}', queues: '{busy}', most: 5_000 },
    paths: /job_(running|pkey|ready|ready_keyed|due|waiting)/,
    blocks: 20_000,
  },
  'an error group': {
    statement: searchDeadSql,
    params: byDead('fingerprint', '{b02c9e51b02c9e51}'),
    paths: /dead_/,
    blocks: 40_000,
  },
  'dead of a key': {
    statement: searchDeadSql,
    params: byDead('key', '{key-7}'),
    paths: /dead_/,
    blocks: 40_000,
  },
  'dead of two kinds': {
    statement: searchDeadSql,
    params: byDead('kind', '{charge.capture,charge.refund}'),
    paths: /dead_/,
    blocks: 40_000,
  },
  'dead of a queue': {
    statement: searchDeadSql,
    params: byDead('queue', '{busy}'),
    paths: /dead_/,
    blocks: 40_000,
  },
  'dead with a word': {
    statement: searchDeadSql,
    params: byDead('search', '{country:BR}'),
    paths: /dead_/,
    blocks: 40_000,
  },
  'a correlation': {
    statement: searchCorrelationSql,
    params: { ...page, correlations: '{order-7}', ownIds: '{}', most: 5_000 },
    paths: /_correlation_id_idx|_id_idx|finished_/,
    blocks: 3_000,
  },
  'some ids': {
    statement: searchIdsSql,
    params: { ...page, ids: `{${firstId},${lastId}}` },
    paths: /_pkey|_id_idx/,
    blocks: 500,
  },
  'groups that begin so': {
    statement: deadFingerprintsSql,
    params: { prefix: 'b02c', most: 51 },
    paths: /dead_fingerprint/,
    blocks: 500,
  },
  'kinds that begin so': {
    statement: deadKindsSql,
    params: { prefix: 'charge.', most: 51 },
    paths: /dead_kind/,
    blocks: 500,
  },
  'counts of groups': {
    statement: deadCountsSql,
    params: { fingerprints: '{b02c9e51b02c9e51,ffff}', most: 1_001 },
    paths: /dead_fingerprint/,
    blocks: 3_000,
  },
}

/** Dead letters are few: the planner may read all of them where it knows the values and finds that cheaper. */
const large = { generic: /^(job|dead|finished_\d{8})$/, custom: /^(job|finished_\d{8})$/ }

describe.each([
  ['missing', `delete from pg_statistic where starelid::regclass::text ~ '^stint[.](job|dead|finished)'`],
  ['fresh', 'analyze stint.job, stint.dead, stint.finished'],
])('with %s statistics', (_, prepare) => {
  beforeAll(async () => {
    await db.query(prepare)
  })

  test.each(Object.entries(cases))('a search for %s uses an index, at a bounded cost', async (name, one) => {
    for (const mode of ['generic', 'custom'] as const) {
      const explained = await explain(one, mode)
      const paths = accessPaths(explained.Plan).filter(({ relation }) => large[mode].test(relation))
      const wrong = paths.filter(({ path, relation }) => path === relation || !one.paths.test(path))
      expect.soft({ name, mode, wrong: await onlyFilled(wrong) }).toEqual({ name, mode, wrong: [] })
      expect.soft(touchedBlocks(explained), `${name} ${mode}`).toBeLessThan(one.blocks)
      const unbounded = unboundedWork(explained.Plan, new Set(['job'])).filter(
        (work) => !work.endsWith('pkey'),
      )
      if (one.isBounded === true)
        expect.soft({ name, mode, unbounded }).toEqual({ name, mode, unbounded: [] })
    }
  })
})

/** A day of history without rows may be read whole. */
async function onlyFilled<Path extends { relation: string }>(paths: readonly Path[]): Promise<Path[]> {
  const filled: Path[] = []
  for (const path of paths) {
    const { rows: found } = await db.query<{ size: number }>(
      `select pg_relation_size('stint.' || quote_ident($1))::integer as size`,
      [path.relation],
    )
    if ((found[0]?.size ?? 0) > 0) filled.push(path)
  }
  return filled
}

async function explain({ statement, params }: Case, mode: string): Promise<Explained> {
  await db.query(`set plan_cache_mode = force_${mode}_plan`)
  await db.query('deallocate all')
  await db.query(`prepare probe as ${render(statement, 'stint')}`)
  const literals = statement.params.map((param) => {
    const value = params[param]
    return value === null || value === undefined ? 'null' : `'${String(value).replaceAll("'", "''")}'`
  })
  const call = literals.length === 0 ? 'probe' : `probe(${literals.join(', ')})`
  const { rows: found } = await db.query<{ 'QUERY PLAN': [Explained] }>(
    `explain (analyze, buffers, timing off, format json) execute ${call}`,
  )
  const [row] = found
  if (row === undefined) throw new Error('no plan')
  return row['QUERY PLAN'][0]
}

async function fill(): Promise<void> {
  const id = (n: string): string =>
    `(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 86400000 + ${n}), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8000' || lpad(to_hex(n), 12, '0'))::uuid`
  const kind = `case n % 3 when 0 then 'charge.capture' when 1 then 'charge.refund' else 'mail.send' end`
  await db.query(
    `insert into stint.finished (id, created_at, run_at, finished_at, state, epoch, attempt, max_attempts, crashes, priority,
                                 version, queue, kind, correlation_id, input)
     select ${id('n')}, now(), now(), now(), 'succeeded', 1, 1, 5, 0, 0, 1, 'busy', ${kind},
            case when n % 10 = 0 then 'order-' || n % 10000 end, '{}'
       from generate_series(1, ${rows}) as n`,
  )
  await db.query(
    `insert into stint.job (id, state, queue, kind, key, input, lease_id, worker_id)
     select ${id(`${rows} + n`)}, (case when n % 5000 = 0 then 'running' when n % 20 = 2 then 'scheduled' else 'ready' end)::stint.job_state,
            case when n % 10000 = 3 then 'quiet' else 'busy' end, ${kind}, case when n % 2 = 0 then 'key-' || n % 500 end, '{}',
            case when n % 5000 = 0 then gen_random_uuid() end, case when n % 5000 = 0 then gen_random_uuid() end
       from generate_series(1, ${rows}) as n`,
  )
  await db.query(
    `insert into stint.dead (id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version, queue, kind,
                             key, search, input, reason, fingerprint)
     select ${id('n * 10 + 7')}, now(), now(), 5, 5, 5, 0, 0, 1, 'busy', ${kind}, 'key-' || n % 50,
            array['country:' || case n % 50 when 0 then 'BR' else 'IT' end], '{}', 'exhausted',
            case when n % 5 = 0 then 'b02c9e51b02c9e51' else lpad(to_hex(n % 200), 16, 'a') end
       from generate_series(1, ${dead}) as n`,
  )
}
