import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { newName } from '../support/workers.ts'
import { call, openConsole, openStint, problemOf, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const viewer = tokens.viewer.token
const operator = tokens.operator.token
const admin = tokens.admin.token

/** A limit by key that no worker has in its code. */
async function givenLimit(name = newName('limit')): Promise<string> {
  await db.query(
    `with rule as (insert into stint.concurrency_limit (name, by_key, max, tiers) values ($1, true, 2, '{"gold": 9}'))
     insert into stint.limit_cover (queue, type, name) values ('mail', 'concurrency', $1)`,
    [name],
  )
  return name
}

test('a limit is shown, overridden with If-Match and cleared', async () => {
  const served = openConsole(db.url)
  const name = await givenLimit()
  const path = `/v1/limits/${name}`
  const { body } = await call(served, 'GET /v1/limits', { token: viewer })
  expect(body['items']).toEqual(expect.arrayContaining([expect.objectContaining({ name, max: 2, used: 0 })]))
  const ofQueue = await call(served, 'GET /v1/limits?queue=mail', { token: viewer })
  expect(ofQueue.body['items']).toEqual([expect.objectContaining({ name })])
  const ofOther = await call(served, 'GET /v1/limits?queue=other', { token: viewer })
  expect(ofOther.body).toMatchObject({ items: [], next: null })
  const read = await call(served, `GET ${path}`, { token: viewer })
  expect(read.body).toMatchObject({
    name,
    type: 'concurrency',
    tiers: { gold: 9 },
    holders: [],
    isOrphan: true,
  })
  const tag = read.headers.get('ETag') ?? ''
  expect(tag).toBe(`"${String(read.body['version'])}"`)
  const json = { max: 5, for: '1h', reason: 'backlog' }
  const without = await call(served, `PUT ${path}`, { token: admin, json })
  expect([without.status, problemOf(without).type]).toEqual([428, 'urn:stint:problem:if-match-required'])
  const headers = { 'If-Match': tag }
  const changed = await call(served, `PUT ${path}`, { token: admin, json, headers })
  expect(changed.status).toBe(200)
  expect(changed.body).toMatchObject({
    max: 5,
    declared: 2,
    override: { to: 5, by: 'ada', reason: 'backlog' },
  })
  const late = await call(served, `PUT ${path}`, { token: admin, json, headers })
  expect([late.status, problemOf(late).type]).toEqual([412, 'urn:stint:problem:changed-since'])
  const cleared = await call(served, `DELETE ${path}?reason=done`, {
    token: admin,
    headers: { 'If-Match': changed.headers.get('ETag') ?? '' },
  })
  expect(cleared.body).toMatchObject({ max: 2, override: null })
  expect(
    await db.query(`select action, actor, reason from stint.audit where target = $1 order by at`, [name]),
  ).toEqual([
    { action: 'limit.override', actor: 'ada', reason: 'backlog' },
    { action: 'limit.clear', actor: 'ada', reason: 'done' },
  ])
})

test('only an admin changes limits, and a refusal is in the audit', async () => {
  const served = openConsole(db.url)
  const name = await givenLimit()
  const path = `/v1/limits/${name}`
  const requests: [request: string, json: unknown][] = [
    [`PUT ${path}`, { max: 5, for: '1h' }],
    [`DELETE ${path}`, undefined],
    [`POST ${path}/delete`, {}],
    [`PUT ${path}/keys/acme`, { max: 5 }],
    [`DELETE ${path}/keys/acme`, undefined],
    [`POST ${path}/penalise`, { for: '1s' }],
  ]
  for (const token of [viewer, operator])
    for (const [request, json] of requests)
      expect((await call(served, request, { token, json })).status, request).toBe(403)
  const [refused] = await db.query<{ count: number }>(
    `select count(*)::integer as count from stint.audit where target = $1 and outcome = 'refused'`,
    [name],
  )
  expect(refused?.count).toBe(12)
  expect(await openStint(db.url).limits.get(name)).toMatchObject({ override: null, keyRules: 0 })
})

test('names and keys with slash, dot and percent work in URLs', async () => {
  const served = openConsole(db.url)
  const name = await givenLimit(`${newName('a')}/b.c%2Fd`)
  const key = 'x/y.z%20 é'
  const path = `/v1/limits/${encodeURIComponent(name)}`
  const keyPath = `${path}/keys/${encodeURIComponent(key)}`
  const rule = await call(served, `PUT ${keyPath}`, { token: admin, json: { tier: 'gold', reason: 'paid' } })
  expect(rule.body).toMatchObject({ key, tier: 'gold', until: null, by: 'ada', reason: 'paid' })
  expect((await call(served, `GET ${path}/keys`, { token: viewer })).body).toMatchObject({
    items: [{ key, tier: 'gold' }],
    next: null,
  })
  expect((await call(served, `GET ${path}`, { token: viewer })).body).toMatchObject({ name, keyRules: 1 })
  expect((await call(served, `DELETE ${keyPath}`, { token: admin })).status).toBe(204)
  expect((await call(served, `GET ${path}/keys`, { token: viewer })).body).toMatchObject({ items: [] })
  expect((await call(served, `POST ${path}/delete`, { token: admin, json: {} })).status).toBe(204)
  expect((await call(served, `GET ${path}`, { token: viewer })).status).toBe(404)
})

test('a bad value is answered with its place', async () => {
  const served = openConsole(db.url)
  const name = await givenLimit()
  const path = `/v1/limits/${name}`
  const headers = { 'If-Match': '*' }
  const cases: [request: string, json: object, pointer: string][] = [
    [`PUT ${path}`, { max: -1, for: '1h' }, '/max'],
    [`PUT ${path}`, { max: 1 }, '/until'],
    [`PUT ${path}`, { max: 1, until: '2001-01-01T00:00:00Z' }, '/until'],
    [`PUT ${path}`, { tokens: 1, for: '1h' }, '/tokens'],
    [`PUT ${path}/keys/a`, { weight: 1_001 }, '/weight'],
    [`PUT ${path}/keys/a`, { tier: 'silver' }, '/tier'],
    [`POST ${path}/penalise`, { for: '1s' }, '/name'],
  ]
  for (const [request, json, pointer] of cases) {
    const answer = await call(served, request, { token: admin, json, headers })
    expect(answer.status, JSON.stringify(json)).toBe(422)
    expect(problemOf(answer).errors?.[0]?.pointer, JSON.stringify(json)).toBe(pointer)
  }
})

test('a rate is penalised, and the metrics name limits and rates', async () => {
  const served = openConsole(db.url)
  const limit = await givenLimit()
  const rate = newName('rate')
  await db.query(`insert into stint.rate (name, tokens, period_ms, burst) values ($1, 60, 60000, 10)`, [rate])
  const closed = await call(served, `POST /v1/limits/${rate}/penalise`, { token: admin, json: { for: '1h' } })
  expect(closed.body).toMatchObject({
    type: 'rate',
    blockedUntil: expect.any(String) as string,
    available: 10,
  })
  const { text } = await call(served, 'GET /metrics', { token: viewer })
  expect(text).toContain(`stint_limit_used{limit="${limit}"} 0`)
  expect(text).toContain(`stint_limit_max{limit="${limit}"} 2`)
})
