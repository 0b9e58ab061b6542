import { afterAll, beforeAll, expect, test } from 'vitest'
import { Stint } from '../../src/index.ts'
import type { Database } from '../../src/db/database.ts'
import { enqueueFlows } from '../../src/flows/graph/enqueue.ts'
import type { FlowPlan } from '../../src/flows/graph/plan.ts'
import { nextId } from '../../src/jobs/new/ids.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { connect, died, HandWorker, newContract, planOf, succeeded } from './flow-scene.ts'

let testDb: TestDatabase
let db: Database
let stint: Stint
beforeAll(async () => {
  testDb = await createTestDatabase()
  db = connect(testDb)
  stint = new Stint({ connection: testDb.url })
})
afterAll(async () => {
  await stint.close()
  await db.close()
  await testDb.drop()
})

test('flows.list() pages through flows by name, newest first, and leaves out the sets that jobs made', async () => {
  const contract = newContract()
  const plans = Array.from({ length: 5 }, () => planOf(contract, { a: {} }, { name: 'paged' }))
  await enqueueFlows(db, [...plans, planOf(contract, { a: {} }, { name: 'other' })])
  const [made] = plans.slice(0, 1)
  await testDb.query(
    `insert into stint.flow (id, type, name, open_nodes) values ($1, 'children', 'paged', 1)`,
    [nextId()],
  )
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const { flows, next } = await stint.flows.list({ name: 'paged', limit: 2, cursor })
    ids.push(...flows.map(({ id }) => id))
    cursor = next
  } while (cursor !== undefined)
  expect(ids).toEqual(plans.map(({ id }) => id).reverse())
  expect(await stint.flows.list({ name: 'paged', type: 'children' })).toMatchObject({
    flows: [{ type: 'children', state: 'open' }],
  })
  expect(await stint.flows.get(made?.id ?? '')).toMatchObject({
    name: 'paged',
    state: 'open',
    nodes: [{ name: 'a', remaining: 1 }],
  })
})

test('a page that looked through 50,000 flows says where the next one begins', async () => {
  const contract = newContract()
  const old = planOf(contract, { a: {} }, { name: 'rare' })
  await enqueueFlows(db, [old])
  await testDb.query(
    `insert into stint.flow (id, name, open_nodes, ended_at) select stint.uuid_v7(), 'usual', 0, now() from generate_series(1, 50000)`,
  )
  const { flows, next } = await stint.flows.list({ name: 'rare' })
  expect(flows).toEqual([])
  expect(await stint.flows.list({ name: 'rare', cursor: next })).toMatchObject({
    flows: [{ id: old.id }],
    next: undefined,
  })
  expect(await stint.flows.list({ name: 'rare', open: true })).toMatchObject({ flows: [{ id: old.id }] })
})

async function held(name: string): Promise<{ plan: FlowPlan; worker: HandWorker }> {
  const contract = newContract()
  const plan = planOf(contract, { a: { jobs: 2 }, b: { after: { a: 'succeeded' } } }, { name })
  await enqueueFlows(db, [plan])
  const worker = new HandWorker(db, contract)
  await worker.runAll(({ place }) => (place === 0 ? died : succeeded))
  return { plan, worker }
}

test('flows.replay() makes the dead jobs ready, and the flow goes on', async () => {
  const { plan, worker } = await held('replayed')
  expect(await stint.flows.get(plan.id)).toMatchObject({ state: 'held' })
  const { replayed, flow } = await stint.as({ actor: 'ana' }).flows.replay(plan.id, { reason: 'repaired' })
  expect(replayed).toEqual([plan.nodes[0]?.jobs[0]?.job.id])
  expect(flow.id).toBe(plan.id)
  await worker.runAll(() => succeeded)
  expect(await stint.flows.get(plan.id)).toMatchObject({
    state: 'ended',
    nodes: [{ dead: 0 }, { succeeded: 1 }],
  })
  expect((await stint.flows.replay(plan.id)).replayed).toEqual([])
  expect(await stint.audit.list({ target: plan.id })).toMatchObject({
    entries: [{ action: 'flow.replay', actor: 'ana', reason: 'repaired' }],
  })
})

test('flows.cancel() needs the state that the caller saw, and refuses a flow that has ended', async () => {
  const { plan, worker } = await held('cancelled')
  const ana = stint.as({ actor: 'ana' })
  await expect(ana.flows.cancel(plan.id, { expect: { state: 'open' } })).rejects.toMatchObject({
    code: 'state-changed',
    current: { id: plan.id, state: 'held' },
  })
  const cancelled = await ana.flows.cancel(plan.id, { reason: 'no more', expect: { state: 'held' } })
  expect(cancelled).toMatchObject({ state: 'cancelled', cancelReason: 'no more' })
  expect((await ana.flows.cancel(plan.id)).state).toBe('cancelled')
  const { entries } = await stint.audit.list({ target: plan.id })
  expect(entries.map(({ action, outcome, reason }) => [action, outcome, reason])).toEqual([
    ['flow.cancel', 'done', null],
    ['flow.cancel', 'done', 'no more'],
    ['flow.cancel', 'refused', null],
  ])

  await worker.runAll(() => succeeded)
  const other = await held('ended')
  await stint.flows.replay(other.plan.id)
  await other.worker.runAll(() => succeeded)
  await expect(stint.flows.cancel(other.plan.id)).rejects.toMatchObject({ code: 'flow-ended' })
  const unknown = nextId()
  await expect(stint.flows.cancel(unknown)).rejects.toMatchObject({ code: 'flow-not-found' })
  await expect(stint.flows.replay(unknown)).rejects.toMatchObject({ code: 'flow-not-found' })
})

test('a wrong option of a call about flows is named', async () => {
  const wrong: [Promise<unknown>, string][] = [
    [stint.flows.list({ limit: 0 }), 'limit'],
    [stint.flows.list({ cursor: 'x' }), 'cursor'],
    [stint.flows.list({ type: 'x' as 'flow' }), 'type'],
    [stint.flows.list({ opened: true } as object), 'opened'],
    [stint.flows.get('x'), 'id'],
    [stint.flows.cancel(nextId(), { expect: { state: 'dead' as 'open' } }), 'expect.state'],
    [stint.flows.cancel(nextId(), { reason: 'x'.repeat(1_001) }), 'reason'],
    [stint.flows.replay('x'), 'id'],
  ]
  for (const [call, path] of wrong)
    await expect(call).rejects.toMatchObject({ code: 'invalid-option', issues: [{ path }] })
})
