import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { park, plantFlow } from '../support/planted-flow.ts'
import { workerScene } from '../support/workers.ts'
import { call, openConsole, problemOf, tokens } from './scene.ts'

const scene = workerScene()
const job = defineJob({ kind: 'card.charge', queue: 'billing' })
const viewer = tokens.viewer.token
const operator = tokens.operator.token
const held = {
  queue: 'billing',
  kind: 'card.charge',
  nodes: [
    { name: 'reserve', jobs: ['succeeded'] },
    { name: 'capture', jobs: ['dead'], after: [0] },
    { name: 'rows', jobs: Array.from({ length: 51 }, () => 'ready' as const), after: [0] },
    { name: 'ship', jobs: ['waiting'], after: [1] },
    { name: 'mail', jobs: ['waiting'], after: [3, 2] },
  ],
} as const

describe('flows over HTTP', () => {
  test('a flow is listed, and shown with what each node waits for and how many jobs a dead one holds', async () => {
    const served = openConsole(scene.db.url)
    const { id } = await plantFlow(scene.db, { ...held, name: 'listed' })
    const list = await call(served, 'GET /v1/flows?name=listed&open=true', { token: viewer })
    expect(list.body).toMatchObject({
      items: [
        { id, name: 'listed', state: 'open', total: 55, remaining: 53, succeeded: 1, dead: 1, broken: [] },
      ],
      next: null,
    })
    const { body, headers, status } = await call(served, `GET /v1/flows/${id}`, { token: viewer })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      heldJobs: 2,
      nodes: [
        { name: 'reserve', state: 'succeeded', after: [] },
        { name: 'capture', state: 'dead', after: [{ node: 0, when: 'succeeded' }] },
        { name: 'rows', state: 'open' },
        { name: 'ship', state: 'waiting', needs: 1 },
        { name: 'mail', state: 'waiting', needs: 2, after: [{ node: 2 }, { node: 3 }] },
      ],
    })
    const again = await call(served, `GET /v1/flows/${id}`, {
      token: viewer,
      headers: { 'If-None-Match': headers.get('ETag') ?? '' },
    })
    expect(again.status).toBe(304)
  })

  test('the graph has the jobs of each node, and only the counts of a group of more than 50', async () => {
    const served = openConsole(scene.db.url)
    const { id, jobs } = await plantFlow(scene.db, held)
    const { body } = await call(served, `GET /v1/flows/${id}/graph`, { token: viewer })
    expect(body['nodes']).toMatchObject([
      { jobs: [{ id: jobs[0]?.[0], state: 'succeeded' }] },
      { jobs: [{ id: jobs[1]?.[0], state: 'dead', kind: 'card.charge' }] },
      { name: 'rows', total: 51, jobs: null },
      { jobs: [{ state: 'waiting', waitsFor: 'waiting for earlier jobs of its flow' }] },
      {},
    ])
  })

  test('an operator replays the dead jobs and cancels the flow in the state that was shown', async () => {
    const served = openConsole(scene.db.url)
    const { id, jobs } = await plantFlow(scene.db, held)
    const path = `/v1/flows/${id}`
    const headers = { 'Idempotency-Key': 'replay-once' }
    const replay = { token: operator, json: { reason: 'repaired' }, headers }
    const replayed = await call(served, `POST ${path}/replay`, replay)
    expect(replayed).toMatchObject({ status: 200, body: { id, replayed: 1 } })
    expect((await call(served, `POST ${path}/replay`, replay)).headers.get('Idempotency-Replayed')).toBe(
      'true',
    )
    expect((await scene.stint.get(jobs[1]?.[0] ?? ''))?.state).toBe('ready')

    const wrong = await call(served, `POST ${path}/cancel`, {
      token: operator,
      json: { expect: { state: 'ended' } },
    })
    expect([wrong.status, problemOf(wrong)]).toMatchObject([409, { current: { id } }])
    const json = { expect: { state: 'open' }, reason: 'withdrawn' }
    const cancelled = await call(served, `POST ${path}/cancel`, { token: operator, json })
    expect(cancelled.body).toMatchObject({ state: 'cancelled', cancelReason: 'withdrawn' })
    const { entries } = await scene.stint.audit.list({ target: id })
    expect(entries.map(({ action, outcome }) => [action, outcome])).toEqual([
      ['flow.cancel', 'done'],
      ['flow.cancel', 'refused'],
      ['flow.replay', 'done'],
    ])
  })

  test('a rerun is answered with the new flow, and an unknown node is refused', async () => {
    const served = openConsole(scene.db.url)
    const { id } = await plantFlow(scene.db, held)
    const rerun = (from: string): ReturnType<typeof call> =>
      call(served, `POST /v1/flows/${id}/rerun`, { token: operator, json: { from, reason: 'again' } })
    const again = await rerun(held.nodes[0].name)
    expect(again.status).toBe(202)
    expect(again.headers.get('location')).toBe(`/v1/flows/${String(again.body['id'])}`)
    expect(again.body['id']).not.toBe(id)
    expect((await rerun('nope')).status).toBe(422)
    const { entries } = await scene.stint.audit.list({ target: id })
    expect(entries[0]).toMatchObject({
      action: 'flow.rerun',
      reason: 'again',
      after: { from: held.nodes[0].name },
    })
  })

  test('a viewer sees flows and may not act; a flow that ended or does not exist is refused', async () => {
    const served = openConsole(scene.db.url)
    const { id } = await plantFlow(scene.db, held)
    for (const verb of ['cancel', 'replay'])
      expect((await call(served, `POST /v1/flows/${id}/${verb}`, { token: viewer, json: {} })).status).toBe(
        403,
      )
    const { entries } = await scene.stint.audit.list({ target: id })
    expect(entries).toMatchObject([
      { action: 'flow.replay', outcome: 'refused' },
      { action: 'flow.cancel', outcome: 'refused' },
    ])
    const done = await plantFlow(scene.db, {
      ...held,
      nodes: [{ name: 'only', jobs: ['succeeded'] }],
    })
    const late = await call(served, `POST /v1/flows/${done.id}/cancel`, { token: operator, json: {} })
    expect([late.status, problemOf(late).type]).toEqual([409, 'urn:stint:problem:flow-ended'])
    const unknown = await call(served, 'GET /v1/flows/01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4', {
      token: viewer,
    })
    expect([unknown.status, problemOf(unknown).type]).toEqual([404, 'urn:stint:problem:flow-not-found'])
  })

  test('the jobs of a flow, and those that wait for something, are found by a filter', async () => {
    const { id, jobs } = await plantFlow(scene.db, held)
    const find = async (where: string): Promise<string[]> =>
      (await scene.stint.search({ where, limit: 200 })).jobs.map((one) => one.id).sort()
    expect(await find(`flow:${id}`)).toEqual(jobs.flat().sort())
    expect(await find(`flow:${id} state:dead`)).toEqual(jobs[1])
    expect(await find(`flow:${id} waiting:flow`)).toEqual([...(jobs[3] ?? []), ...(jobs[4] ?? [])].sort())
    expect(await find(`flow:${id} waiting:signal,parked`)).toEqual([])
  })

  test('a flow with rows that another program wrote is shown as broken, and hides no other', async () => {
    const served = openConsole(scene.db.url)
    const good = await plantFlow(scene.db, { ...held, name: 'beside' })
    const bad = await plantFlow(scene.db, { ...held, name: 'beside' })
    await scene.db.query(
      `update stint.flow set name = E'beside', created_at = 'infinity', open_nodes = -7, cancel_reason = E'\\x1b[31m' where id = $1`,
      [bad.id],
    )
    await scene.db.query(
      `update stint.flow_node set remaining = -5, on_succeeded = '{{1,2},{3,null}}', on_dead = '{900,0,1}', on_ended = '{4}' where flow_id = $1`,
      [bad.id],
    )
    const empty = '01a1e0a0-d880-7c3e-9b41-5f0e27ac81d5'
    await scene.db.query(`insert into stint.flow (id, name, open_nodes) values ($1, 'beside', 1)`, [empty])
    const { status, body } = await call(served, 'GET /v1/flows?name=beside', { token: viewer })
    expect(status).toBe(200)
    const items = body['items'] as { id: string; broken: string[] }[]
    expect(items.map((one) => [one.id, one.broken.length > 0]).sort()).toEqual(
      [
        [good.id, false],
        [bad.id, true],
        [empty, true],
      ].sort(),
    )
    for (const id of [bad.id, empty])
      for (const path of [`/v1/flows/${id}`, `/v1/flows/${id}/graph`]) {
        const shown = await call(served, `GET ${path}`, { token: viewer })
        expect([shown.status, (shown.body['broken'] as string[]).length > 0]).toEqual([200, true])
      }
    expect(
      (await call(served, `POST /v1/flows/${bad.id}/cancel`, { token: operator, json: {} })).status,
    ).toBe(200)
  })
})

describe('a parked job over HTTP', () => {
  test('its steps say what was asked and what is recorded; an operator resumes it', async () => {
    const served = openConsole(scene.db.url)
    const { id } = await scene.stint.enqueue(job)
    const path = `/v1/jobs/${id}`
    const early = await call(served, `POST ${path}/resume`, { token: operator, json: {} })
    expect([early.status, problemOf(early).type]).toEqual([409, 'urn:stint:problem:state-changed'])
    await park(scene.db, id)
    const steps = await call(served, `GET ${path}/steps`, { token: operator })
    expect(steps.body['parked']).toMatchObject({
      tries: 2,
      asked: { name: 'review', n: 0, type: 'step' },
      recorded: { name: 'draft', n: 0, type: 'step' },
      cli: `stint job resume ${id}`,
    })
    expect((await call(served, `GET ${path}/steps`, { token: viewer })).body['parked']).toMatchObject({
      cli: null,
    })
    const [found] = (await scene.stint.search({ where: 'waiting:parked' })).jobs
    expect(found?.id).toBe(id)
    expect((await call(served, `POST ${path}/resume`, { token: viewer, json: {} })).status).toBe(403)
    const json = { accept: true, reason: 'v215', expect: { state: 'waiting' } }
    const resumed = await call(served, `POST ${path}/resume`, { token: operator, json })
    expect(resumed).toMatchObject({ status: 200, body: { id, state: 'ready' } })
    const { entries } = await scene.stint.audit.list({ target: id })
    expect(entries[0]).toMatchObject({ action: 'job.resume', reason: 'v215', after: { accept: true } })
  })
})
