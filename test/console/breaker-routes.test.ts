import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { plantBreaker } from '../support/planted-breaker.ts'
import { newName } from '../support/workers.ts'
import { call, openConsole, problemOf, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const viewer = tokens.viewer.token
const operator = tokens.operator.token
const admin = tokens.admin.token

async function given(): Promise<string> {
  const name = newName('smtp')
  await plantBreaker(db, { name, queue: name, kind: 'mail.send' })
  return name
}

test('a breaker is shown, probed by operators, and opened, closed and reset by admins', async () => {
  const served = openConsole(db.url)
  const name = await given()
  const path = `/v1/breakers/${name}`
  expect((await call(served, 'GET /v1/breakers', { token: viewer })).body).toMatchObject({
    items: [{ name, state: 'open', cause: { failed: 23, of: 25 }, forced: null }],
    next: null,
  })
  const ofQueue = await call(served, `GET /v1/breakers?queue=${name}`, { token: viewer })
  expect(ofQueue.body).toMatchObject({ items: [{ name }], next: null })
  const ofOther = await call(served, 'GET /v1/breakers?queue=other', { token: viewer })
  expect(ofOther.body).toMatchObject({ items: [], next: null })
  expect((await call(served, `GET ${path}`, { token: viewer })).body).toMatchObject({
    covers: [{ queue: name, kinds: ['mail.send'] }],
    seen: { ok: 0, failed: 0 },
    recent: [{ was: 'closed', state: 'open', by: null }],
  })
  expect((await call(served, `POST ${path}/probe`, { token: viewer, json: {} })).status).toBe(403)
  const probed = await call(served, `POST ${path}/probe`, { token: operator, json: { reason: 'it is back' } })
  expect(probed.status).toBe(200)
  for (const verb of ['open', 'close', 'reset'])
    expect((await call(served, `POST ${path}/${verb}`, { token: operator, json: {} })).status).toBe(403)
  const opened = await call(served, `POST ${path}/open`, {
    token: admin,
    json: { for: '10m', reason: 'move' },
  })
  expect(opened.body).toMatchObject({ state: 'open', forced: { by: 'ada', reason: 'move' } })
  const refused = await call(served, `POST ${path}/probe`, { token: operator, json: {} })
  expect(refused.status).toBe(409)
  expect(problemOf(refused).detail).toContain('until')
  const closed = await call(served, `POST ${path}/close`, { token: admin, json: { for: '5m' } })
  expect(closed.body).toMatchObject({ state: 'closed', changes: 2 })
  expect((await call(served, `POST ${path}/reset`, { token: admin, json: {} })).body).toMatchObject({
    state: 'closed',
    forced: null,
  })
  const audit = await db.query<{ line: string }>(
    `select action || ' ' || outcome as line from stint.audit where target = $1 order by at, id`,
    [name],
  )
  expect(audit.map(({ line }) => line)).toEqual(
    expect.arrayContaining([
      'breaker.probe refused',
      'breaker.probe done',
      'breaker.open refused',
      'breaker.open done',
      'breaker.close done',
      'breaker.reset done',
    ]),
  )
})

test('requests about breakers that are wrong are answered with the field that is wrong', async () => {
  const served = openConsole(db.url)
  const name = await given()
  for (const json of [{}, { for: 'soon' }, { until: '2001-01-01T00:00:00Z' }, { for: '1m', forever: true }])
    expect((await call(served, `POST /v1/breakers/${name}/open`, { token: admin, json })).status).toBe(422)
  for (const path of ['gone', '%00', '%F0%9F%94%A5', 'x'.repeat(129)])
    expect((await call(served, `GET /v1/breakers/${path}`, { token: viewer })).status).toBeOneOf([404, 422])
  const missing = await call(served, 'POST /v1/breakers/gone/reset', { token: admin, json: {} })
  expect(missing.status).toBe(404)
  expect(problemOf(missing).type).toBe('urn:stint:problem:breaker-not-found')
})

test('metrics have the state of each breaker and how often it changed', async () => {
  const served = openConsole(db.url)
  const name = await given()
  const text = (await call(served, 'GET /metrics', { token: viewer })).text
  expect(text).toContain(`stint_breaker_state{breaker="${name}"} 2`)
  expect(text).toContain(`stint_breaker_changes_total{breaker="${name}"} 1`)
})
