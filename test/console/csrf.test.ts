import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import type { Console } from '../../src/server.ts'
import { call, openConsole, problemOf, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const ours = { 'Sec-Fetch-Site': 'same-origin' }

async function signIn(served: Console, token = tokens.operator.token): Promise<string> {
  const { headers, status } = await call(served, 'POST /login', {
    headers: { ...ours, 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token, to: '/dead' }).toString(),
  })
  expect(status).toBe(303)
  expect(headers.get('Location')).toBe('/dead')
  return headers.get('Set-Cookie')?.split(';')[0] ?? ''
}

const job = JSON.stringify({ kind: 'any.thing', input: 1 })

test.each([
  ['from our own page', ours, 202],
  ['from a browser that sends no Sec-Fetch-Site, with our Origin', { Origin: 'http://console.test' }, 202],
  ['behind a proxy that ends TLS', { Origin: 'https://console.test' }, 202],
  ['from another site', { 'Sec-Fetch-Site': 'cross-site' }, 403],
  ['from a sister domain', { 'Sec-Fetch-Site': 'same-site' }, 403],
  [
    'from another site that forges an Origin beside it',
    { 'Sec-Fetch-Site': 'cross-site', Origin: 'http://console.test' },
    403,
  ],
  ['typed in by hand', { 'Sec-Fetch-Site': 'none' }, 403],
  ['with another Origin', { Origin: 'http://evil.test' }, 403],
  ['with an Origin that ends alike', { Origin: 'http://console.test.evil.test' }, 403],
  ['with an opaque Origin', { Origin: 'null' }, 403],
  ['with neither', {}, 403],
])('a request with a cookie %s is accepted or refused by where it comes from', async (_, headers, status) => {
  const served = openConsole(db.url)
  const Cookie = await signIn(served)
  // The content type must not change that.
  const types =
    status === 403
      ? ['application/json', 'text/plain', 'multipart/form-data', undefined]
      : ['application/json']
  for (const type of types) {
    const answer = await call(served, 'POST /v1/jobs', {
      headers: { Cookie, ...headers, ...(type === undefined ? {} : { 'Content-Type': type }) },
      body: type === undefined ? new TextEncoder().encode(job) : job,
    })
    expect(answer.status, type).toBe(status)
    if (status === 403) expect(problemOf(answer).type).toBe('urn:stint:problem:cross-site')
  }
})

test('a public origin is compared as a whole', async () => {
  const served = openConsole(db.url, { publicOrigin: 'https://ops.example.com' })
  const Cookie = await signIn(served)
  const send = (Origin: string) =>
    call(served, 'POST /v1/jobs', {
      headers: { Cookie, Origin, 'Content-Type': 'application/json' },
      body: job,
    })
  expect((await send('https://ops.example.com')).status).toBe(202)
  expect((await send('http://ops.example.com')).status).toBe(403)
  expect((await send('http://console.test')).status).toBe(403)
})

test('a program with a token needs no origin, and neither does a read', async () => {
  const served = openConsole(db.url)
  const { token } = tokens.operator
  const cross = { 'Sec-Fetch-Site': 'cross-site', Origin: 'http://evil.test' }
  expect(
    (await call(served, 'POST /v1/jobs', { token, headers: cross, json: { kind: 'any.thing' } })).status,
  ).toBe(202)
  const Cookie = await signIn(served)
  expect((await call(served, 'GET /v1/me', { headers: { Cookie, ...cross } })).status).toBe(200)
})

test('a request that a browser authenticates by itself is checked, also with Basic auth of the host', async () => {
  const served = openConsole(db.url, {
    tokens: [],
    auth: (request) =>
      request.headers.get('Authorization') === 'Basic eDp5' ? { actor: 'x', role: 'operator' } : null,
  })
  const send = (headers: Record<string, string>) =>
    call(served, 'POST /v1/jobs', {
      headers: { Authorization: 'Basic eDp5', ...headers },
      json: { kind: 'any.thing' },
    })
  expect((await send({ 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403)
  expect((await send(ours)).status).toBe(202)
})

test('sign-in and sign-out refuse other sites, and redirect only within the console', async () => {
  const served = openConsole(db.url)
  const send = (headers: Record<string, string>, to: string) =>
    call(served, 'POST /login', {
      headers: { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token: tokens.viewer.token, to }).toString(),
    })
  expect((await send({ Origin: 'http://evil.test' }, '/')).status).toBe(403)
  for (const to of [
    '//evil.test',
    'https://evil.test',
    '/\\evil.test',
    '\\\\evil.test',
    '/a\r\nSet-Cookie: x=y',
  ])
    expect((await send(ours, to)).headers.get('Location'), to).toBe('/')
  const Cookie = await signIn(served)
  expect(
    (await call(served, 'POST /logout', { headers: { Cookie, Origin: 'http://evil.test' } })).status,
  ).toBe(403)
  const out = await call(served, 'POST /logout', { headers: { Cookie, ...ours } })
  expect(out.headers.get('Set-Cookie')).toMatch(/^stint_session=; .*Max-Age=0/)
})
