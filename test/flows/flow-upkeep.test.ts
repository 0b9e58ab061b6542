import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { cancelFlow } from '../../src/flows/graph/act.ts'
import { enqueueFlows } from '../../src/flows/graph/enqueue.ts'
import type { FlowPlan } from '../../src/flows/graph/plan.ts'
import { getFlow } from '../../src/flows/graph/read.ts'
import { movableClock } from '../support/clock.ts'
import type { TestClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { upkeepByHand } from '../support/history.ts'
import type { UpkeepHand } from '../support/history.ts'
import { connect, countAll, died, HandWorker, newContract, planOf, succeeded } from './flow-scene.ts'

let testDb: TestDatabase
let db: Database
let clock: TestClock
let hand: UpkeepHand
beforeAll(async () => {
  testDb = await createTestDatabase()
  clock = await movableClock(testDb)
  db = connect(testDb)
})
beforeEach(() => {
  // A new leader each: one that has just worked for long pauses.
  hand = upkeepByHand(testDb.url)
  return () => hand.close()
})
afterAll(async () => {
  await db.close()
  await testDb.drop()
})

function idOf(plan: FlowPlan, node = 0, job = 0): string {
  return plan.nodes[node]?.jobs[job]?.job.id ?? ''
}

async function stateOf(id: string): Promise<string | undefined> {
  const [row] = await testDb.query<{ state: string }>('select state::text from stint.jobs where id = $1', [
    id,
  ])
  return row?.state
}

/** An ending that a worker has stored and not counted. */
async function endUncounted(plan: FlowPlan): Promise<void> {
  await testDb.query(
    `with gone as (delete from stint.job where flow_id = $1 and node = 0)
     insert into stint.flow_ending (flow_id, node, succeeded) values ($1, 0, 1)`,
    [plan.id],
  )
}

test('the leader counts endings that no worker has counted for a second', async () => {
  const plan = planOf(newContract(), { a: {}, b: { after: { a: 'succeeded' } } })
  await enqueueFlows(db, [plan])
  await endUncounted(plan)
  await hand.pass('flows')
  expect(await stateOf(idOf(plan, 1))).toBe('waiting')
  await clock.advance('2 seconds')
  const next = upkeepByHand(testDb.url)
  await next.pass('flows')
  await next.close()
  expect(await stateOf(idOf(plan, 1))).toBe('ready')
})

test('more flows than one page are counted in one pass', async () => {
  const contract = newContract()
  const plans = Array.from({ length: 1_200 }, () => planOf(contract, { a: {} }))
  await enqueueFlows(db, plans)
  await testDb.query(
    `with gone as (delete from stint.job where queue = $1 returning flow_id)
    insert into stint.flow_ending (flow_id, node, succeeded, written_at) select flow_id, 0, 1, now() - interval '1 minute' from gone`,
    [contract.queue],
  )
  await hand.pass('flows')
  expect(
    await testDb.query(`select from stint.flow where id = any($1) and ended_at is null`, [
      plans.map(({ id }) => id),
    ]),
  ).toEqual([])
})

test('a job that waits for other jobs wakes when the last of them is gone', async () => {
  const plan = planOf(newContract(), { targets: { jobs: 2 }, waits: {} })
  await enqueueFlows(db, [plan])
  const [one, two, waiter] = [idOf(plan, 0, 0), idOf(plan, 0, 1), idOf(plan, 1)]
  await testDb.query(`update stint.job set state = 'waiting', waits = $2 where id = $1`, [
    waiter,
    JSON.stringify({ jobs: [one, two] }),
  ])
  await testDb.query('insert into stint.job_watch values ($1, $3), ($2, $3)', [one, two, waiter])
  await testDb.query('delete from stint.job where id = $1', [one])
  await hand.pass('flows')
  expect(await stateOf(waiter)).toBe('waiting')
  await testDb.query('delete from stint.job where id = $1', [two])
  const next = upkeepByHand(testDb.url)
  await next.pass('flows')
  await next.close()
  expect(await stateOf(waiter)).toBe('ready')
  expect(await testDb.query('select from stint.job_watch')).toEqual([])
})

describe('a cancelled flow', () => {
  test('its jobs end, running ones are asked to stop, and flows that they made are cancelled too', async () => {
    const contract = newContract()
    const plan = planOf(contract, { a: { jobs: 3 }, b: { jobs: 700, after: { a: 'succeeded' } } })
    await enqueueFlows(db, [plan])
    const worker = new HandWorker(db, contract)
    const [running] = await worker.claim(1)
    if (running === undefined) throw new Error('nothing to claim')
    const waiting = plan.nodes[0]?.jobs.map(({ job }) => job.id).find((id) => id !== running.job.id) ?? ''
    const child = planOf(newContract(), { c: { jobs: 2 } }, { parentId: waiting })
    await enqueueFlows(db, [child])
    expect(await cancelFlow(db, { id: plan.id, reason: 'no more' })).toBe(true)
    expect(await getFlow(db, plan.id)).toMatchObject({ state: 'cancelled', cancelReason: 'no more' })
    await hand.pass('flows')
    const live = await testDb.query('select id, cancel_reason from stint.job where flow_id = $1', [plan.id])
    expect(live).toEqual([{ id: running.job.id, cancel_reason: 'no more' }])
    await worker.end(running, { type: 'cancelled', reason: 'no more' })
    await worker.settler.stop()
    await countAll(db)
    const flow = await getFlow(db, plan.id)
    expect(flow?.endedAt).not.toBeNull()
    expect(flow?.nodes).toMatchObject([
      { cancelled: 3, isComplete: true },
      { cancelled: 700, isComplete: true },
    ])
    const next = upkeepByHand(testDb.url)
    await next.pass('flows')
    await next.close()
    await countAll(db)
    expect(await getFlow(db, child.id)).toMatchObject({
      state: 'cancelled',
      cancelReason: 'the job that made it was cancelled',
      nodes: [{ cancelled: 2, isComplete: true }],
    })
    expect(await cancelFlow(db, { id: plan.id, reason: 'again' })).toBe(false)
  })

  test('a dead job does not keep it open', async () => {
    const contract = newContract()
    const plan = planOf(contract, { a: {}, b: { after: { a: 'succeeded' } } })
    await enqueueFlows(db, [plan])
    await new HandWorker(db, contract).runAll(() => died)
    expect((await getFlow(db, plan.id))?.state).toBe('held')
    await cancelFlow(db, { id: plan.id, reason: null })
    await countAll(db)
    await new HandWorker(db, contract).runAll(() => succeeded)
    const flow = await getFlow(db, plan.id)
    expect(flow).toMatchObject({ state: 'cancelled', nodes: [{ dead: 1 }, { cancelled: 1 }] })
    expect(flow?.endedAt).not.toBeNull()
  })
})

test('jobs that vanished are counted from what the tables have of them', async () => {
  const contract = newContract()
  const plan = planOf(contract, { a: { jobs: 4 }, b: { after: { a: 'ended' } } })
  await enqueueFlows(db, [plan])
  const worker = new HandWorker(db, contract)
  const held = await worker.claim()
  for (const [index, one] of held.entries())
    if (index < 3) await worker.end(one, index < 2 ? succeeded : died)
  await worker.settler.stop()
  await countAll(db)
  // Two of three endings are forgotten, and the last job is deleted by hand.
  await testDb.query(
    'update stint.flow_node set remaining = 3, succeeded = 1, dead = 0 where flow_id = $1 and node = 0',
    [plan.id],
  )
  await hand.pass('flow-repairs')
  expect(await testDb.query('select from stint.flow_ending')).toEqual([])
  await testDb.query('delete from stint.job where flow_id = $1 and node = 0', [plan.id])
  await clock.advance('2 minutes')
  await hand.pass('flow-repairs')
  await hand.pass('flow-repairs')
  await countAll(db)
  expect((await getFlow(db, plan.id))?.nodes[0]).toMatchObject({
    remaining: 0,
    succeeded: 2,
    dead: 1,
    cancelled: 1,
  })
  expect(await stateOf(idOf(plan, 1))).toBe('ready')
})

test('a flow is removed with its outputs a week after its end, unless the job that made it lives', async () => {
  const contract = newContract()
  const parent = planOf(newContract(), { parent: {} })
  const own = planOf(contract, { a: { jobs: 3 } })
  const made = planOf(contract, { a: { jobs: 3 } }, { parentId: idOf(parent) })
  await enqueueFlows(db, [parent, own, made])
  await new HandWorker(db, contract).runAll(() => succeeded)
  await hand.pass('expired')
  expect(await getFlow(db, own.id)).toMatchObject({ state: 'ended' })
  await clock.advance('8 days')
  await hand.pass('expired')
  const outputs = (id: string): Promise<unknown[]> =>
    testDb.query('select from stint.flow_output where flow_id = $1', [id])
  const nodes = (id: string): Promise<unknown[]> =>
    testDb.query('select from stint.flow_node where flow_id = $1', [id])
  expect([await getFlow(db, own.id), await outputs(own.id), await nodes(own.id)]).toEqual([undefined, [], []])
  expect([(await getFlow(db, made.id))?.state, (await outputs(made.id)).length]).toEqual(['ended', 3])
  await testDb.query('delete from stint.job where id = $1', [idOf(parent)])
  await hand.pass('expired')
  expect([await getFlow(db, made.id), await outputs(made.id)]).toEqual([undefined, []])
})

test('records of steps, signals and outputs without their job or flow are removed', async () => {
  const plan = planOf(newContract(), { a: {} })
  await enqueueFlows(db, [plan])
  const [live, gone] = [idOf(plan), randomUUID()]
  for (const job of [live, gone]) {
    await testDb.query(
      `insert into stint.step (job_id, name, n, seq, type, state, epoch) select $1, 's', n, n, 'step', 'done', 1 from generate_series(1, 3) n`,
      [job],
    )
    await testDb.query(
      `insert into stint.signal (id, job_id, name, payload) values (gen_random_uuid(), $1, 's', '1')`,
      [job],
    )
  }
  await testDb.query(
    `insert into stint.flow_output (flow_id, node, member, job_id, state) values ($1, 0, 9, $1, 'succeeded'), ($2, 0, 9, $1, 'succeeded')`,
    [gone, plan.id],
  )
  await hand.pass('flow-repairs')
  const left = await testDb.query(
    `select 'step' as t, job_id as id, count(*)::integer as n from stint.step where job_id = any($1) group by 2
    union all select 'signal', job_id, count(*)::integer from stint.signal where job_id = any($1) group by 2
    union all select 'output', flow_id, count(*)::integer from stint.flow_output where member = 9 group by 2`,
    [[live, gone]],
  )
  expect(left).toEqual([
    { t: 'step', id: live, n: 3 },
    { t: 'signal', id: live, n: 1 },
    { t: 'output', id: plan.id, n: 1 },
  ])
})

test('rows that another program wrote stop no other flow', async () => {
  const contract = newContract()
  const bad = planOf(contract, { a: { jobs: 2 }, b: { after: { a: 'ended' } } })
  const good = planOf(contract, { a: {}, b: { after: { a: 'succeeded' } } })
  await enqueueFlows(db, [bad, good])
  // Counts at the end of their range, edges to nodes that do not exist, values that are no numbers, outputs in the way.
  await testDb.query(
    `update stint.flow_node set remaining = 2147483647, cancelled = 2147483647, on_ended = '{1,7,-3,null}' where flow_id = $1 and node = 0`,
    [bad.id],
  )
  await testDb.query(
    `update stint.job set waits = '{"delayMs": "soon", "deadlineMs": 1e300}' where flow_id = $1 and node = 1`,
    [good.id],
  )
  await testDb.query(
    `insert into stint.flow_output (flow_id, node, member, job_id, state) values ($1, 0, 0, $1, 'dead')`,
    [good.id],
  )
  const old = `now() - interval '1 hour'`
  await testDb.query(
    `insert into stint.flow_ending (flow_id, node, cancelled, written_at) values ($1, 0, 5, ${old})`,
    [bad.id],
  )
  await testDb.query(
    `insert into stint.flow_ending (flow_id, node, succeeded, written_at) values ($1, 99, 1000000, ${old}), ($2, 0, 1, ${old}), ($2, null, 0, ${old})`,
    [good.id, randomUUID()],
  )
  await testDb.query(
    `insert into stint.job_watch select gen_random_uuid(), gen_random_uuid() from generate_series(1, 600)`,
  )
  await testDb.query(
    `insert into stint.flow (id, name, open_nodes, cancel_at) values (gen_random_uuid(), 'x', -5, now())`,
  )
  await endUncounted(good)
  await clock.advance('2 seconds')
  await hand.pass('flows')
  await hand.pass('flow-repairs')
  await hand.pass('expired')
  expect(hand.passedBy).toMatchObject([{ what: `flow ${bad.id}` }])
  expect(await testDb.query('select flow_id from stint.flow_ending')).toEqual([{ flow_id: bad.id }])
  expect(await testDb.query('select from stint.job_watch')).toEqual([])
  expect(await stateOf(idOf(good, 1))).toBe('ready')
  const worker = new HandWorker(db, contract)
  for (const held of await worker.claim()) await worker.settler.settle({ held, outcome: succeeded, ranMs: 1 })
  await worker.settler.stop()
  expect(await stateOf(idOf(good, 1))).toBe('succeeded')
  expect((await getFlow(db, good.id))?.nodes[1]).toMatchObject({ succeeded: 1, remaining: 0 })
  expect(new Set(worker.countTroubles.map(String))).toEqual(new Set(['error: integer out of range']))
})
