import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { newName } from '../support/workers.ts'
import { mail } from './dead-letter-given.ts'
import { anything, call, openConsole, openStint, problemOf, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const { token } = tokens.operator
const viewer = tokens.viewer.token
const admin = tokens.admin.token

test('a schedule is shown, run, paused, resumed, backfilled and deleted', async () => {
  const served = openConsole(db.url)
  const stint = openStint(db.url)
  const name = newName('nightly')
  await stint.schedules.set({ name, job: mail, input: { secret: 's' }, cron: '0 2 * * *' })
  const path = `/v1/schedules/${name}`
  expect((await call(served, 'GET /v1/schedules', { token: viewer })).body).toMatchObject({
    items: [{ name, recent: [] }],
    next: null,
  })
  expect((await call(served, `GET ${path}`, { token })).body).toMatchObject({
    name,
    input: { secret: '[redacted]' },
    upcoming: [{}, {}, {}, {}, {}],
  })
  expect((await call(served, `GET ${path}/next?n=3`, { token })).body).toMatchObject({
    items: [{}, {}, {}],
  })
  const ran = await call(served, `POST ${path}/run`, { token, json: { reason: 'now' } })
  expect(await stint.get((ran.body as { jobId: string }).jobId)).toMatchObject({ kind: 'mail.send' })
  expect(
    (await call(served, `POST ${path}/pause`, { token, json: { for: '1h', reason: 'deploy' } })).body,
  ).toMatchObject({ isPaused: true, pauseReason: 'deploy' })
  expect((await call(served, `POST ${path}/resume`, { token, json: {} })).body).toMatchObject({
    isPaused: false,
  })
  const to = new Date()
  const range = { from: new Date(to.getTime() - 3 * 86_400_000).toISOString(), to: to.toISOString() }
  const planned = (await call(served, `POST ${path}/backfill`, { token, json: { ...range, dryRun: true } }))
    .body as { count: number }
  expect(planned.count).toBeGreaterThanOrEqual(2)
  expect((await call(served, `POST ${path}/backfill`, { token, json: range })).body).toMatchObject({
    count: planned.count,
  })
  expect((await call(served, `GET ${path}/fires`, { token })).body).toMatchObject({
    items: expect.arrayContaining([expect.objectContaining({ outcome: 'fired' })]) as unknown[],
  })
  expect((await call(served, `DELETE ${path}`, { token })).status).toBe(403)
  expect((await call(served, `DELETE ${path}`, { token: admin })).status).toBe(204)
  expect((await call(served, `GET ${path}`, { token })).status).toBe(404)
})

test('a schedule that is read, edited and written back keeps what was redacted', async () => {
  const served = openConsole(db.url)
  const stint = openStint(db.url)
  const name = newName('masked')
  const path = `/v1/schedules/${name}`
  const stored = async (): Promise<unknown> => {
    const [row] = await db.query<{ input: unknown }>('select input from stint.schedule where name = $1', [
      name,
    ])
    return row?.input
  }
  const input = { to: 'ana', apiKeys: ['k1'], db: 'postgres://a:b@h/x', tokens: 12, list: [{ token: 't' }] }
  await stint.schedules.set({ name, job: anything, input, cron: '0 2 1 1 *' })
  const shown = (await call(served, `GET ${path}`, { token: admin })).body['input'] as typeof input
  expect(shown).toEqual({
    to: 'ana',
    apiKeys: '[redacted]',
    db: 'postgres://a:[redacted]@h/x',
    tokens: 12,
    list: [{ token: '[redacted]' }],
  })
  const put = (edited: unknown, more: object = {}): ReturnType<typeof call> =>
    call(served, `PUT ${path}`, { token: admin, json: { input: edited, ...more } })
  expect((await put({ ...shown, to: 'bo' })).status).toBe(200)
  expect(await stored()).toEqual({ ...input, to: 'bo' })
  for (const [edited, pointer, more] of [
    [{ ...shown, password: '[redacted]' }, '/input/password', {}],
    [{ ...shown, list: [{ token: '[redacted]', id: 1 }] }, '/input/list/0/token', {}],
    [{ ...shown, db: 'postgres://a:[redacted]@other/x' }, '/input/db', {}],
    [{ ...shown, to: '[redacted]' }, '/input/to', {}],
    // Another kind may redact other parts.
    [shown, '/input/db', { kind: 'card.charge' }],
  ] as const)
    expect(problemOf(await put(edited, more))).toMatchObject({
      status: 422,
      type: 'urn:stint:problem:redacted',
      errors: [{ pointer }],
    })
  // A new schedule has no original to restore the masked part from.
  const made = await call(served, `PUT /v1/schedules/${newName('new')}`, {
    token: admin,
    json: { kind: 'any.thing', cron: '0 2 1 1 *', input: shown },
  })
  expect(problemOf(made)).toMatchObject({ status: 422, errors: [{ pointer: '/input/db' }] })
  // A mask of the host's own redaction cannot be told from data.
  const hiding = openConsole(db.url, {
    tokens: [],
    auth: () => ({ actor: 'ana', role: 'admin', origin: 'api', redact: () => 'hidden' }),
  })
  const refused = await call(hiding, `PUT ${path}`, { json: { input: 'hidden' } })
  expect(problemOf(refused)).toMatchObject({ status: 422, type: 'urn:stint:problem:redacted' })
  expect((await call(hiding, `PUT ${path}`, { json: { cron: '0 3 1 1 *' } })).status).toBe(200)
  expect(await stored()).toEqual({ ...input, to: 'bo' })
})

test('an admin stores a schedule and changes parts of it, and the answer says what is wrong with it', async () => {
  const served = openConsole(db.url)
  const stint = openStint(db.url)
  const name = newName('stored')
  const put = (json: object, as = admin): ReturnType<typeof call> =>
    call(served, `PUT /v1/schedules/${name}`, { token: as, json })
  const whole = {
    kind: 'mail.send',
    cron: '0 2 * * *',
    timeZone: 'Europe/Rome',
    input: { to: 'ana@example.com', secret: 's' },
  }
  expect((await put(whole, token)).status).toBe(403)
  expect(problemOf(await put({ cron: '0 2 * * *' }))).toMatchObject({
    status: 422,
    errors: [{ pointer: '/kind' }],
  })
  expect(problemOf(await put({ kind: 'mail.send' }))).toMatchObject({
    status: 422,
    errors: [{ pointer: '/cron' }],
  })
  expect(problemOf(await put({ ...whole, kind: 'mail.sent' }))).toMatchObject({
    status: 422,
    hint: 'Did you mean mail.send?',
  })
  expect(problemOf(await put({ ...whole, input: {} }))).toMatchObject({
    status: 422,
    errors: [{ pointer: '/input/to' }],
  })
  for (const wrong of [
    { cron: '0 0 30 2 *' },
    { timeZone: 'Mars/Olympus' },
    { overlap: 'never' },
    { crom: '' },
  ])
    expect((await put({ ...whole, ...wrong })).status, JSON.stringify(wrong)).toBe(422)
  expect(await stint.schedules.get(name)).toBeUndefined()

  expect(await put({ ...whole, missed: { policy: 'all', limit: 5 }, reason: 'asked for' })).toMatchObject({
    status: 200,
    body: {
      name,
      kind: 'mail.send',
      queue: 'mail',
      rule: '0 2 * * * Europe/Rome',
      source: 'runtime',
      missed: { policy: 'all', limit: 5 },
      upcoming: [{}, {}, {}, {}, {}],
    },
  })
  // Once more, as after a lost answer; then a part of it.
  expect((await put({ ...whole, missed: { policy: 'all', limit: 5 } })).status).toBe(200)
  const changed = await put({ every: '15m', missed: { window: '1h' }, endsAt: '2100-01-01T00:00:00Z' })
  expect(changed.body).toMatchObject({
    rule: 'every 15m',
    endsAt: '2100-01-01T00:00:00.000Z',
    missed: { policy: 'all', limit: 5, windowMs: 3_600_000 },
  })
  expect((await put({ endsAt: null })).body).toMatchObject({ rule: 'every 15m', endsAt: null })
  expect(await stint.schedules.get(name)).toMatchObject({ input: whole.input, queue: 'mail' })
  const { entries } = await stint.audit.list({ target: name })
  expect(entries.map(({ action, outcome, reason }) => `${action} ${outcome} ${reason ?? ''}`)).toEqual([
    ...['schedule.set done ', 'schedule.set done ', 'schedule.set done ', 'schedule.set done asked for'],
    // An input that does not fit, and an operator: each is the first refusal of that person within the minute.
    ...['schedule.set refused ', 'schedule.set refused '],
  ])
})
