/*
 * A caller who is narrowed to one queue learns nothing of another one: not from answers, not from refusals, and not from
 * what an action does. Every route of the OpenAPI document is requested: a route without a request in scope-requests.ts
 * fails.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { Identity } from '../../src/server.ts'
import { bury } from '../support/dead-letters.ts'
import { call } from './scene.ts'
import type { Answer } from './scene.ts'
import { ask, pathOf, requests, routes } from './scope-requests.ts'
import type { Planted, Side } from './scope-requests.ts'
import { mark, own, scopeScene, secret } from './scope-scene.ts'

const scene = scopeScene()
const { consoleOf } = scene

/** The ways in which a host may narrow a caller; they differ in what they answer where no queue is given. */
const hosts: Record<string, NonNullable<Identity['can']>> = {
  'that lets through what has no queue': (_, of) => of?.queue === undefined || of.queue === 'mail',
  'that wants to know the queue': (_, of) => of === undefined || of.queue === 'mail',
  'that forbids one queue': (_, of) => of?.queue !== secret.contract.queue,
}

/** Everything of the other side, as it is stored. */
async function stored(): Promise<unknown> {
  const of = [secret.contract.queue]
  return {
    jobs: await scene.db.query(`select * from stint.job where queue = $1 order by id`, of),
    dead: await scene.db.query(`select * from stint.dead where queue = $1 order by id`, of),
    queue: await scene.db.query(`select * from stint.queue where name = $1`, of),
    schedules: await scene.db.query(`select * from stint.schedule where name = $1`, [secret.schedule]),
    fires: await scene.db.query(`select * from stint.fire where schedule = $1`, [secret.schedule]),
    groups: await scene.db.query(`select * from stint.error_group where fingerprint = $1`, [secret.group]),
    operations: await scene.db.query(`select * from stint.operation where id = $1`, [scene.theirs.operation]),
    hit: await scene.db.query(
      `select operation_job.id from stint.operation_job join stint.operation on operation.id = operation_id
        where actor = 'scoped' and operation_job.id = any($1::uuid[])`,
      [Object.values(scene.theirs)],
    ),
  }
}

/** The parts of an answer that do not depend on the time of the request. */
function still({ status, text }: Answer): { status: number; text: string } {
  const quiet = text
    .replaceAll(/"requestId":"[^"]*"/g, '')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '')
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, 'ID')
  return { status, text: quiet }
}

/** Like the other side, with names and ids that do not exist. */
const unknownSide: Side = {
  contract: defineJob({ kind: 'zqnobody.kind', queue: 'zqnobody.queue' }),
  key: 'zqnobody-key',
  schedule: 'zqnobody.nightly',
  error: 'x',
  group: 'cccccccccccccccc',
}
function unknownIds(): Planted {
  const { operation } = scene.theirs
  const like = (id: string): string => id.slice(0, 24) + randomUUID().slice(24)
  return {
    ready: like(scene.theirs.ready),
    running: like(scene.theirs.running),
    dead: like(scene.theirs.dead),
    trashed: like(scene.theirs.trashed),
    finished: like(scene.theirs.finished),
    operation: like(operation),
    worker: randomUUID(),
    flow: like(scene.theirs.flow),
  }
}

/**
 * Routes that show the other side to a caller who may see everything: without this the tests below would prove nothing.
 */
const telling = [
  ...[
    'GET /v1/overview',
    'GET /v1/queues',
    'GET /v1/flows',
    'GET /v1/workers',
    'GET /v1/leases',
    'GET /v1/system',
    'GET /v1/kinds',
  ],
  ...['GET /v1/metrics', 'GET /v1/audit', 'GET /v1/jobs', 'GET /v1/operations', 'GET /v1/error-groups'],
  ...['GET /v1/schedules', 'GET /v1/limits', 'GET /v1/events'],
]

test('every route has a request in scope-requests.ts', () => {
  expect(Object.keys(requests).sort()).toEqual([...routes].sort())
})

test.each(telling)('%s names the other side to a caller who may see it', async (route) => {
  const served = consoleOf(undefined)
  const [first = {}] = requests[route]?.(own, scene.mine) ?? []
  expect((await ask(served, route, first)).text).toContain(mark)
})

describe.each(Object.entries(hosts))('a host %s', (_, can) => {
  const isAllowList = !can('view', { queue: 'zqnobody.queue' })

  test.each(routes)('%s names nothing of the other side', async (route) => {
    const served = consoleOf(can)
    for (const sent of requests[route]?.(own, scene.mine) ?? [])
      if (!route.startsWith('DELETE')) {
        const answer = await ask(served, pathOf(route, own, scene.mine), sent)
        expect(answer.text, JSON.stringify(sent)).not.toContain(mark)
        expect(answer.status, `${JSON.stringify(sent)} ${answer.text}`).toBeLessThan(500)
      }
  })

  test.each(routes)(
    '%s answers as if the other side did not exist, and changes nothing of it',
    async (route) => {
      const served = consoleOf(can)
      const before = await stored()
      const asked = requests[route]?.(secret, scene.theirs) ?? []
      const unknown = unknownIds()
      const instead = requests[route]?.(unknownSide, unknown) ?? []
      for (const [index, sent] of asked.entries()) {
        const answer = await ask(served, pathOf(route, secret, scene.theirs), sent)
        const isAskedFor = JSON.stringify([pathOf(route, secret, scene.theirs), sent]).includes(mark)
        if (!isAskedFor) expect(answer.text, JSON.stringify(sent)).not.toContain(mark)
        expect(answer.status).toBeLessThan(500)
        // A host that denies one queue allows every other name.
        if (!isAllowList || !isByName(route)) continue
        const other = await ask(served, pathOf(route, unknownSide, unknown), instead[index] ?? {})
        const named = still(answer)
        expect({
          ...named,
          text: named.text.replaceAll(mark, 'zqnobody').replaceAll('b'.repeat(16), 'c'.repeat(16)),
        }).toEqual(still(other))
      }
      expect(await stored()).toEqual(before)
    },
  )
})

/** Whether the path names a thing: then the answer is the one for a thing that does not exist. */
function isByName(route: string): boolean {
  return route.includes('{')
}

describe('a narrowed caller', () => {
  test('a narrowed caller sees and does what the host allows', async () => {
    // The tests above may have replayed or discarded the other dead letters of the group.
    const { id } = await scene.stint.enqueue(own.contract, null, {})
    await bury(scene.db, id, { fingerprint: own.group })
    const served = consoleOf(hosts['that lets through what has no queue'])
    const names = async (path: string, name: string): Promise<unknown[]> => {
      const { body } = await call(served, path)
      return (body['items'] as Record<string, unknown>[]).map((item) => item[name])
    }
    expect(await names('GET /v1/queues', 'queue')).toEqual(['mail'])
    expect(await names('GET /v1/kinds', 'kind')).toEqual(['mail.send'])
    expect(await names('GET /v1/schedules', 'name')).toContain(own.schedule)
    expect(await names('GET /v1/error-groups', 'group')).toEqual([own.group])
    expect(await names('GET /v1/operations', 'id')).toContain(scene.mine.operation)
    expect(await names('GET /v1/leases', 'jobId')).toContain(scene.mine.running)
    expect(await names('GET /v1/workers', 'id')).toContain(scene.mine.worker)
    expect((await call(served, 'GET /v1/stats?queue=mail')).status).toBe(200)
    expect((await call(served, 'GET /v1/stats')).status).toBe(403)
    expect((await call(served, 'GET /v1/audit')).status).toBe(403)
    const { body } = await call(served, 'GET /v1/overview')
    expect(body).toMatchObject({ workers: 2, queues: [{ queue: 'mail' }] })
    const titles = (body['problems'] as { title: string }[]).map(({ title }) => title)
    expect(titles).toEqual(
      expect.arrayContaining(['plainError: no such box', 'Schedule mail.nightly does not fire']),
    )
  })

  test('a narrowed caller acts on many jobs by ids or by a filter that names only allowed queues', async () => {
    const served = consoleOf(hosts['that lets through what has no queue'])
    const preview = async (target: object): Promise<Answer> =>
      call(served, 'POST /v1/operations', { json: { action: 'cancel', dryRun: true, ...target } })
    const { id } = await scene.stint.enqueue(own.contract, null, {})
    expect((await preview({ where: 'queue:mail' })).status).toBe(200)
    expect((await preview({ where: 'kind:mail.send' })).status).toBe(403)
    expect((await preview({ where: 'state:ready' })).status).toBe(403)
    expect((await preview({ where: `queue:mail,${secret.contract.queue}` })).status).toBe(404)
    const byIds = await preview({ ids: [id, scene.theirs.ready] })
    expect(byIds.body).toMatchObject({ matched: { count: 1, exact: true }, samples: [{ id }] })
    expect((await preview({ ids: [scene.theirs.ready] })).status).toBe(404)
  })

  test('a caller narrowed to a kind or a key neither sees nor acts on other jobs of the queue', async () => {
    const other = await scene.stint.enqueue(defineJob({ kind: 'mail.other', queue: 'mail' }), null, {
      key: 'other',
    })
    for (const [can, filter] of [
      [
        (_: unknown, of?: { kind?: string }) => of?.kind === undefined || of.kind === 'mail.send',
        'kind:mail.send',
      ],
      [
        (_: unknown, of?: { key?: string | null }) => of?.key === undefined || of.key === own.key,
        `key:${own.key}`,
      ],
    ] as const) {
      const served = consoleOf(can as Identity['can'])
      expect((await call(served, `GET /v1/jobs/${other.id}`)).status).toBe(404)
      const { body } = await call(served, 'GET /v1/jobs?where=queue:mail&limit=200')
      expect((body['items'] as { id: string }[]).map(({ id }) => id)).not.toContain(other.id)
      const cancel = { action: 'cancel', dryRun: true }
      const wide = await call(served, 'POST /v1/operations', { json: { ...cancel, where: 'queue:mail' } })
      expect(wide.status).toBe(403)
      const narrow = { ...cancel, where: `queue:mail ${filter}` }
      expect((await call(served, 'POST /v1/operations', { json: narrow })).status).toBe(200)
    }
  })
})
