/*
 * Random graphs against a model. Several workers claim and settle at once, each with its own counts, so that one flow is
 * counted by several connections. All flows run together; what each node has to show in the end does not depend on the order.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { cancelFlow, replayFlow } from '../../src/flows/graph/act.ts'
import { enqueueFlows } from '../../src/flows/graph/enqueue.ts'
import type { EdgePlan, FlowPlan } from '../../src/flows/graph/plan.ts'
import { nextId } from '../../src/jobs/new/ids.ts'
import type { HeldJob } from '../../src/worker/attempt/held-job.ts'
import type { Outcome } from '../../src/worker/attempt/outcome.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { form } from '../support/form.ts'
import { upkeepByHand } from '../support/history.ts'
import type { UpkeepHand } from '../support/history.ts'
import { cancelled, connect, died, HandWorker, newContract, prepared, succeeded } from './flow-scene.ts'
import { ModelFlow } from './model.ts'
import type { Fate, ModelNode } from './model.ts'

const graphs = { short: 60, medium: 1_000, long: 10_000 }[form]
const workers = 4
const seed = Number(process.env['STINT_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

let testDb: TestDatabase
let connections: Database[]
let hand: UpkeepHand
beforeAll(async () => {
  testDb = await createTestDatabase()
  connections = Array.from({ length: workers }, () => connect(testDb))
  hand = upkeepByHand(testDb.url)
})
afterAll(async () => {
  await hand.close()
  await Promise.all(connections.map((db) => db.close()))
  await testDb.drop()
})

/** The same numbers for the same seed (mulberry32). */
function randomOf(state: number): (below: number) => number {
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

const contract = newContract()
const outcomes = { succeeded, dead: died, cancelled }

interface RandomFlow {
  plan: FlowPlan
  nodes: ModelNode[]
  model: ModelFlow
  /** How each job ends, by its id: when it runs first, and when it is replayed. */
  fates: Map<string, Fate>
  isCancelled: boolean
}

function randomFlow(random: (below: number) => number): RandomFlow {
  const fate = (): Fate =>
    (['succeeded', 'succeeded', 'succeeded', 'dead', 'cancelled'] as const)[random(5)] ?? 'dead'
  const nodes = Array.from({ length: 1 + random(7) }, (_, index): ModelNode => {
    const after = Array.from({ length: index === 0 ? 0 : random(4) }, (): EdgePlan => {
      const when = (['succeeded', 'succeeded', 'ended', 'dead'] as const)[random(4)] ?? 'ended'
      return { node: random(index), when }
    })
    const needs = after.length > 1 && random(3) === 0 ? 1 + random(after.length) : after.length
    const fates = Array.from({ length: 1 + random(4) }, fate)
    return { after, needs, skips: random(2) === 0, fates }
  })
  const plan: FlowPlan = {
    id: nextId(),
    name: 'random',
    nodes: nodes.map(({ after, needs, skips, fates }, index) => ({
      name: `n${index}`,
      after,
      needs,
      onDead: skips ? 'skip' : 'hold',
      keepsOutputs: random(2) === 0,
      jobs: fates.map((_, place) => prepared(contract, { node: index, place })),
    })),
  }
  const fates = new Map<string, Fate>()
  for (const [index, node] of plan.nodes.entries())
    for (const [place, { job }] of node.jobs.entries())
      fates.set(job.id, nodes[index]?.fates[place] ?? 'dead')
  return { plan, nodes, model: new ModelFlow(nodes), fates, isCancelled: random(10) === 0 }
}

/** All workers at once, until no job is ready and no ending is left. */
async function runAll(fates: ReadonlyMap<string, Fate>): Promise<void> {
  const outcomeOf = (_: unknown, held: HeldJob): Outcome => outcomes[fates.get(held.job.id) ?? 'dead']
  await Promise.all(connections.map((db) => new HandWorker(db, contract).runAll(outcomeOf, deathOf)))
  // One worker may have found nothing while another one released the next jobs.
  const [db] = connections
  if (db === undefined) throw new Error('no connection')
  await new HandWorker(db, contract).runAll(outcomeOf)
}

/** Every tenth job is taken from its worker, and every tenth ending is not counted by the one that stored it. */
function deathOf(): 'before' | 'after' | undefined {
  return ([...Array<undefined>(8), 'before', 'after'] as const)[Math.floor(Math.random() * 10)]
}

interface StoredNode {
  flow: string
  remaining: number
  succeeded: number
  dead: number
  cancelled: number
  isComplete: boolean
}

async function storedNodes(): Promise<Map<string, Omit<StoredNode, 'flow'>[]>> {
  const rows = await testDb.query<StoredNode>(
    `select flow_id as flow, remaining, succeeded, dead, cancelled, is_complete as "isComplete"
       from stint.flow_node order by flow_id, node`,
  )
  const nodes = new Map<string, Omit<StoredNode, 'flow'>[]>()
  for (const { flow, ...node } of rows) nodes.set(flow, [...(nodes.get(flow) ?? []), node])
  return nodes
}

/** Nodes whose counts are not those of the tables, by any way to count. */
async function wrongNodes(): Promise<unknown[]> {
  return testDb.query(`
    select n.flow_id, n.node, n.remaining, n.succeeded, n.dead, n.cancelled, t.*
      from stint.flow_node n
     cross join lateral (
       select (select count(*)::integer from stint.job where flow_id = n.flow_id and node = n.node) as live,
              (select count(*)::integer from stint.dead where flow_id = n.flow_id and node = n.node) as dead_rows,
              (select count(*)::integer from stint.finished where flow_id = n.flow_id and node = n.node and state = 'succeeded') as succeeded_rows) t
     where (n.remaining, n.dead, n.succeeded) is distinct from (t.live, t.dead_rows, t.succeeded_rows)
        or n.total <> n.remaining + n.succeeded + n.dead + n.cancelled
        or n.needs < -10 or n.chances < 0`)
}

async function compare(flows: readonly RandomFlow[], phase: string): Promise<void> {
  const [left] = await testDb.query<{ endings: number }>(
    'select count(*)::integer as endings from stint.flow_ending',
  )
  expect(left, phase).toEqual({ endings: 0 })
  expect(await wrongNodes(), phase).toEqual([])
  const nodes = await storedNodes()
  const open = new Set(
    (await testDb.query<{ id: string }>('select id from stint.flow where ended_at is null')).map(
      ({ id }) => id,
    ),
  )
  for (const { plan, model, isCancelled } of flows) {
    if (isCancelled) continue
    const where = `${phase}, seed ${seed}, flow ${JSON.stringify(plan.nodes.map(({ after, needs, onDead }) => ({ after, needs, onDead })))}`
    expect(nodes.get(plan.id), where).toEqual(model.counts)
    expect(open.has(plan.id), where).toBe(!model.hasEnded)
  }
}

test(
  `${graphs} random graphs end as the model says, with killed workers, deaths, cancels, replays and discarded jobs`,
  { timeout: 600_000 },
  async () => {
    const random = randomOf(seed)
    const flows = Array.from({ length: graphs }, () => randomFlow(random))
    const [db] = connections
    if (db === undefined) throw new Error('no connection')
    for (let from = 0; from < flows.length; from += 50)
      await enqueueFlows(
        db,
        flows.slice(from, from + 50).map(({ plan }) => plan),
      )
    const fates = new Map(flows.flatMap((flow) => [...flow.fates]))
    // Some are cancelled while they run.
    const cancelling = flows.filter(({ isCancelled }) => isCancelled)
    const cancels = cancelling.map(({ plan }) => cancelFlow(db, { id: plan.id, reason: 'random' }))
    await Promise.all([runAll(fates), ...cancels])
    for (const { model } of flows) model.run()
    await hand.pass('flows')
    await runAll(fates)
    await compare(flows, 'first')

    // About every second job that is dead succeeds when it is replayed, and the others die again.
    const dead = await testDb.query<{ id: string }>('select id from stint.dead order by id')
    for (const { id } of dead) if (random(2) === 0) fates.set(id, 'succeeded')
    const again = (flow: RandomFlow) => (node: number, job: number) =>
      fates.get(flow.plan.nodes[node]?.jobs[job]?.job.id ?? '') ?? 'dead'
    const open = flows.filter(({ isCancelled }) => !isCancelled)
    // Replays one by one, beside workers that already run what was replayed before.
    const replayed = open.map(async ({ plan }, index) => {
      const through = connections[index % workers] ?? db
      return (await replayFlow(through, plan.id)).length
    })
    const [counts] = await Promise.all([Promise.all(replayed), runAll(fates)])
    await runAll(fates)
    // A job that died again before its flow was looked at may be replayed twice: at least once is what is asked for.
    const wanted = open.map((flow) => flow.model.replay(again(flow)))
    for (const [index, count] of counts.entries()) expect(count).toBeGreaterThanOrEqual(wanted[index] ?? 0)
    await compare(flows, 'replayed')

    // The rest of the dead is put into the trash, which is emptied.
    await testDb.query(`update stint.dead set discarded_at = stint.now() - interval '2 days'`)
    await hand.pass('dead-letters')
    await runAll(fates)
    for (const { model } of open) model.discard()
    await compare(flows, 'discarded')
    const cancelledIds = cancelling.map(({ plan }) => plan.id)
    expect(
      await testDb.query('select id from stint.flow where id = any($1) and ended_at is null', [cancelledIds]),
    ).toEqual([])
    expect(hand.passedBy).toEqual([])
  },
)
