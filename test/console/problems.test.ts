import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createEmptyDatabase, createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startOwnServer } from '../support/own-server.ts'
import { straightWay } from '../support/way.ts'
import { call, openConsole, openStint, openUsualConsole, problemOf, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const { token } = tokens.operator
const json = { kind: 'any.thing', input: 1 }

test('every answer has its request id and the security headers for browsers', async () => {
  const served = openConsole(db.url)
  const answers = [
    await call(served, 'GET /v1/me', { token }),
    await call(served, 'GET /v1/me'),
    await call(served, 'GET /login'),
    await call(served, 'POST /v1/jobs', { token, json: {} }),
    await call(served, 'GET /nothing', { token }),
    await call(served, 'GET /v1/health/live'),
  ]
  for (const { headers } of answers) {
    expect(headers.get('X-Request-Id')).toMatch(/^[\da-f-]{36}$/)
    expect(headers.get('Content-Security-Policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "worker-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'",
    )
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
    expect(headers.get('Referrer-Policy')).toBe('same-origin')
    expect(headers.get('Cache-Control')).toBe('no-store')
    expect(headers.get('Access-Control-Allow-Origin')).toBeNull()
  }
  const own = await call(served, 'GET /v1/nothing', { token, headers: { 'X-Request-Id': 'trace-7' } })
  expect(problemOf(own)).toMatchObject({ status: 404, requestId: 'trace-7', instance: '/v1/nothing' })
  const hostile = await call(served, 'GET /v1/me', { token, headers: { 'X-Request-Id': '<script>' } })
  expect(hostile.headers.get('X-Request-Id')).not.toContain('<')
})

test('a method that a path does not support gets the ones it supports', async () => {
  const answer = await call(openConsole(db.url), 'DELETE /v1/me', { token })
  expect(answer.status).toBe(405)
  expect(answer.headers.get('Allow')).toBe('GET')
})

test('a body over the limit is refused while it streams, and the rest is not read', async () => {
  const served = openConsole(db.url)
  const limits = { '/v1/jobs': 1_048_576, '/v1/jobs/batch': 4_194_304 }
  for (const [path, limit] of Object.entries(limits)) {
    let sent = 0
    let isCancelled = false
    const body = new ReadableStream<Uint8Array>({
      // The body does not end: only a reader that stops can answer.
      pull(controller) {
        sent += 65_536
        controller.enqueue(new Uint8Array(65_536).fill(0x20))
      },
      cancel() {
        isCancelled = true
      },
    })
    const answer = await call(served, `POST ${path}`, {
      token,
      headers: { 'Content-Type': 'application/json' },
      body,
    })
    expect(problemOf(answer)).toMatchObject({ status: 413, type: 'urn:stint:problem:body-too-large' })
    expect(isCancelled).toBe(true)
    expect(sent).toBeLessThanOrEqual(limit + 4 * 65_536)
  }
  // With a declared length nothing is read at all.
  const declared = await call(served, 'POST /v1/jobs', {
    token,
    headers: { 'Content-Type': 'application/json', 'Content-Length': '99999999' },
    body: '{}',
  })
  expect(declared.status).toBe(413)
})

test('a body within the limit is accepted, also with an input that fills the limit', async () => {
  const served = openConsole(db.url)
  const input = 'x'.repeat(200_000)
  expect((await call(served, 'POST /v1/jobs', { token, json: { ...json, input } })).status).toBe(202)
  const tooLarge = await call(served, 'POST /v1/jobs', { token, json: { ...json, input: input + input } })
  expect(problemOf(tooLarge)).toMatchObject({ status: 422, errors: [{ pointer: '/input' }] })
})

test('a console at its limit answers 503 with Retry-After, and recovers', async () => {
  const served = openUsualConsole(db.url, { poolSize: 1 })
  const isStored = async (): Promise<void> => {
    expect((await call(served, 'POST /v1/jobs', { token, json })).status).toBe(202)
  }
  // So that the console has its connection: waiting for one has a limit of its own.
  await eventually(isStored)
  const lock = new pg.Client(straightWay(db.url))
  await lock.connect()
  onTestFinished(() => lock.end())
  await lock.query('begin')
  await lock.query('lock table stint.job in access exclusive mode')
  // Where the machine stands still, the console's own timer may fire before the server reports that it got no lock.
  await eventually(async () => {
    const waiting = await call(served, 'POST /v1/jobs', { token, json })
    expect(problemOf(waiting)).toMatchObject({ status: 503, type: 'urn:stint:problem:busy' })
    expect(Number(waiting.headers.get('Retry-After'))).toBeGreaterThan(0)
  })
  await lock.query('rollback')
  await eventually(isStored)
})

test('the console has at most four connections of its own, with time limits that the server enforces', async () => {
  // Connections of earlier tests may not have ended yet.
  const others = await pids()
  const host = openStint(db.url)
  const served = openConsole(undefined as never, { connection: undefined, stint: host })
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      call(served, 'POST /v1/jobs', { token, json, headers: { 'Idempotency-Key': `limit-${index}` } }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202))
  const own = (await pids()).filter((pid) => !others.includes(pid))
  expect(own.length).toBeGreaterThan(0)
  expect(own.length).toBeLessThanOrEqual(4)
})

async function pids(): Promise<number[]> {
  const rows = await db.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'stint'`,
  )
  return rows.map(({ pid }) => pid)
}

test('a database that goes down is a problem that says so, and the console recovers with it', async () => {
  const server = await startOwnServer()
  const served = openUsualConsole(server.db.url)
  await eventually(async () => {
    expect((await call(served, 'POST /v1/jobs', { token, json })).status).toBe(202)
  })
  await server.stop('fast')
  // The first request may be sent on a connection that is already gone, and then its outcome is unknown.
  await eventually(async () => {
    const down = await call(served, 'POST /v1/jobs', { token, json })
    expect(down.text).not.toMatch(/ECONNREFUSED|127\.0\.0\.1|terminating/)
    expect(down.headers.get('Retry-After')).not.toBeNull()
    expect(problemOf(down)).toMatchObject({ status: 503, type: 'urn:stint:problem:database-unavailable' })
  })
  // Routes that need no database still answer.
  expect((await call(served, 'GET /v1/me', { token })).status).toBe(200)
  expect((await call(served, 'GET /v1/health/live')).status).toBe(200)
  await eventually(async () => {
    expect((await call(served, 'GET /v1/health/ready')).status).toBe(503)
  })
  await server.start()
  await eventually(async () => {
    expect((await call(served, 'POST /v1/jobs', { token, json })).status).toBe(202)
    expect((await call(served, 'GET /v1/health/ready')).status).toBe(200)
  })
})

test('missing tables are a problem that names the command to run', async () => {
  const empty = await createEmptyDatabase()
  onTestFinished(() => empty.drop())
  const served = openConsole(empty.url)
  onTestFinished(() => served.close())
  const answer = await call(served, 'POST /v1/jobs', { token, json })
  expect(problemOf(answer)).toMatchObject({
    status: 503,
    type: 'urn:stint:problem:schema-missing',
    hint: 'stint migrate',
  })
  expect((await call(served, 'GET /v1/health/ready')).status).toBe(503)
})
