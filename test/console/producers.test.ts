import { afterAll, beforeAll, expect, test } from 'vitest'
import { AcceptedJobs } from '../../src/server/api/job.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { call, openConsole, openStint, problemOf, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const { token } = tokens.operator

async function countJobs(): Promise<number> {
  const [row] = await db.query<{ count: number }>('select count(*)::int as count from stint.job')
  return row?.count ?? 0
}

test('a job over HTTP is stored as enqueue() stores it, and answered with 202, Location and links', async () => {
  const served = openConsole(db.url, { basePath: '/ops' })
  const answer = await call(served, 'POST /ops/v1/jobs', {
    token,
    json: {
      kind: 'mail.send',
      input: { to: 'ana@example.com' },
      priority: 5,
      attempts: 3,
      correlationId: 'order-7',
      delay: '1h',
    },
  })
  expect(answer.status).toBe(202)
  const { id } = answer.body as { id: string }
  const self = `/ops/v1/jobs/${id}`
  expect(answer.headers.get('Location')).toBe(self)
  expect(answer.body).toEqual({
    id,
    state: 'scheduled',
    duplicate: false,
    links: { self, result: `${self}/result`, logs: `${self}/logs` },
    asOf: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
  })
  expect(await openStint(db.url).get(id)).toMatchObject({
    kind: 'mail.send',
    queue: 'mail',
    key: 'example.com',
    priority: 5,
    maxAttempts: 3,
    correlationId: 'order-7',
    state: 'scheduled',
    input: { to: 'ana@example.com' },
  })
})

test('a job that does not fit its contract is refused with JSON pointers, and nothing is stored', async () => {
  const served = openConsole(db.url)
  const before = await countJobs()
  const answer = await call(served, 'POST /v1/jobs', {
    token,
    json: { kind: 'card.charge', input: { items: [{ cents: 5 }, { cents: 0 }, { cents: 'x' }] } },
  })
  expect(answer.status).toBe(422)
  expect(answer.headers.get('Content-Type')).toBe('application/problem+json')
  const problem = problemOf(answer)
  expect(problem).toMatchObject({
    type: 'urn:stint:problem:invalid-input',
    status: 422,
    instance: '/v1/jobs',
  })
  expect(problem.errors?.map(({ pointer }) => pointer)).toEqual([
    '/input/items/1/cents',
    '/input/items/2/cents',
  ])
  const options = await call(served, 'POST /v1/jobs', {
    token,
    json: { kind: 'any.thing', input: 1, priority: 101 },
  })
  expect(problemOf(options).errors?.map(({ pointer }) => pointer)).toEqual(['/priority'])
  const body = await call(served, 'POST /v1/jobs', {
    token,
    json: { kind: 'any.thing', prio: 1, runAt: 'soon' },
  })
  expect(body.status).toBe(422)
  expect(
    problemOf(body)
      .errors?.map(({ pointer }) => pointer)
      .sort(),
  ).toEqual(['/prio', '/runAt'])
  expect(await countJobs()).toBe(before)
})

test('a kind without a contract is refused, unless the console is set to accept it', async () => {
  const json = { kind: 'mail.sent', queue: 'mail', input: { any: 'thing' } }
  const refused = await call(openConsole(db.url), 'POST /v1/jobs', { token, json })
  expect(refused.status).toBe(422)
  expect(problemOf(refused)).toMatchObject({
    type: 'urn:stint:problem:unknown-kind',
    hint: 'Did you mean mail.send?',
  })
  const open = openConsole(db.url, { acceptUnknownKinds: true })
  const taken = await call(open, 'POST /v1/jobs', { token, json })
  expect(taken.status).toBe(202)
  const homeless = { kind: json.kind, input: json.input }
  const noQueue = await call(open, 'POST /v1/jobs', { token, json: homeless })
  expect(problemOf(noQueue).errors?.map(({ pointer }) => pointer)).toEqual(['/queue'])
})

test('an integer that JavaScript would round is refused instead of being changed', async () => {
  const served = openConsole(db.url)
  const headers = { 'Content-Type': 'application/json' }
  const send = (number: string) =>
    call(served, 'POST /v1/jobs', {
      token,
      headers,
      body: `{"kind":"any.thing","input":{"orderId":${number},"note":"9007199254740993"}}`,
    })
  expect((await send('9007199254740993')).status).toBe(422)
  expect((await send('9007199254740992')).status).toBe(202)
  expect((await send('12345678901234.5678')).status).toBe(202)
})

test('a unique or idempotent job is answered with the existing job, or with the reason for a refusal', async () => {
  const served = openConsole(db.url)
  const json = { kind: 'any.thing', input: { a: 1 }, idempotencyKey: 'k1' }
  const first = await call(served, 'POST /v1/jobs', { token, json })
  const again = await call(served, 'POST /v1/jobs', { token, json })
  expect(again.body).toMatchObject({ id: first.body['id'], duplicate: true, state: 'ready' })
  const other = await call(served, 'POST /v1/jobs', { token, json: { ...json, input: { a: 2 } } })
  expect(problemOf(other)).toMatchObject({ status: 409, type: 'urn:stint:problem:idempotency-conflict' })
  const charge = { kind: 'card.charge', input: { items: [{ cents: 7 }] } }
  expect((await call(served, 'POST /v1/jobs', { token, json: charge })).status).toBe(202)
  const twice = await call(served, 'POST /v1/jobs', { token, json: charge })
  expect(problemOf(twice)).toMatchObject({ status: 409, type: 'urn:stint:problem:duplicate-job' })
})

test('an idempotencyKey of one actor says nothing about the same key of another', async () => {
  const served = openConsole(db.url)
  const job = { kind: 'any.thing', input: { a: 1 }, idempotencyKey: 'shared' }
  const send = (by: string, input: unknown): ReturnType<typeof call> =>
    call(served, 'POST /v1/jobs', { token: by, json: { ...job, input } })
  const first = await send(token, 1)
  const foreign = await send(tokens.admin.token, 2)
  expect(foreign).toMatchObject({ status: 202, body: { duplicate: false } })
  expect((await send(token, 1)).body).toMatchObject({ id: first.body['id'], duplicate: true })
  const batch = await call(served, 'POST /v1/jobs/batch', {
    token: tokens.admin.token,
    json: { jobs: [{ ...job, input: 2 }] },
  })
  expect(batch.body).toMatchObject({ jobs: [{ id: foreign.body['id'], duplicate: true }] })
})

test('a batch of several kinds is stored whole, in the given order', async () => {
  const served = openConsole(db.url)
  const answer = await call(served, 'POST /v1/jobs/batch', {
    token,
    json: {
      jobs: [
        { kind: 'mail.send', input: { to: 'a@example.com' } },
        { kind: 'any.thing', input: 1, key: 'k' },
        { kind: 'mail.send', input: { to: 'b@example.com' }, priority: 7 },
      ],
    },
  })
  expect(answer.status).toBe(202)
  const { jobs } = AcceptedJobs.parse(answer.body)
  const rows = await Promise.all(jobs.map(({ id }) => openStint(db.url).get(id)))
  expect(rows.map((row) => [row?.kind, row?.key, row?.priority])).toEqual([
    ['mail.send', 'example.com', 0],
    ['any.thing', 'k', 0],
    ['mail.send', 'example.com', 7],
  ])
})

test('a batch with bad items stores nothing, and names each bad item', async () => {
  const served = openConsole(db.url)
  const before = await countJobs()
  const good = { kind: 'any.thing', input: 1 }
  const answer = await call(served, 'POST /v1/jobs/batch', {
    token,
    json: {
      jobs: [
        ...[good, { kind: 'mail.send', input: { to: 'nobody' } }, good],
        ...[
          { kind: 'no.such', input: 1 },
          { ...good, delay: '5m', runAt: '2099-01-01T00:00:00Z' },
        ],
      ],
    },
  })
  expect(answer.status).toBe(422)
  expect(problemOf(answer).errors?.map(({ pointer }) => pointer)).toEqual([
    '/jobs/1/input/to',
    '/jobs/3/kind',
    '/jobs/4/runAt',
  ])
  expect(await countJobs()).toBe(before)
})

test('a batch that the database refuses halfway is not stored at all', async () => {
  const served = openConsole(db.url)
  const charge = { kind: 'card.charge', input: { items: [{ cents: 4_711 }] } }
  expect((await call(served, 'POST /v1/jobs', { token, json: charge })).status).toBe(202)
  const before = await countJobs()
  const answer = await call(served, 'POST /v1/jobs/batch', {
    token,
    json: { jobs: [{ kind: 'any.thing', input: 1 }, charge] },
  })
  expect(answer.status).toBe(409)
  expect(await countJobs()).toBe(before)
})

test('a batch may have 1,000 jobs and not 1,001', async () => {
  const served = openConsole(db.url)
  const jobs = Array.from({ length: 1_001 }, (_, index) => ({ kind: 'any.thing', input: index }))
  const answer = await call(served, 'POST /v1/jobs/batch', { token, json: { jobs: jobs.slice(1) } })
  expect(answer).toMatchObject({ status: 202, body: { stored: 1_000, duplicates: 0 } })
  expect((await call(served, 'POST /v1/jobs/batch', { token, json: { jobs } })).status).toBe(422)
})

test('a request with an Idempotency-Key is carried out once, and its repeats get the same answer', async () => {
  const served = openConsole(db.url)
  const send = (key: string, input: unknown, as = token) =>
    call(served, 'POST /v1/jobs', {
      token: as,
      json: { kind: 'any.thing', input },
      headers: { 'Idempotency-Key': key },
    })
  const first = await send('"abc"', 1)
  expect(first.status).toBe(202)
  expect(first.headers.get('Idempotency-Replayed')).toBeNull()
  const repeat = await send('abc', 1)
  expect(repeat).toMatchObject({ status: 202, text: first.text })
  expect(repeat.headers.get('Idempotency-Replayed')).toBe('true')
  expect(repeat.headers.get('Location')).toBe(first.headers.get('Location'))
  // Another body under the key, another caller, and an invalid key.
  expect(problemOf(await send('abc', 2))).toMatchObject({
    status: 422,
    type: 'urn:stint:problem:idempotency-key-reused',
  })
  const elsewhere = await send('abc', 2, tokens.admin.token)
  expect(elsewhere.status).toBe(202)
  expect((await send('a b', 1)).status).toBe(400)
})

test('concurrent requests with one key store one job', async () => {
  const served = openConsole(db.url)
  const before = await countJobs()
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      call(served, 'POST /v1/jobs', {
        token,
        json: { kind: 'any.thing', input: 'race' },
        headers: { 'Idempotency-Key': 'race' },
      }),
    ),
  )
  expect(await countJobs()).toBe(before + 1)
  const ids = new Set(answers.filter(({ status }) => status === 202).map(({ body }) => body['id']))
  expect(ids.size).toBe(1)
  // The others learned that it is under way, or that the console has too few connections for so many at once.
  for (const { status } of answers) expect([202, 409, 503]).toContain(status)
})

test('a batch with an Idempotency-Key is stored once', async () => {
  const served = openConsole(db.url)
  const before = await countJobs()
  const send = () =>
    call(served, 'POST /v1/jobs/batch', {
      token,
      json: { jobs: [1, 2, 3].map((input) => ({ kind: 'any.thing', input })) },
      headers: { 'Idempotency-Key': 'batch-1' },
    })
  const first = await send()
  expect(await send()).toMatchObject({ status: 202, text: first.text })
  expect(await countJobs()).toBe(before + 3)
})

test('a refusal is not kept, and the same key may be used again', async () => {
  const served = openConsole(db.url)
  const send = (to: string) =>
    call(served, 'POST /v1/jobs', {
      token,
      json: { kind: 'mail.send', input: { to } },
      headers: { 'Idempotency-Key': 'second-try' },
    })
  expect((await send('nobody')).status).toBe(422)
  expect((await send('somebody@example.com')).status).toBe(202)
})

test('stored answers are removed after 24 hours, a few with each new one', async () => {
  const served = openConsole(db.url)
  const send = (key: string) =>
    call(served, 'POST /v1/jobs', {
      token,
      json: { kind: 'any.thing', input: key },
      headers: { 'Idempotency-Key': key },
    })
  await send('old')
  await db.query(
    `update stint.http_reply set expires_at = expires_at - interval '24 hours 1 minute' where key = 'old'`,
  )
  await send('new')
  expect(await db.query(`select 1 from stint.http_reply where key = 'old'`)).toEqual([])
  expect((await send('old')).headers.get('Idempotency-Replayed')).toBeNull()
})

test('only JSON is accepted, and a body that is not JSON gets an error that says so', async () => {
  const served = openConsole(db.url)
  const send = (type: string, body: string | Uint8Array) =>
    call(served, 'POST /v1/jobs', { token, headers: { 'Content-Type': type }, body })
  expect((await send('text/plain', '{"kind":"any.thing"}')).status).toBe(415)
  expect((await send('application/x-www-form-urlencoded', 'kind=any.thing')).status).toBe(415)
  expect((await send('application/json; charset=utf-8', '{"kind":"any.thing","input":1}')).status).toBe(202)
  const broken = await send('application/json', '{"kind":')
  expect(problemOf(broken)).toMatchObject({ status: 400, type: 'urn:stint:problem:malformed-json' })
  expect((await send('application/json', new Uint8Array([0x22, 0xff, 0x22]))).status).toBe(400)
  expect((await call(served, 'POST /v1/jobs', { token })).status).toBe(422)
})

test.each([
  ['a string that is never closed', `1234567890123456"${'\\"'.repeat(524_000)}`, 400],
  ['many strings that are never closed', `[1234567890123456,${'"\\'.repeat(524_000)}`, 400],
  ['a fraction of a million digits', `{"kind":"any.thing","input":${'1'.repeat(1_048_000)}.5}`, 422],
  ['an integer of a million digits', `{"kind":"any.thing","input":${'1'.repeat(1_048_000)}}`, 422],
  ['an integer that is infinite', `{"kind":"any.thing","input":${'1'.repeat(350)}}`, 422],
])('a megabyte with %s is answered at once', async (_, body, status) => {
  const served = openConsole(db.url)
  const headers = { 'Content-Type': 'application/json' }
  // CPU time and not elapsed time, because this process may have stood still.
  const before = process.cpuUsage()
  const answer = await call(served, 'POST /v1/jobs', { token, headers, body })
  expect(answer.status).toBe(status)
  // It takes milliseconds; a reader that starts again at every quote takes minutes, in which no other request is
  // answered.
  expect(process.cpuUsage(before).user).toBeLessThan(5_000_000)
})
