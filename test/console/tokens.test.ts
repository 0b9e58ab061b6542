import { afterAll, beforeAll, expect, test } from 'vitest'
import { runStint } from '../support/cli.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { findToken, makeToken, parseTokens } from '../../src/server/auth/tokens.ts'
import type { Console } from '../../src/server.ts'
import { call, openConsole, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const ours = { 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/x-www-form-urlencoded' }

function signIn(served: Console, token: string) {
  return call(served, 'POST /login', { headers: ours, body: new URLSearchParams({ token }).toString() })
}

test('a token has the name, role and expiry of its line', async () => {
  const past = makeToken({ name: 'past', role: 'admin', expiresAt: new Date(Date.now() - 1_000) })
  const soon = makeToken({ name: 'soon', role: 'viewer', expiresAt: new Date(Date.now() + 60_000) })
  const served = openConsole(db.url, { tokens: [past.line, soon.line] })
  expect((await call(served, 'GET /v1/me', { token: soon.token })).body).toMatchObject({
    actor: 'soon',
    role: 'viewer',
    can: ['view'],
  })
  for (const token of [past.token, soon.line, `${soon.token}x`, soon.token.slice(0, -1), 'stint_', 'x'])
    expect((await call(served, 'GET /v1/me', { token })).status, token).toBe(401)
  // The hash alone signs in no caller.
  const hash = soon.line.split(':').at(-1) ?? ''
  expect((await call(served, 'GET /v1/me', { token: hash })).status).toBe(401)
})

test('invalid token lines are refused, and the error does not show them', () => {
  const { token, line } = tokens.admin
  const [name, role, expiry, hash] = line.split(':')
  expect(parseTokens(`${line}, ${tokens.viewer.line}\n\n# a comment\n`).map((one) => one.name)).toEqual([
    'ada',
    'vi',
  ])
  const bad = [
    token,
    `${name}:${role}:${expiry}:${token}`,
    `:${role}:${expiry}:${hash}`,
    `a b:${role}:${expiry}:${hash}`,
    `${name}:root:${expiry}:${hash}`,
    `${name}:${role}:soon:${hash}`,
    `${name}:${role}:${expiry}:${hash?.slice(1)}`,
    `${line}\n${line}`,
  ]
  for (const text of bad) {
    expect(() => parseTokens(text), text).toThrow(/cannot be read/)
    expect(() => parseTokens(text), text).not.toThrow(new RegExp(`${token}|${hash}`))
  }
})

test('an expiry is a time that contains colons', () => {
  const expiresAt = new Date(Date.now() + 60_000)
  const { token, line } = makeToken({ name: 'x', role: 'viewer', expiresAt })
  const [parsed] = parseTokens(line)
  expect(parsed?.expiresAt).toEqual(expiresAt)
  expect(findToken(parseTokens(line), token, expiresAt)).toBeUndefined()
})

test('a session ends with its token, at its expiry, and when either changes', async () => {
  const first = makeToken({ name: 'ana', role: 'operator', expiresAt: null })
  const secret = 'a secret of thirty-two characters'
  const served = openConsole(db.url, { tokens: [first.line], secret })
  const answer = await signIn(served, first.token)
  expect(answer.status).toBe(303)
  const cookie = answer.headers.get('Set-Cookie') ?? ''
  expect(cookie).not.toContain(first.token)
  expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/)
  const headers = { Cookie: cookie.split(';')[0] ?? '' }
  expect((await call(served, 'GET /v1/me', { headers })).body).toMatchObject({ actor: 'ana' })
  // Another console with the same secret accepts it; a new token under the name, or another secret, does not.
  const twin = openConsole(db.url, { tokens: [first.line], secret })
  expect((await call(twin, 'GET /v1/me', { headers })).status).toBe(200)
  const renewed = makeToken({ name: 'ana', role: 'admin', expiresAt: null })
  expect(
    (await call(openConsole(db.url, { tokens: [renewed.line], secret }), 'GET /v1/me', { headers })).status,
  ).toBe(401)
  expect((await call(openConsole(db.url, { tokens: [first.line] }), 'GET /v1/me', { headers })).status).toBe(
    401,
  )
  // Forged in each part.
  const [name, until, nonce, signature] = headers.Cookie.slice('stint_session='.length).split('.')
  for (const forged of [
    `${Buffer.from('ada').toString('base64url')}.${until}.${nonce}.${signature}`,
    `${name}.${Number(until) + 1}.${nonce}.${signature}`,
    `${name}.${until}.${nonce}x.${signature}`,
    `${name}.${until}.${nonce}.${signature?.toUpperCase()}`,
    `${name}.${until}.${nonce}.${signature}.`,
    `${name}.${until}.${nonce}`,
    '...',
  ])
    expect(
      (await call(served, 'GET /v1/me', { headers: { Cookie: `stint_session=${forged}` } })).status,
    ).toBe(401)
})

test('a stolen cookie is useless at every console after its holder signed out', async () => {
  const secret = 'a secret of thirty-two characters'
  const served = openConsole(db.url, { secret })
  const twin = openConsole(db.url, { secret })
  const cookieOf = async (): Promise<{ Cookie: string }> => {
    const { headers } = await signIn(served, tokens.operator.token)
    return { Cookie: headers.get('Set-Cookie')?.split(';')[0] ?? '' }
  }
  const stolen = await cookieOf()
  const other = await cookieOf()
  for (const console of [served, twin])
    expect((await call(console, 'GET /v1/me', { headers: stolen })).status).toBe(200)
  const out = await call(served, 'POST /logout', { headers: { ...ours, ...stolen } })
  expect(out.status).toBe(303)
  expect(out.headers.get('Set-Cookie')).toContain('Max-Age=0')
  for (const console of [served, twin, openConsole(db.url, { secret })]) {
    expect((await call(console, 'GET /v1/me', { headers: stolen })).status).toBe(401)
    const page = { headers: { ...stolen, Accept: 'text/html' } }
    expect((await call(console, 'GET /', page)).headers.get('Location')).toBe('/login')
    // Another session of the same token stays valid.
    expect((await call(console, 'GET /v1/me', { headers: other })).status).toBe(200)
  }
  // A cookie that was never issued ends no session.
  const forged = { Cookie: `${other.Cookie}x` }
  expect((await call(served, 'POST /logout', { headers: { ...ours, ...forged } })).status).toBe(303)
  const rows = await db.query<{ count: number }>('select count(*)::int as count from stint.ended_session')
  expect(rows).toEqual([{ count: 1 }])
})

test('the cookie is Secure over https', async () => {
  const served = openConsole(db.url, { publicOrigin: 'https://ops.example.com' })
  const answer = await signIn(served, tokens.viewer.token)
  expect(answer.headers.get('Set-Cookie')).toMatch(/; Secure$/)
})

test('a client that guesses tokens has to wait after ten failures, and a valid token still signs in', async () => {
  const served = openConsole(db.url)
  for (let tries = 1; tries <= 10; tries++) expect((await signIn(served, `guess${tries}`)).status).toBe(401)
  const refused = await signIn(served, 'guess11')
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
  expect((await call(served, 'GET /login?once=guess12')).status).toBe(429)
  // Behind a proxy all clients have one address: one client must not lock out the others.
  expect((await signIn(served, tokens.viewer.token)).status).toBe(303)
  expect((await signIn(served, 'guess13')).status).toBe(429)
  // A token in a header is not limited by failures of the form.
  expect((await call(served, 'GET /v1/me', { token: tokens.viewer.token })).status).toBe(200)
})

test('the sign-in page has nothing inline, and shows hostile text as text', async () => {
  const served = openConsole(db.url, { basePath: '/ops' })
  const page = await call(served, `GET /ops/login?to=${encodeURIComponent('/"><script>alert(1)</script>')}`)
  expect(page.text).not.toMatch(/<script|<style|style=|\son\w+=/i)
  expect(page.text).toContain('&quot;&gt;&lt;script&gt;')
  expect(page.text).toContain('action="/ops/login"')
  expect(page.headers.get('Content-Security-Policy')).toContain("default-src 'none'")
  expect((await call(served, 'GET /ops/page.css')).headers.get('Content-Type')).toContain('text/css')
})

test('stint token new prints a token and its line', async () => {
  const run = (...args: string[]) => runStint(['token', 'new', ...args])
  const { code, stdout } = await run('--name', 'ana', '--role', 'operator', '--expires', '30d', '-o', 'json')
  expect(code).toBe(0)
  const { token, line, expiresAt } = JSON.parse(stdout) as { token: string; line: string; expiresAt: string }
  expect(findToken(parseTokens(line), token)).toMatchObject({ name: 'ana', role: 'operator' })
  const days = (Date.parse(expiresAt) - Date.now()) / 86_400_000
  expect(days).toBeGreaterThan(29.9)
  const shown = await run('--name', 'ana', '--role', 'viewer', '--expires', 'never')
  expect(shown.stdout).toMatch(/token +stint_[\w-]{43}\nline +ana:viewer:never:[\da-f]{64}/)
  expect((await run('--name', 'ana', '--role', 'root')).code).toBe(2)
  expect((await run('--name', 'ana', '--role', 'admin', '--expires', '2020-01-01')).code).toBe(2)
  expect((await run('--name', 'a:b', '--role', 'admin')).code).toBe(2)
})
