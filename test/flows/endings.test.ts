import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Stint } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import type { Database } from '../../src/db/database.ts'
import { run } from '../../src/db/statement.ts'
import { enqueueFlows } from '../../src/flows/graph/enqueue.ts'
import { getFlow } from '../../src/flows/graph/read.ts'
import { putAside } from '../../src/jobs/claim.ts'
import { applyPolicies } from '../../src/limits/policies/policies.ts'
import { act } from '../../src/operations/execute/act.ts'
import { sweepSql } from '../../src/worker/recovery/sweep.sql.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { upkeepByHand } from '../support/history.ts'
import type { UpkeepHand } from '../support/history.ts'
import {
  cancelled,
  connect,
  countAll,
  died,
  HandWorker,
  newContract,
  planOf,
  succeeded,
} from './flow-scene.ts'

let testDb: TestDatabase
let db: Database
let stint: Stint
let hand: UpkeepHand
beforeAll(async () => {
  testDb = await createTestDatabase()
  db = connect(testDb)
  stint = new Stint({ connection: testDb.url })
  hand = upkeepByHand(testDb.url)
})
afterAll(async () => {
  await hand.close()
  await stint.close()
  await db.close()
  await testDb.drop()
})

/** A flow of three nodes, of which the last two wait for the first in two ways. */
interface Scene {
  contract: JobContract
  worker: HandWorker
  flow: string
  /** The job of the first node. */
  first: string
}

async function stored(): Promise<Scene> {
  const contract = newContract()
  const plan = planOf(contract, {
    first: {},
    after: { after: { first: 'ended' } },
    ifGood: { after: { first: 'succeeded' } },
  })
  await enqueueFlows(db, [plan])
  const first = plan.nodes[0]?.jobs[0]?.job.id ?? ''
  return { contract, worker: new HandWorker(db, contract), flow: plan.id, first }
}

const asOf = new Date(Date.now() + 60_000)

/** The job of the first node, dead and counted. */
async function dead(): Promise<Scene> {
  const scene = await stored()
  await endAs(scene, died)
  await countAll(db)
  return scene
}

async function endAs({ worker }: Scene, outcome: Parameters<HandWorker['end']>[1]): Promise<void> {
  const [held] = await worker.claim()
  if (held === undefined) throw new Error('nothing to claim')
  await worker.end(held, outcome)
  await worker.settler.stop()
}

/** Every way in which a job of a flow ends, and what its flow must know of it. */
const ways: Record<
  string,
  { state: 'succeeded' | 'dead' | 'cancelled'; end: (scene: Scene) => Promise<unknown> }
> = {
  'a success': { state: 'succeeded', end: (scene) => endAs(scene, succeeded) },
  'a death': { state: 'dead', end: (scene) => endAs(scene, died) },
  'a cancel by its handler': { state: 'cancelled', end: (scene) => endAs(scene, cancelled) },
  'a cancel by its id': { state: 'cancelled', end: ({ first }) => stint.cancel(first) },
  'a cancel by an operation': {
    state: 'cancelled',
    end: ({ first }) => act(db, { action: 'cancel', ids: [first], asOf, priority: null, reason: 'bulk' }),
  },
  'a limit that drops it': {
    state: 'cancelled',
    end: async ({ contract }) => {
      await testDb.query(
        `insert into stint.concurrency_limit (name, max, on_limit) values ($1, 0, 'drop-newest')`,
        [contract.queue],
      )
      await testDb.query(
        `insert into stint.limit_cover (queue, type, name, since) values ($1, 'concurrency', $1, now() - interval '1 hour')`,
        [contract.queue],
      )
      await applyPolicies(db, { queue: contract.queue, keys: [null] })
      await testDb.query('delete from stint.limit_cover where queue = $1', [contract.queue])
    },
  },
  'the sweep of a worker that crashed': {
    state: 'dead',
    end: async ({ worker, first }) => {
      await worker.claim()
      await testDb.query('update stint.job set begun_lease = lease_id where id = $1', [first])
      await run(db, sweepSql, { ids: [first], crashLimit: 1 }, () => undefined)
    },
  },
  'a row that cannot be claimed': {
    state: 'dead',
    end: ({ first }) => putAside(db, { id: first, why: 'a test' }),
  },
}

describe.each(Object.entries(ways))('%s', (_, { state, end }) => {
  test('is counted once, keeps the output and releases what waits for it', async () => {
    const scene = await stored()
    await end(scene)
    await countAll(db)
    const flow = await getFlow(db, scene.flow)
    const counts = { remaining: 0, succeeded: 0, dead: 0, cancelled: 0, [state]: 1 }
    expect(flow?.nodes[0]).toMatchObject({ name: 'first', total: 1, ...counts })
    expect(
      await testDb.query(
        'select node, member, job_id, state::text from stint.flow_output where flow_id = $1',
        [scene.flow],
      ),
    ).toEqual([{ node: 0, member: 0, job_id: scene.first, state }])
    // One that is skipped is ready with cancel_at, and one that waits for a replay waits.
    const others = await testDb.query(
      `select node, state::text, cancel_at is not null as cancelled from stint.job where flow_id = $1 order by node`,
      [scene.flow],
    )
    const ifGood = {
      succeeded: { node: 2, state: 'ready', cancelled: false },
      cancelled: { node: 2, state: 'ready', cancelled: true },
      dead: { node: 2, state: 'waiting', cancelled: false },
    }[state]
    expect(others).toEqual([{ node: 1, state: 'ready', cancelled: false }, ifGood])
    const [place] = await testDb.query('select node, member from stint.jobs where id = $1', [scene.first])
    expect(place).toEqual({ node: 0, member: 0 })
  })

  test('a cancelled job takes the flows with it that it made; any other ending leaves them', async () => {
    const scene = await stored()
    const child = planOf(newContract(), { one: { jobs: 2 } }, { parentId: scene.first })
    await enqueueFlows(db, [child])
    await end(scene)
    await countAll(db)
    const flow = await getFlow(db, child.id)
    expect(flow?.state).toBe(state === 'cancelled' ? 'cancelled' : 'open')
  })
})

describe('the death of a job', () => {
  const replays: Record<string, (scene: Scene) => Promise<unknown>> = {
    'a replay': ({ first }) => stint.dead.replay(first),
    'an operation that replays it': ({ first }) =>
      act(db, { action: 'replay', ids: [first], asOf, priority: null, reason: 'bulk' }),
  }
  test.each(Object.entries(replays))('%s takes it back, and what was held goes on', async (_, replay) => {
    const scene = await dead()
    expect((await getFlow(db, scene.flow))?.nodes[0]).toMatchObject({ dead: 1, remaining: 0 })
    await replay(scene)
    await countAll(db)
    expect((await getFlow(db, scene.flow))?.nodes[0]).toMatchObject({ dead: 0, remaining: 1 })
    expect(await testDb.query('select from stint.flow_output where flow_id = $1', [scene.flow])).toEqual([])
    await scene.worker.runAll(() => succeeded)
    const flow = await getFlow(db, scene.flow)
    expect(flow).toMatchObject({
      state: 'ended',
      nodes: [{ succeeded: 1 }, { succeeded: 1 }, { succeeded: 1 }],
    })
  })

  test('an edited copy of it takes its place in the flow', async () => {
    const scene = await dead()
    const copy = await stint.dead.replay(scene.first, { contract: scene.contract, input: { better: true } })
    expect(copy.id).not.toBe(scene.first)
    await countAll(db)
    await scene.worker.runAll(() => succeeded)
    const flow = await getFlow(db, scene.flow)
    expect(flow).toMatchObject({ state: 'ended', nodes: [{ succeeded: 1, dead: 0 }, {}, { succeeded: 1 }] })
    expect(
      await testDb.query('select member, job_id from stint.flow_output where flow_id = $1 and node = 0', [
        scene.flow,
      ]),
    ).toEqual([{ member: 0, job_id: copy.id }])
    // The dead letter that was edited is removed later, and counts for nothing.
    await testDb.query(
      `update stint.dead set replaced_by = '00000000-0000-7000-8000-000000000000' where id = $1`,
      [scene.first],
    )
    await hand.pass('dead-letters')
    expect(await testDb.query('select from stint.dead where id = $1', [scene.first])).toEqual([])
    expect(await testDb.query('select from stint.flow_ending')).toEqual([])
  })

  test.each([
    ['emptied trash', `update stint.dead set discarded_at = stint.now() - interval '2 days' where id = $1`],
    [
      'an end of its retention',
      `with kept as (insert into stint.queue (name, keep_dead) select queue, '1 hour' from stint.dead where id = $1)
       update stint.dead set died_at = stint.now() - interval '2 hours' where id = $1`,
    ],
  ])('%s counts as cancelled, and what waits for its success is skipped', async (_, change) => {
    const scene = await dead()
    await testDb.query(change, [scene.first])
    await hand.pass('dead-letters')
    await countAll(db)
    await scene.worker.runAll(() => succeeded)
    expect(await getFlow(db, scene.flow)).toMatchObject({
      state: 'ended',
      nodes: [{ dead: 0, cancelled: 1 }, { succeeded: 1 }, { cancelled: 1 }],
    })
  })
})

test('records of steps are removed with a success, kept for people, and stay with a death', async () => {
  const contract = newContract()
  const worker = new HandWorker(db, contract)
  const ids = await Promise.all([1, 2, 3].map(async () => (await stint.enqueue(contract, {})).id))
  for (const id of ids) {
    await testDb.query(
      `insert into stint.step (job_id, name, n, seq, type, state, epoch) values ($1, 'one', 0, 0, 'step', 'done', 1)`,
      [id],
    )
    await testDb.query(`insert into stint.signal (id, job_id, name, payload) values ($1, $2, 's', '1')`, [
      randomUUID(),
      id,
    ])
  }
  const held = new Map((await worker.claim()).map((one) => [one.job.id, one]))
  const outcomes = [{ ...succeeded, steps: '[{"name":"one"}]' }, { ...cancelled, steps: '[]' }, died]
  await Promise.all(
    ids.map((id, index) => {
      const [one, outcome] = [held.get(id), outcomes[index]]
      if (one === undefined || outcome === undefined) throw new Error('not claimed')
      return worker.end(one, outcome)
    }),
  )
  const rows = await testDb.query(
    `select state::text, steps, (select count(*)::integer from stint.step where job_id = jobs.id) as records,
            (select count(*)::integer from stint.signal where job_id = jobs.id) as signals
       from stint.jobs where id = any($1) order by array_position($1::uuid[], id)`,
    [ids],
  )
  expect(rows).toEqual([
    { state: 'succeeded', steps: [{ name: 'one' }], records: 0, signals: 0 },
    { state: 'cancelled', steps: [], records: 0, signals: 0 },
    { state: 'dead', steps: null, records: 1, signals: 1 },
  ])
})
