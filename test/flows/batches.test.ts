import { expect, test } from 'vitest'
import { defineJob, flow, typed } from '../../src/index.ts'
import { workerScene } from '../support/workers.ts'
import { actingJob, ends, flowIs, startActing } from './acting.ts'

const scene = workerScene()

test('an open batch takes jobs while its first ones end, and ends when it is closed', async () => {
  const { stint } = scene
  const act = actingJob()
  const report = defineJob({ kind: 'report', queue: act.queue, input: typed<{ rows: unknown }>() })
  const reports: unknown[] = []
  const worker = await startActing(scene, act, {
    more: [[report, (input: unknown) => void reports.push(input)]],
  })
  const batch = await stint.flows.open(
    flow('import')
      .jobs('rows', act, [{ give: 1 }])
      .job('done', report, ({ rows }) => ({ rows }), { after: { rows: 'ended' } }),
  )
  await worker.tells('succeeded')
  expect(await batch.add('rows', [{ give: 2 }, { end: 'dead' }])).toEqual({ added: 2 })
  await worker.tells('dead')
  expect(await stint.flows.get(batch.id)).toMatchObject({
    state: 'open',
    nodes: [{ total: 3, isOpen: true }, { remaining: 1 }],
  })
  await batch.close()
  await batch.close()
  expect(ends(await flowIs(stint, batch.id, 'held'))).toEqual({ rows: '2+1+0 of 3', done: 'succeeded' })
  expect(reports).toEqual([
    {
      rows: [
        { state: 'succeeded', result: 1 },
        { state: 'succeeded', result: 2 },
        { state: 'dead', error: { name: 'PermanentError', message: 'it died' } },
      ],
    },
  ])
  await expect(batch.add('rows', [{}])).rejects.toMatchObject({ code: 'flow-ended' })
})

test('a batch may begin without jobs and end without any', async () => {
  const { stint } = scene
  const act = actingJob()
  await startActing(scene, act)
  const batch = await stint.flows.open(
    flow('empty')
      .jobs('rows', act, [])
      .job('done', act, {}, { after: ['rows'] }),
  )
  await batch.close()
  expect(ends(await flowIs(stint, batch.id, 'ended'))).toEqual({ rows: '0+0+0 of 0', done: 'succeeded' })
})

test('jobs are added once, also if the reply is lost and they have ended by the repeat', async () => {
  const { db } = scene
  const flowId = '019a9000-0000-7000-8000-000000000001'
  const one = '019a9000-0000-7000-8000-00000000000a'
  const two = '019a9000-0000-7000-8000-00000000000b'
  const group = { queue: 'once', kind: 'k', priority: 0, maxAttempts: 1, version: 1 }
  const flows = [
    { id: flowId, name: 'once', nodes: [{ name: 'a', needs: 0, chances: 0, isOpen: true, groups: [] }] },
  ]
  await db.query('select from stint.enqueue_flows($1)', [JSON.stringify(flows)])
  const add = async (id: string): Promise<unknown> =>
    db.query('select stint.add_to_flow($1, $2, $3) as outcome', [
      flowId,
      'a',
      JSON.stringify([{ ...group, ids: [id], places: [0], inputs: [1] }]),
    ])
  expect([await add(one), await add(two)]).toEqual([[{ outcome: 'added' }], [{ outcome: 'added' }]])
  await db.query(
    `with gone as (delete from stint.job where id = $1 returning *)
     insert into stint.finished (id, state, queue, kind, priority, attempt, max_attempts, crashes, epoch, version, created_at, run_at, finished_at)
     select id, 'succeeded', queue, kind, priority, attempt, max_attempts, crashes, epoch, version, created_at, run_at, now() from gone`,
    [one],
  )
  expect([await add(one), await add(two)]).toEqual([[{ outcome: 'added' }], [{ outcome: 'added' }]])
  expect(await db.query(`select total, remaining from stint.flow_node where flow_id = $1`, [flowId])).toEqual(
    [{ total: 3, remaining: 3 }],
  )
  expect(await db.query(`select member from stint.job where flow_id = $1`, [flowId])).toEqual([{ member: 1 }])
})

test('another process goes on with an open batch by its unique key, and a cancelled one takes no more', async () => {
  const { stint } = scene
  const act = actingJob()
  const rows = flow('shared').jobs('rows', act, [{}])
  const first = await stint.flows.open(rows, { unique: 'may' })
  const second = await stint.flows.open(rows, { unique: 'may' })
  expect(second).toMatchObject({ id: first.id, placement: 'kept' })
  await second.add('rows', [{}, {}])
  expect(await stint.flows.get(first.id)).toMatchObject({ nodes: [{ total: 3 }] })
  await stint.flows.cancel(first.id)
  await expect(first.add('rows', [{}])).rejects.toMatchObject({ code: 'flow-ended' })
  // The leader ends the jobs, also those of queues that it does not serve.
  await startActing(scene, actingJob())
  expect(ends(await flowIs(stint, first.id, 'cancelled'))).toEqual({ rows: '0+0+3 of 3' })
})

test('a batch needs a group that waits for nothing, and checks its inputs', async () => {
  const { stint } = scene
  const act = actingJob()
  const strict = defineJob({ kind: 'strict', queue: act.queue, priority: 1 })
  await expect(stint.flows.open(flow('f').job('a', act, {}))).rejects.toMatchObject({ code: 'invalid-input' })
  const batch = await stint.flows.open(flow('f').jobs('rows', strict, []).job('one', act, {}))
  await expect(batch.add('one' as 'rows', [{}])).rejects.toMatchObject({ code: 'invalid-option' })
  await expect(batch.add('rows', [1, Number.NaN])).rejects.toMatchObject({
    issues: [{ path: 'rows[1].input' }],
  })
  expect(await stint.flows.get(batch.id)).toMatchObject({ nodes: [{ total: 0 }, { total: 1 }] })
})
