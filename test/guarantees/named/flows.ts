import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { run } from '../../../src/db/statement.ts'
import type { Queryable } from '../../../src/db/statement.ts'
import { installFunctions, statementOf } from '../harness/mutated-sql.ts'
import { createScene } from '../harness/scene.ts'
import type { Build } from '../harness/scene.ts'
import { waitingForLocks } from '../../support/database.ts'
import type { TestDatabase } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import { sessionOf } from './sessions.ts'

/** A flow whose second node waits for two jobs and one more node; its jobs are of the queue `q`. */
async function storeFlow(db: TestDatabase): Promise<{ flow: string; first: string }> {
  const [flow, first] = [randomUUID(), randomUUID()]
  const group = { queue: 'q', kind: 'work', priority: 0, maxAttempts: 5, version: 1 }
  const nodeOf = (name: string, ids: string[], more: object): object => ({
    name,
    needs: 0,
    chances: 0,
    groups: [{ ...group, ids, places: ids.map((_, place) => place), inputs: ids.map(() => null) }],
    ...more,
  })
  const nodes = [
    nodeOf('both', [first, randomUUID()], { onSucceeded: [2] }),
    nodeOf('other', [randomUUID()], { onSucceeded: [2] }),
    nodeOf('last', [randomUUID()], { needs: 2, chances: 2 }),
  ]
  await db.query('select * from stint.enqueue_flows($1)', [JSON.stringify([{ id: flow, name: 'f', nodes }])])
  return { flow, first }
}

/** Two sessions that count the last two endings of a node at the same time fire its edge once. */
export async function flowTwoLast(build: Build): Promise<void> {
  const { db } = await createScene(build)
  await installFunctions(db, build, '0016_flows')
  const { flow } = await storeFlow(db)
  const end = (): Promise<unknown> =>
    db.query('insert into stint.flow_ending (flow_id, node, succeeded) values ($1, 0, 1)', [flow])
  const [one, two] = [await sessionOf(db), await sessionOf(db)]
  const count = 'select type from stint.count_endings(array[$1::uuid])'
  await end()
  await one.query('begin')
  await one.query(count, [flow])
  await end()
  let isAnswered = false
  const second = two.query(count, [flow]).finally(() => (isAnswered = true))
  // It is answered at once; without the lock of the flow it waits for the other session.
  await eventually(async () => {
    expect(isAnswered || (await waitingForLocks(db)) > 0).toBe(true)
  })
  await one.query('commit')
  expect((await second).rows, 'the flow is counted by the other session').toEqual([{ type: 'busy' }])
  await two.query(count, [flow])
  const nodes = await db.query(
    'select node, remaining, succeeded, needs from stint.flow_node where flow_id = $1 order by node',
    [flow],
  )
  expect(nodes).toEqual([
    { node: 0, remaining: 0, succeeded: 2, needs: 0 },
    { node: 1, remaining: 1, succeeded: 0, needs: 0 },
    { node: 2, remaining: 1, succeeded: 0, needs: 1 },
  ])
}

/** Every statement that ends a job of a flow leaves a row for the counts, and does nothing under an old lease. */
export async function flowEndings(build: Build): Promise<void> {
  const { db } = await createScene(build)
  const queryable: Queryable = { schema: 'stint', query: (text, values) => db.query(text, [...values]) }
  const lease = randomUUID()
  const claim = (id: string): Promise<unknown> =>
    db.query(
      `update stint.job set state = 'running', worker_id = $2, lease_id = $2, begun_lease = $2, epoch = 1, attempt = 1 where id = $1`,
      [id, lease],
    )
  const running = { lockMs: null, leaseIds: [lease], results: null, steps: null }
  const itemsOf = (id: string): string =>
    JSON.stringify({ [id]: { reason: 'permanent', outcome: 'failed', ranMs: 1, error: {} } })
  await db.query(
    `insert into stint.concurrency_limit (name, max, on_limit) values ('none', 0, 'drop-newest')`,
  )
  await db.query(
    `insert into stint.limit_cover (queue, type, name, since) values ('q', 'concurrency', 'none', now() - interval '1 hour')`,
  )
  const asOf = new Date(Date.now() + 60_000)
  const ways: [name: string, isRunning: boolean, params: (id: string) => Record<string, unknown>][] = [
    ['flows/endings/end.sql', true, (id) => ({ ...running, ids: [id], state: 'succeeded', items: null })],
    [
      'flows/endings/end.sql',
      true,
      (id) => ({ ...running, ids: [id], state: 'cancelled', items: itemsOf(id) }),
    ],
    ['flows/endings/bury.sql', true, (id) => ({ ...running, ids: [id], items: itemsOf(id) })],
    ['worker/recovery/sweep.sql', true, (id) => ({ ids: [id], crashLimit: 1 })],
    ['jobs/cancel.sql', false, (id) => ({ id, reason: 'no' })],
    ['operations/execute/cancel.sql', false, (id) => ({ ids: [id], asOf, reason: 'no' })],
    ['jobs/put-aside.sql', false, (id) => ({ id, why: 'no' })],
    ['limits/policies/over-limit.sql', false, () => ({ queue: 'q', keys: [null] })],
  ]
  for (const [name, isRunning, params] of ways) {
    const { flow, first } = await storeFlow(db)
    // Only the first job is in the way of a limit.
    await db.query(`delete from stint.job where flow_id = $1 and id <> $2`, [flow, first])
    if (isRunning) await claim(first)
    const statement = await statementOf(build, name)
    if (isRunning && statement.params.includes('leaseIds')) {
      await run(queryable, statement, { ...params(first), leaseIds: [randomUUID()] }, () => undefined)
      const [job] = await db.query('select lease_id from stint.job where id = $1', [first])
      expect(job, `${name} under an old lease`).toEqual({ lease_id: lease })
    }
    await run(queryable, statement, params(first), () => undefined)
    expect(await db.query('select from stint.job where id = $1', [first]), `${name} ends the job`).toEqual([])
    const rows = await db.query<{ jobs: number }>(
      'select sum(succeeded + dead + cancelled)::integer as jobs from stint.flow_ending where flow_id = $1 and node = 0',
      [flow],
    )
    expect(rows, `${name} tells the flow`).toEqual([{ jobs: 1 }])
    const outputs = await db.query('select job_id as id from stint.flow_output where flow_id = $1', [flow])
    expect(outputs, `${name} keeps the result`).toEqual([{ id: first }])
  }
}
