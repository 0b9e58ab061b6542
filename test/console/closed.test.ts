import { get } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createConsole } from '../../src/server.ts'
import type { ConsoleOptions } from '../../src/server.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { finish, start } from '../support/processes.ts'
import { call, openConsole, problemOf, tokens } from './scene.ts'

const cli = join(import.meta.dirname, '../../dist/cli/main.js')
const auth = () => null
const { line } = tokens.operator

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

describe('embedded', () => {
  const ways: {
    name: string
    options: ConsoleOptions
    environment: 'production' | 'development'
    opens: boolean
  }[] = [
    { name: 'nothing', options: {}, environment: 'production', opens: false },
    { name: 'nothing', options: {}, environment: 'development', opens: true },
    { name: 'no tokens', options: { tokens: [] }, environment: 'production', opens: false },
    { name: 'auth', options: { auth }, environment: 'production', opens: true },
    { name: 'a token', options: { tokens: [line] }, environment: 'production', opens: true },
    { name: 'insecure', options: { insecure: true }, environment: 'production', opens: true },
    { name: 'a one-time link', options: { oneTimeLink: true }, environment: 'production', opens: true },
    { name: 'no link', options: { oneTimeLink: false }, environment: 'development', opens: false },
  ]
  test.each(ways)(
    'an embedded console with $name in $environment: opens $opens',
    async ({ options, environment, opens }) => {
      vi.stubEnv('NODE_ENV', environment)
      vi.stubEnv('STINT_TOKENS', undefined)
      onTestFinished(() => {
        vi.unstubAllEnvs()
      })
      const open = () => createConsole({ connection: db.url, ...options })
      if (!opens) {
        expect(open).toThrow(/has no sign-in/)
        return
      }
      const served = open()
      onTestFinished(() => served.close())
      // A request without credentials is let in only where `insecure` was set.
      const { status } = await call(served, 'GET /v1/me', { host: 'localhost' })
      expect(status).toBe(options.insecure === true ? 200 : 401)
    },
  )

  test('an embedded console reads STINT_TOKENS where no tokens are given', async () => {
    vi.stubEnv('STINT_TOKENS', `\n# people\n${line}\n,${tokens.viewer.line}`)
    onTestFinished(() => {
      vi.unstubAllEnvs()
    })
    const served = createConsole({ connection: db.url })
    onTestFinished(() => served.close())
    expect((await call(served, 'GET /v1/me', { token: tokens.viewer.token })).body).toMatchObject({
      role: 'viewer',
    })
    expect(served.link).toBeUndefined()
  })
})

test('a signed-out request gets health and the sign-in page, and nothing else', async () => {
  const served = openConsole(db.url)
  const html = { headers: { Accept: 'text/html' } }
  for (const path of [
    '/v1/me',
    '/v1/jobs',
    '/v1/openapi.json',
    '/v1/nothing',
    '/v1',
    '/assets/index.js',
    '/x',
  ]) {
    expect((await call(served, `GET ${path}`)).status, path).toBe(401)
    expect((await call(served, `POST ${path}`, { json: {} })).status, path).toBeGreaterThanOrEqual(401)
  }
  for (const path of ['/v1/health/live', '/v1/health/ready'])
    expect(await call(served, `GET ${path}`)).toMatchObject({ status: 200, text: '{"ok":true}' })
  expect((await call(served, 'GET /login')).status).toBe(200)
  const page = await call(served, 'GET /dead?error=b02c', html)
  expect(page.status).toBe(303)
  expect(page.headers.get('Location')).toBe('/login?to=%2Fdead%3Ferror%3Db02c')
})

test('a one-time link signs in one browser, once', async () => {
  const served = openConsole(db.url, { tokens: [] })
  const { link = '' } = served
  expect(link).toMatch(/^\/login\?once=[\w-]{43}$/)
  const host = 'localhost:7766'
  expect((await call(served, `GET ${link.slice(0, -1)}`, { host })).status).toBe(401)
  // What a mail scanner or a chat sends to preview a link.
  const looked = await call(served, `HEAD ${link}`, { host })
  expect([looked.status, looked.headers.get('Set-Cookie')]).toEqual([200, null])
  const entered = await call(served, `GET ${link}`, { host })
  expect(entered.status).toBe(303)
  const cookie = entered.headers.get('Set-Cookie') ?? ''
  expect(cookie).toMatch(/^stint_session=[^;]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/)
  expect((await call(served, `GET ${link}`, { host })).status).toBe(401)
  expect(served.link).toBeUndefined()
  const me = await call(served, 'GET /v1/me', { host, headers: { Cookie: cookie.split(';')[0] ?? '' } })
  expect(me).toMatchObject({ status: 200, body: { actor: 'local', role: 'admin' } })
})

describe('a console without sign-in, or with a one-time link', () => {
  const open = { insecure: true, tokens: [] }
  const ways: [string, ConsoleOptions, number][] = [
    ['insecure', open, 200],
    ['insecure, with tokens beside it', { insecure: true }, 200],
    ['a link', { tokens: [] }, 401],
  ]
  test.each(ways)('a console with %s answers only to names of this machine', async (_, options, status) => {
    const served = openConsole(db.url, options)
    for (const host of ['localhost', 'LOCALHOST:7766', '127.0.0.1:7766', '127.8.8.8', '[::1]:7766'])
      expect((await call(served, 'GET /v1/me', { host })).status, host).toBe(status)
    // What a page of another site sends whose name resolves to this machine.
    const others = ['evil.example', 'evil.example:7766', 'localhost.evil.example', '127.0.0.1.evil.example']
    for (const host of [...others, '192.0.2.7', '[2001:db8::1]']) {
      for (const request of ['GET /v1/me', 'POST /v1/jobs', 'GET /', 'GET /login', 'GET /assets/index.js']) {
        const answer = await call(served, request, { host, headers: { 'Sec-Fetch-Site': 'same-origin' } })
        expect(answer.status, `${request} at ${host}`).toBe(421)
        expect(problemOf(answer).type).toBe('urn:stint:problem:unknown-host')
      }
      expect((await call(served, 'GET /v1/health/live', { host })).status).toBe(200)
    }
    // A framework may put its own name into the address.
    const headers = { Host: 'evil.example' }
    expect((await call(served, 'GET /v1/me', { host: 'localhost', headers })).status).toBe(421)
  })

  test('a console without sign-in also answers to the host names it was given', async () => {
    const status = async (options: ConsoleOptions, host: string): Promise<number> =>
      (await call(openConsole(db.url, { ...open, ...options }), 'GET /v1/me', { host })).status
    expect(await status({ publicOrigin: 'https://ops.example.com' }, 'ops.example.com')).toBe(200)
    expect(await status({ publicOrigin: 'https://ops.example.com' }, 'example.com')).toBe(421)
    expect(await status({ hosts: ['Build.local'] }, 'build.local:7766')).toBe(200)
    expect(await status({ hosts: 'any' }, 'evil.example')).toBe(200)
    for (const hosts of [['a:80'], ['http://a'], [''], 'all', [7]])
      expect(() => createConsole({ ...open, hosts: hosts as never })).toThrow('`hosts`')
  })

  test('a console with a sign-in answers to any host name', async () => {
    const served = openConsole(db.url)
    const { token } = tokens.viewer
    expect((await call(served, 'GET /v1/me', { token, host: 'ops.example.com' })).status).toBe(200)
  })
})

test('the answer of `auth` decides who a request is: no caller, a caller, or an invalid answer', async () => {
  const failures: unknown[] = []
  const served = openConsole(db.url, {
    tokens: [],
    auth: (request) => {
      const name = request.headers.get('X-User')
      if (name === 'wrong') return { actor: 'x', role: 'root' } as never
      if (name === 'broken') throw new Error('the directory is down: secret-host')
      return name === null ? null : { actor: name, role: 'operator', can: (action) => action !== 'enqueue' }
    },
    onError: (error) => failures.push(error),
  })
  const as = (name: string) => call(served, 'GET /v1/me', { headers: { 'X-User': name } })
  expect((await call(served, 'GET /v1/me')).status).toBe(401)
  const { body } = await as('ana')
  expect(body).toMatchObject({ actor: 'ana', role: 'operator' })
  expect(body['can']).toContain('replay')
  expect(body['can']).not.toContain('enqueue')
  expect(body['can']).not.toContain('edit')
  for (const name of ['wrong', 'broken']) {
    const { status, text } = await as(name)
    expect(status).toBe(500)
    expect(text).not.toContain('secret-host')
  }
  expect(failures).toHaveLength(2)
  // With `auth` the console has no sign-in page of its own.
  expect((await call(served, 'GET /', { headers: { Accept: 'text/html' } })).status).toBe(401)
})

test('read-only refuses every unsafe method, for every role', async () => {
  const served = openConsole(db.url, { readOnly: true })
  const { token } = tokens.admin
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    expect((await call(served, `${method} /v1/jobs`, { token, json: {} })).status, method).toBe(403)
  expect((await call(served, 'GET /v1/me', { token })).body).toMatchObject({ readOnly: true })
})

/** Sends a Host header, which fetch() does not allow. */
function statusAt(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = get({ port, host: '127.0.0.1', path: '/v1/me', headers: { Host: host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on('error', reject)
  })
}

describe('stint console', () => {
  const env = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
    ...process.env,
    DATABASE_URL: db.url,
    STINT_TOKENS: '',
    ...more,
  })
  const run = [cli, 'console', '--port', '0']

  test.each(['0.0.0.0', '::', '192.0.2.7', 'example.com'])(
    'stint console does not bind to %s without tokens',
    async (host) => {
      const { code, stderr } = await finish(process.execPath, [...run, '--host', host], { env: env() })
      expect(code).toBe(2)
      expect(stderr).toContain('STINT_TOKENS')
    },
  )

  const binds = [
    { name: 'loopback alone', args: [], tokens: '', says: '/login?once=', open: false },
    {
      name: 'loopback in production',
      args: ['--host', 'localhost'],
      tokens: '',
      says: '/login?once=',
      open: false,
    },
    { name: 'loopback with tokens', args: [], tokens: line, says: 'The console is at', open: false },
    {
      name: 'every address with tokens',
      args: ['--host', '0.0.0.0'],
      tokens: line,
      says: 'The console is at',
      open: false,
    },
    {
      name: 'loopback, insecure',
      args: ['--insecure'],
      tokens: '',
      says: 'The console is at',
      open: true,
    },
    {
      name: 'every address, insecure',
      args: ['--host', '0.0.0.0', '--insecure'],
      tokens: '',
      says: 'The console is at',
      open: true,
    },
  ]
  test.each(binds)(
    'stint console on $name starts, asks for a sign-in unless insecure, and stops',
    async ({ args, tokens: given, says, open }) => {
      const started = start(process.execPath, [...run, ...args], {
        env: env({ STINT_TOKENS: given, NODE_ENV: 'production' }),
      })
      onTestFinished(() => void started.child.kill('SIGKILL'))
      const said = await started.says(says)
      const [, port = ''] = /:(\d+)\//.exec(said) ?? []
      const answer = await fetch(`http://127.0.0.1:${port}/v1/me`)
      expect(answer.status).toBe(open ? 200 : 401)
      if (open) expect(await answer.json()).toMatchObject({ insecure: true })
      const isAnyName = given !== '' || args.includes('0.0.0.0')
      const named = await statusAt(Number(port), 'evil.example')
      expect(named).toBe(isAnyName ? answer.status : 421)
      if (given !== '') {
        const me = await fetch(`http://127.0.0.1:${port}/v1/me`, {
          headers: { Authorization: `Bearer ${tokens.operator.token}` },
        })
        expect(await me.json()).toMatchObject({ actor: 'otto' })
      }
      started.child.kill('SIGTERM')
      expect(await started.finished).toMatchObject({ code: 0 })
    },
  )
})
