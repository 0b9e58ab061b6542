/*
 * How the database reads what people look at: through indexes, and no more of them than a limit allows, whatever the
 * planner knows of the tables.
 */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { render } from '../../src/db/statement.ts'
import type { Statement } from '../../src/db/statement.ts'
import { deadCountsSql } from '../../src/view/dead-counts.sql.ts'
import { jobGlancesSql } from '../../src/view/job-glances.sql.ts'
import { leasesSql } from '../../src/view/leases.sql.ts'
import { workersSql } from '../../src/view/workers.sql.ts'
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
  /** Of the 5,000 and more that each table has. */
  blocks: number
}

const cases: Record<string, Case> = {
  workers: {
    statement: workersSql,
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
  'job-glances': {
    statement: jobGlancesSql,
    params: () => ({ ids: Array.from({ length: 20 }, () => randomUUID()) }),
    uses: /^(job_pkey|dead_pkey|finished_\d+_id_idx)$/,
    blocks: 2_000,
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
  test.each(Object.entries(cases))('%s reads through an index, up to its limit', async (_, one) => {
    const client = await connectTo(db.url)
    if (statistics === 'analyzed') await client.query('analyze stint.job, stint.dead, stint.finished')
    await client.query(`set statement_timeout = '20s'`)
    const explained = await explain(client, one)
    const large = accessPaths(explained.Plan).filter(({ relation }) =>
      /^(job|dead|finished_\d+)$/.test(relation),
    )
    // Days that are made ahead are empty, and read whole as well as not.
    const used = large.filter(
      ({ relation, path }) => !(relation.startsWith('finished_') && path === relation),
    )
    expect(used.length).toBeGreaterThan(0)
    for (const { relation, path } of used) {
      // A place of the view that is asked for nothing.
      if (path === relation) expect(neverRun(explained, relation), `reads all of ${relation}`).toBe(true)
      else expect(path).toMatch(one.uses)
    }
    expect(touchedBlocks(explained)).toBeLessThan(one.blocks)
  })
})

/** Whether no scan of a whole table was carried out. */
function neverRun({ Plan: plan }: Explained, relation: string): boolean {
  const nodes = [plan]
  for (const node of nodes) nodes.push(...(node.Plans ?? []))
  return nodes
    .filter((node) => node['Relation Name'] === relation && node['Node Type'] === 'Seq Scan')
    .every((node) => (node as { 'Actual Loops'?: number })['Actual Loops'] === 0)
}
