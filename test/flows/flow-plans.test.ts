/*
 * How the database executes the statements of flows among 100,000 jobs of 20,000 flows, without statistics and with fresh ones:
 * what a statement touches depends on the jobs and flows that it is for, and not on the tables.
 */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { burySql } from '../../src/flows/endings/bury.sql.ts'
import { countSql } from '../../src/flows/endings/count.sql.ts'
import { endSql } from '../../src/flows/endings/end.sql.ts'
import { lookAtChildrenSql } from '../../src/flows/children/look-at-children.sql.ts'
import { outputsSql } from '../../src/flows/children/outputs.sql.ts'
import { spawnSql } from '../../src/flows/children/spawn.sql.ts'
import { suspendSql } from '../../src/flows/waiting/suspend.sql.ts'
import { deadResourcesSql } from '../../src/flows/graph/dead-resources.sql.ts'
import { getSql } from '../../src/flows/graph/get.sql.ts'
import { listSql } from '../../src/flows/graph/list.sql.ts'
import { membersSql } from '../../src/flows/graph/members.sql.ts'
import { replayMembersSql } from '../../src/flows/graph/replay-members.sql.ts'
import { resourcesSql } from '../../src/flows/graph/resources.sql.ts'
import { cancelMembersSql } from '../../src/flows/upkeep/cancel-members.sql.ts'
import { lookSql } from '../../src/flows/upkeep/look.sql.ts'
import { stuckFlowsSql } from '../../src/flows/upkeep/stuck-flows.sql.ts'
import { wakeWatchersSql } from '../../src/flows/upkeep/wake-watchers.sql.ts'
import { lastUuid } from '../../src/core/uuid.ts'
import { firstId } from '../../src/flows/upkeep/upkeep.ts'
import { replaySql } from '../../src/operations/execute/replay.sql.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { analyze, tryOut } from '../support/explain.ts'
import type { Call } from '../support/explain.ts'
import { forgetStatistics } from '../support/planner-statistics.ts'
import { touchedBlocks } from '../support/plan.ts'
import type { Explained } from '../support/plan.ts'
import { openClient } from './flow-scene.ts'

const flows = 20_000
const lease = '00000000-0000-4000-9000-000000000001'

let testDb: TestDatabase
let db: pg.Client
let calls: Record<string, Call & { of: number }>
beforeAll(async () => {
  testDb = await createTestDatabase()
  db = await openClient(testDb)
  await db.query(`set statement_timeout = '60s'`)
  // Each flow is a chain: one job that runs, a group of three and a last one that wait.
  await db.query(
    `create temp table made as select n, gen_random_uuid() as id from generate_series(1, ${flows}) as n`,
  )
  await db.query(`insert into stint.flow (id, name, open_nodes) select id, 'chain', 3 from made`)
  await db.query(`insert into stint.flow_node (flow_id, node, name, needs, chances, total, remaining, on_succeeded)
    select id, node, 'n' || node, sign(node), sign(node), jobs, jobs, case when node < 2 then array[node + 1] end
      from made cross join (values (0, 1), (1, 3), (2, 1)) as node (node, jobs)`)
  await db.query(`insert into stint.job (id, state, queue, kind, flow_id, node, member, attempt, epoch, worker_id, lease_id, started_at)
    select gen_random_uuid(), case when node = 0 then 'running' else 'waiting' end::stint.job_state, 'q', 'k', id, node, place, 1, 1,
           case when node = 0 then '${lease}'::uuid end, case when node = 0 then '${lease}'::uuid end, case when node = 0 then now() end
      from made cross join (values (0, 0), (1, 0), (1, 1), (1, 2), (2, 0)) as member (node, place)`)
  await db.query(`insert into stint.flow_output (flow_id, node, member, job_id, state)
    select gen_random_uuid(), 0, 0, id, 'succeeded' from made cross join generate_series(1, 5)`)
  await db.query(`insert into stint.dead (id, queue, kind, flow_id, node, member, created_at, run_at, died_at, attempt, epoch,
                                          max_attempts, crashes, priority, version, reason)
    select id, 'q', 'k', flow_id, 0, 0, now(), now(), now() - interval '1 minute', 1, 1, 1, 0, 0, 1, 'permanent' from (
      select job_id as id, flow_id from stint.flow_output order by flow_id limit 20000) as o on conflict do nothing`)
  await db.query(`insert into stint.flow_ending (flow_id, node, succeeded, written_at)
    select id, 0, 1, now() - interval '1 minute' from made where n % 2 = 0`)
  await db.query(`insert into stint.job_watch select id, id from made limit 5000`)
  await db.query(
    `update stint.flow set cancel_at = now() where id in (select id from made where n % 200 = 1)`,
  )
  const list = async (text: string): Promise<string> =>
    (await db.query<{ list: string }>(`select (array(${text}))::text as list`)).rows[0]?.list ?? ''
  const [{ id: one } = { id: '' }] = (await db.query<{ id: string }>('select id from made where n = 7')).rows
  const batch = {
    ids: await list(`select id from stint.job where state = 'running' order by id limit 500`),
    leaseIds: `{${lease}}`,
    lockMs: null,
    results: null,
    steps: null,
    items:
      (
        await db.query<{ items: string }>(
          `select jsonb_object_agg(id, '{"outcome": "failed", "reason": "permanent", "ranMs": 1}'::jsonb)::text as items
             from (select id from stint.job where state = 'running' order by id limit 500) as batch`,
        )
      ).rows[0]?.items ?? '',
  }
  // Parents: each runs, and has one set of 20 children, of which one is dead.
  await db.query(
    `create temp table family as select n, gen_random_uuid() as parent, gen_random_uuid() as id from generate_series(1, 500) as n`,
  )
  await db.query(`insert into stint.job (id, state, queue, kind, attempt, epoch, worker_id, lease_id, started_at)
    select parent, 'running', 'q', 'parent', 1, 1, '${lease}', '${lease}', now() from family`)
  await db.query(
    `insert into stint.flow (id, type, name, parent_id, open_nodes) select id, 'children', 'k', parent, 1 from family`,
  )
  await db.query(
    `insert into stint.flow_node (flow_id, node, name, skips, total, remaining) select id, 0, 'k', true, 20, 20 from family`,
  )
  await db.query(`insert into stint.flow_output (flow_id, node, member, job_id, state)
    select id, 0, member, gen_random_uuid(), case when member = 7 then 'dead' else 'succeeded' end::stint.job_state
      from family cross join generate_series(0, 18) as member`)
  const family = (await db.query<{ parent: string; id: string }>('select parent, id from family order by n'))
    .rows
  const [parent = { parent: '', id: '' }] = family
  const ofParent = { id: parent.parent, lease, flow: firstId, kind: 'k', jobs: 5 }
  const groups = JSON.stringify([
    {
      ...{ queue: 'q', kind: 'k', priority: 0, maxAttempts: 1, version: 1 },
      ids: Array.from({ length: 5 }, () => randomUUID()),
      places: [0, 1, 2, 3, 4],
      inputs: [1, 2, 3, 4, 5],
    },
  ])
  const suspended = family.map((one) => ({
    ...{ id: one.parent, lease, ranMs: 1, reason: 'all' },
    waits: { flows: { [one.id]: 'ended' }, jobs: [one.parent] },
  }))
  calls = {
    spawn: {
      statement: spawnSql,
      params: {
        ...{
          ...ofParent,
          groups,
          name: 'spawn:k',
          n: 0,
          seq: 0,
          state: 'done',
          epoch: 1,
          beside: 'false',
          ms: 1,
        },
        ...{ result: '{}', mostLevels: 20 },
      },
      of: 5,
    },
    suspend: {
      statement: suspendSql,
      params: { items: JSON.stringify(suspended), worker: lease, lockMs: null },
      of: 500,
    },
    'look-at-children': {
      statement: lookAtChildrenSql,
      params: { ...ofParent, flows: `{${parent.id}}`, atFailure: 'true', cancels: 'true' },
      of: 1,
    },
    outputs: {
      statement: outputsSql,
      params: { flows: `{${family.map(({ id }) => id).join()}}`, place: -1, member: -1 },
      of: 500,
    },
    end: { statement: endSql, params: { ...batch, state: 'succeeded' }, of: 500 },
    'end by a cancel': { statement: endSql, params: { ...batch, state: 'cancelled' }, of: 500 },
    bury: { statement: burySql, params: batch, of: 500 },
    count: {
      statement: countSql,
      params: { flows: await list('select id from made where n % 2 = 0 limit 500') },
      of: 500,
    },
    'count one': {
      statement: countSql,
      params: { flows: await list('select id from made where n % 2 = 0 limit 1') },
      of: 1,
    },
    replay: {
      statement: replaySql,
      params: { ids: await list('select id from stint.dead order by id limit 500'), asOf: '2100-01-01' },
      of: 500,
    },
    // A page of flows, a flow, the jobs of its small nodes, and who may see it.
    list: {
      statement: listSql,
      params: { before: lastUuid, isOpen: 'false', name: null, type: 'flow', limit: 51 },
      of: 51,
    },
    get: { statement: getSql, params: { id: one }, of: 1 },
    members: { statement: membersSql, params: { id: one, nodes: '{0,2}', limit: 1_000 }, of: 1 },
    resources: {
      statement: resourcesSql,
      params: { ids: await list('select id from made limit 20') },
      of: 20,
    },
    'replay of a flow': { statement: replayMembersSql, params: { id: one }, of: 1 },
    'who may replay a flow': { statement: deadResourcesSql, params: { id: one }, of: 1 },
    look: { statement: lookSql, params: { after: firstId, olderThanMs: 1_000 }, of: 500 },
    'wake-watchers': { statement: wakeWatchersSql, params: {}, of: 500 },
    'cancel-members': { statement: cancelMembersSql, params: { after: firstId }, of: 500 },
    'stuck-flows': { statement: stuckFlowsSql, params: { after: firstId }, of: 500 },
  }
}, 120_000)
afterAll(async () => {
  await db.end()
  await testDb.drop()
})

describe.each(['missing', 'fresh'])('with %s statistics', (situation) => {
  beforeAll(async () => {
    if (situation === 'missing') await forgetStatistics(db)
    else await db.query('analyze')
  })

  test.each(['generic', 'custom'] as const)(
    'each statement touches a bounded number of blocks (%s plans)',
    async (mode) => {
      const blocks: Record<string, number> = {}
      for (const [name, { of, ...call }] of Object.entries(calls))
        blocks[name] = Math.round(allBlocks(await analyze(db, call, { mode })) / of)
      if (process.env['SHOW'] !== undefined) console.log(situation, mode, blocks)
      for (const [name, each] of Object.entries(blocks))
        expect.soft({ name, each, isBounded: each < 400 }).toEqual({ name, each, isBounded: true })
    },
  )
})

test('counting 500 flows releases 1,500 jobs and returns one hint', async () => {
  await tryOut(db, async () => {
    const { rows } = await db.query(
      `select type, queue from stint.count_endings(array(select id from made where n % 2 = 0 limit 500))`,
    )
    expect(rows).toEqual([{ type: 'ready', queue: 'q' }])
    const { rows: released } = await db.query(
      `select count(*)::integer as jobs from stint.job where state = 'ready'`,
    )
    expect(released).toEqual([{ jobs: 1_500 }])
  })
})

/** A changing CTE that no other part reads runs after the statement proper, which does not show its blocks as its own. */
function allBlocks({ Plan: plan }: Explained): number {
  const apart = (plan.Plans ?? []).filter((child) => child['Subplan Name'] !== undefined)
  return [plan, ...apart].reduce((sum, one) => sum + touchedBlocks({ Plan: one }), 0)
}
