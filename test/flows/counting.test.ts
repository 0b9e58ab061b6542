import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { countEndings } from '../../src/flows/endings/endings.ts'
import { enqueueFlows, startingHints } from '../../src/flows/graph/enqueue.ts'
import type { FlowPlan } from '../../src/flows/graph/plan.ts'
import { getFlow, listFlows } from '../../src/flows/graph/read.ts'
import { prepareJob } from '../../src/jobs/new/new-job.ts'
import type { PreparedJob } from '../../src/jobs/new/new-job.ts'
import { connectTo, createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import {
  connect,
  countAll,
  died,
  HandWorker,
  newContract,
  planOf,
  prepared,
  succeeded,
} from './flow-scene.ts'

let testDb: TestDatabase
let db: Database
let other: Database
beforeAll(async () => {
  testDb = await createTestDatabase()
  db = connect(testDb)
  other = connect(testDb)
})
afterAll(async () => {
  await Promise.all([db.close(), other.close()])
  await testDb.drop()
})

describe('two sessions', () => {
  test('the last two jobs of a group that end at once release the next job once', async () => {
    for (let round = 0; round < 30; round++) {
      const contract = newContract()
      const plan = planOf(contract, { group: { jobs: 2 }, next: { after: { group: 'succeeded' } } })
      await enqueueFlows(db, [plan])
      const workers = [new HandWorker(db, contract), new HandWorker(other, contract)]
      await Promise.all(
        workers.map(async (worker) => {
          const [held] = await worker.claim(1)
          if (held !== undefined) await worker.end(held, succeeded)
          await worker.settler.stop()
        }),
      )
      await countAll(db)
      const next = await workers[0]?.claim()
      expect(next?.map(({ job }) => job.input)).toEqual([{ node: 'next', place: 0 }])
      const flow = await getFlow(db, plan.id)
      expect(flow?.nodes).toMatchObject([
        { remaining: 0, succeeded: 2 },
        { needs: 0, remaining: 1 },
      ])
    }
  })

  test('a flow that another session counts is busy: its endings wait, and are counted next', async () => {
    const contract = newContract()
    const plan = planOf(contract, { group: { jobs: 2 }, next: { after: { group: 'succeeded' } } })
    await enqueueFlows(db, [plan])
    const ending = `insert into stint.flow_ending (flow_id, node, succeeded) values ($1, 0, 1)`
    await testDb.query(ending, [plan.id])
    const session = await connectTo(testDb.url)
    await session.query('begin')
    await session.query('select * from stint.count_endings(array[$1::uuid])', [plan.id])
    await testDb.query(ending, [plan.id])
    // Without the lock of the flow it would wait here for the other session, and then decide by what it read before.
    const second = await connectTo(testDb.url)
    await second.query(`set lock_timeout = '2s'`)
    const { rows } = await second.query('select type, id from stint.count_endings(array[$1::uuid])', [
      plan.id,
    ])
    expect(rows).toEqual([{ type: 'busy', id: plan.id }])
    await session.query('commit')
    expect(await countEndings(db, [plan.id])).toEqual({
      released: [{ queue: contract.queue, priority: 0, key: null }],
      busy: [],
    })
  })
})

describe('storing flows', () => {
  test('a unique flow is stored once while it is open, by many callers at once', async () => {
    const contract = newContract()
    const uniqueKey = contract.queue
    const plans = Array.from({ length: 20 }, () => planOf(contract, { one: {} }, { uniqueKey }))
    const placed = await Promise.all(
      plans.map(async (plan, index) => (await enqueueFlows(index % 2 === 0 ? db : other, [plan]))[0]),
    )
    expect(new Set(placed.map((one) => one?.id)).size).toBe(1)
    expect(placed.filter((one) => one?.placement === 'stored')).toHaveLength(1)
    const worker = new HandWorker(db, contract)
    await worker.runAll(() => succeeded)
    expect(
      await testDb.query('select id from stint.finished where queue = $1', [contract.queue]),
    ).toHaveLength(1)
    expect(await enqueueFlows(db, [planOf(contract, { one: {} }, { uniqueKey })])).toMatchObject([
      { placement: 'stored' },
    ])
  })

  test('a flow that is sent again with its id is stored once, also after it has ended', async () => {
    const contract = newContract()
    const plan = planOf(contract, { one: { jobs: 3 } })
    const [first] = await enqueueFlows(db, [plan])
    expect(await enqueueFlows(db, [plan])).toEqual([first])
    const worker = new HandWorker(db, contract)
    await worker.runAll(() => succeeded)
    expect(await enqueueFlows(db, [plan])).toEqual([{ id: plan.id, placement: 'stored' }])
    expect(await worker.claim()).toEqual([])
  })

  test('many flows are stored by one statement, all of them or none, and answered in order', async () => {
    const contract = newContract()
    const plans = Array.from({ length: 20 }, () =>
      planOf(contract, { a: { jobs: 2 }, b: { after: { a: 'ended' } } }),
    )
    expect((await enqueueFlows(db, plans)).map(({ id }) => id)).toEqual(plans.map(({ id }) => id))
    const [twice] = plans
    if (twice === undefined) throw new Error('no plan')
    const clash: FlowPlan = { ...planOf(contract, { a: {} }), nodes: twice.nodes }
    const good = planOf(contract, { a: {} })
    await expect(enqueueFlows(db, [good, clash])).rejects.toThrow('duplicate key')
    expect(await getFlow(db, good.id)).toBeUndefined()
    const { flows: summaries } = await listFlows(db, { limit: 200, name: 'test', isOpen: true })
    expect(summaries.filter(({ id }) => plans.some((plan) => plan.id === id))).toHaveLength(20)
    expect(summaries.find(({ id }) => id === twice.id)).toMatchObject({
      state: 'open',
      total: 3,
      remaining: 3,
    })
    expect(startingHints(plans)).toEqual(new Set([twice.nodes[0]?.jobs[0]?.hint]))
  })

  test('the delay and the deadline of a job that waits count from when it may start', async () => {
    const contract = newContract()
    const later = (options: object): PreparedJob => prepareJob(contract, 1, options, undefined) as PreparedJob
    const jobs = [later({ delay: '1h', deadline: '2h' }), later({ deadline: '1m' }), later({})]
    const node = {
      name: 'late',
      after: [{ node: 0, when: 'ended' as const }],
      onDead: 'hold' as const,
      keepsOutputs: false,
      jobs,
    }
    const plan = { ...planOf(contract, { first: {} }) }
    await enqueueFlows(db, [{ ...plan, nodes: [...plan.nodes, node] }])
    const read = (): Promise<unknown[]> =>
      testDb.query(
        `select state::text, round(extract(epoch from run_at - stint.now()) / 60) as run, waits,
                round(extract(epoch from deadline_at - stint.now()) / 60) as deadline, member
           from stint.job where flow_id = $1 and node = 1 order by array_position($2::uuid[], id)`,
        [plan.id, jobs.map(({ job }) => job.id)],
      )
    const tenYears = String(3652.5 * 24 * 60)
    const waiting = { state: 'waiting', run: tenYears, deadline: null, member: null }
    expect(await read()).toEqual([
      { ...waiting, waits: { node: true, delayMs: 3_600_000, deadlineMs: 7_200_000 } },
      { ...waiting, waits: { node: true, deadlineMs: 60_000 } },
      { ...waiting, waits: { node: true } },
    ])
    const worker = new HandWorker(db, contract)
    const [held] = await worker.claim(1)
    if (held === undefined) throw new Error('nothing to claim')
    await worker.end(held, succeeded)
    await worker.settler.stop()
    const released = { waits: null, member: null }
    expect(await read()).toEqual([
      { ...released, state: 'scheduled', run: '60', deadline: '180' },
      { ...released, state: 'ready', run: '0', deadline: '1' },
      { ...released, state: 'ready', run: '0', deadline: null },
    ])
  })

  test('a plan that cannot end, or cannot be stored, is refused with its path', async () => {
    const contract = newContract()
    const cyclic = planOf(contract, { a: { after: { b: 'ended' } }, b: { after: { a: 'ended' } }, c: {} })
    const unique = prepareJob(contract, 1, { unique: {} }, undefined) as PreparedJob
    const nodeOf = (more: object): FlowPlan => {
      const plan = planOf(contract, { a: {} })
      return { ...plan, nodes: plan.nodes.map((node) => ({ ...node, ...more })) }
    }
    const cases: [FlowPlan, string][] = [
      [cyclic, "flows[0].nodes: These nodes wait for each other: 'a', 'b'."],
      [{ ...cyclic, nodes: [] }, 'flows[0].nodes: Expected 1 to 1000 nodes, got 0.'],
      [nodeOf({ jobs: [] }), "flows[0].nodes[0].jobs: Expected 1 to 100000 jobs in node 'a', got 0."],
      [nodeOf({ after: [{ node: 7, when: 'ended' }] }), 'flows[0].nodes[0].after[0]: There is no node 7.'],
      [nodeOf({ needs: 1 }), "flows[0].nodes[0].needs: Node 'a' waits for 0 nodes and needs 1 of them."],
      [
        nodeOf({ jobs: [prepared(contract), unique] }),
        'flows[0].nodes[0].jobs[1]: A job of a flow cannot be unique',
      ],
    ]
    for (const [plan, message] of cases)
      await expect(enqueueFlows(db, [plan])).rejects.toMatchObject({
        code: 'invalid-input',
        message: expect.stringContaining(message) as string,
      })
  })
})

describe('a job that waits for flows', () => {
  test.each([
    { until: 'ended', outcomes: ['succeeded', 'dead'], wakes: [false, true] },
    { until: 'dead', outcomes: ['dead', 'succeeded'], wakes: [true, true] },
    { until: 'dead', outcomes: ['succeeded', 'succeeded'], wakes: [false, true] },
  ])('wakes when its children have $until', async ({ until, outcomes, wakes }) => {
    const [contract, children] = [newContract(), newContract()]
    const parent = planOf(contract, { parent: {} })
    await enqueueFlows(db, [parent])
    const id = parent.nodes[0]?.jobs[0]?.job.id ?? ''
    const set = planOf(children, { all: { jobs: 2, onDead: 'skip' } }, { parentId: id })
    await enqueueFlows(db, [set])
    await testDb.query(`update stint.flow set type = 'children' where id = $1`, [set.id])
    await testDb.query(
      `update stint.job set state = 'waiting', run_at = stint.now() + interval '1 day', waits = $2 where id = $1`,
      [id, JSON.stringify({ flows: { [set.id]: until } })],
    )
    const worker = new HandWorker(db, children)
    const held = await worker.claim()
    for (const [index, one] of held.entries()) {
      await worker.end(one, outcomes[index] === 'dead' ? died : succeeded)
      await worker.settler.stop()
      await countAll(db)
      const [row] = await testDb.query<{ state: string }>('select state::text from stint.job where id = $1', [
        id,
      ])
      expect(row?.state).toBe(wakes[index] === true ? 'ready' : 'waiting')
    }
  })
})
