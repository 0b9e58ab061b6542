import { expect, test } from 'vitest'
import { flow } from '../../src/index.ts'
import { workerScene } from '../support/workers.ts'
import { actingJob, ends, flowIs, startActing } from './acting.ts'

const scene = workerScene()

test('a rerun is a new flow from a node on, with the outputs before it; the old one stays as it was', async () => {
  const { stint } = scene
  const act = actingJob()
  const worker = await startActing(scene, act)
  const { id } = await stint.flows.enqueue(
    flow('report')
      .job('load', act, { give: 'rows' })
      .job('beside', act, {})
      .job('sum', act, ({ load }) => ({ give: load }), { after: ['load'] })
      .jobs('send', act, ({ sum }) => [{ give: sum }, { give: [sum] }], { after: ['sum'] })
      .job('late', act, {}, { after: { send: 'ended', beside: 'succeeded' } }),
  )
  const before = await flowIs(stint, id, 'ended')
  const again = await stint.flows.rerun(id, { from: 'sum' })
  expect(again.id).not.toBe(id)
  const newer = await flowIs(stint, again.id, 'ended')
  expect(newer).toMatchObject({ name: 'report', rerunOf: id })
  expect(ends(newer)).toEqual(ends(before))
  expect(await stint.flows.get(id)).toEqual(before)
  const results = (worker.told('succeeded') as { id: string }[]).map((job) => job.id)
  const jobs = await Promise.all(results.map((job) => stint.get(job)))
  const ran = jobs.filter((job) => job?.flowId === again.id).map((job) => job?.result)
  expect(ran).toHaveLength(4)
  expect(ran).toEqual(expect.arrayContaining(['rows', 'rows', ['rows']]))
})

test('a flow is not run again from a node whose condition has not happened, or that does not exist', async () => {
  const { stint } = scene
  const act = actingJob()
  await startActing(scene, act)
  const { id } = await stint.flows.enqueue(
    flow('held')
      .job('a', act, { end: 'dead' })
      .job('b', act, {}, { after: ['a'] }),
  )
  await flowIs(stint, id, 'held')
  await expect(stint.flows.rerun(id, { from: 'b' })).rejects.toMatchObject({ code: 'state-changed' })
  await expect(stint.flows.rerun(id, { from: 'c' })).rejects.toMatchObject({ code: 'invalid-option' })
  await expect(
    stint.flows.rerun('019a9000-0000-7000-8000-000000000009', { from: 'a' }),
  ).rejects.toMatchObject({
    code: 'flow-not-found',
  })
  await expect(stint.flows.rerun(id, { from: 'a', fresh: true } as never)).rejects.toMatchObject({
    code: 'invalid-option',
  })
  const { id: newer } = await stint.flows.rerun(id, { from: 'a' })
  expect(ends(await flowIs(stint, newer, 'held'))).toEqual({ a: 'dead', b: 'left' })
})
