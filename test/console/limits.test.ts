import { once } from 'node:events'
import { get } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import type { Console } from '../../src/server.ts'
import { standaloneServer } from '../../src/server/http/standalone.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { gate } from '../support/workers.ts'
import { call, openConsole, problemOf, tokens } from './scene.ts'
import type { Answer } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

/** A console that answers no request before it is released. */
function openHeld(): { served: Console; release: () => void } {
  const { opened, open } = gate()
  const served = openConsole(db.url, {
    tokens: [],
    frameAncestors: "'self'",
    auth: async () => {
      await opened
      return { actor: 'ana', role: 'viewer' }
    },
  })
  return {
    served,
    release: () => {
      open(undefined)
    },
  }
}

function expectFramed({ headers }: Answer, requestId: string): void {
  expect(headers.get('X-Request-Id')).toBe(requestId)
  expect(headers.get('Content-Security-Policy')).toContain("frame-ancestors 'self'")
  expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
  expect(headers.get('Referrer-Policy')).toBe('same-origin')
  expect(headers.get('Cache-Control')).toBe('no-store')
}

test('more than 256 requests at once get a complete 503, and health probes are still answered', async () => {
  const { served, release } = openHeld()
  const held = Array.from({ length: 256 }, () => call(served, 'GET /v1/me'))
  const refused = await call(served, 'GET /v1/me', { headers: { 'X-Request-Id': 'trace-7' } })
  expect(problemOf(refused)).toMatchObject({
    status: 503,
    type: 'urn:stint:problem:busy',
    instance: '/v1/me',
    requestId: 'trace-7',
  })
  expectFramed(refused, 'trace-7')
  expect((await call(served, 'GET /v1/health/live')).status).toBe(200)
  expect((await call(served, 'GET /v1/health/ready')).status).toBe(200)
  // Only public routes: any other may take as long as the host's auth does.
  expect((await call(served, 'GET /v1/health/other')).status).toBe(503)
  expect((await call(served, 'POST /v1/health/live')).status).toBe(503)
  release()
  expect(new Set((await Promise.all(held)).map(({ status }) => status))).toEqual(new Set([200]))
  expect((await call(served, 'GET /v1/me')).status).toBe(200)
})

test('a request of more than a minute gets a complete answer, and a stream that opens later is closed', async () => {
  const { served, release } = openHeld()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const slow = call(served, 'GET /v1/events?topics=workers', { headers: { 'X-Request-Id': 'trace-8' } })
  vi.advanceTimersByTime(60_000)
  vi.useRealTimers()
  const late = await slow
  expect(problemOf(late)).toMatchObject({ status: 503, type: 'urn:stint:problem:timeout' })
  expectFramed(late, 'trace-8')
  release()
  await eventually(async () => {
    expect(await numberOf(served, 'viewers')).toBe(0)
  })
})

test('requests that wait for jobs leave room for others: beyond 128 the answer comes at once', async () => {
  const served = openConsole(db.url)
  const { token } = tokens.operator
  const post = (): Promise<Answer> =>
    call(served, 'POST /v1/jobs', {
      token,
      json: { kind: 'any.thing', input: 1 },
      headers: { Prefer: 'wait=30' },
    })
  const waiting = Array.from({ length: 128 }, post)
  await eventually(async () => {
    expect(await numberOf(served, 'waits', { token })).toBe(128)
  })
  const next = await post()
  expect(next.status).toBe(202)
  expect(next.headers.get('Preference-Applied')).toBeNull()
  expect(await numberOf(served, 'waits', { token })).toBe(128)
  // Ends the waits.
  await served.close()
  await Promise.all(waiting)
})

async function numberOf(served: Console, name: string, as: { token?: string } = {}): Promise<number> {
  const { text } = await call(served, 'GET /metrics', as)
  return Number(new RegExp(`^stint_console_${name} (\\d+)$`, 'm').exec(text)?.[1])
}

test('a thousand half-sent requests do not block a health probe', async () => {
  const half = 'GET /v1/health/live HTTP/1.1\r\nHost: localhost\r\n'
  const server = standaloneServer(openConsole(db.url)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  for (let opened = 0; opened < 1_000; opened += 100) {
    const some = Array.from({ length: 100 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
    sockets.push(...some)
    await Promise.all(some.map((socket) => once(socket, 'connect')))
    for (const socket of some) socket.write(half)
  }
  const statusOf = (path: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      get({ port, host: '127.0.0.1', path, agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode)
      }).on('error', reject)
    })
  // Each probe opens its own connection, from the same address as the half-sent requests.
  for (let probe = 0; probe < 5; probe++) expect(await statusOf('/v1/health/live')).toBe(200)
  expect(await statusOf('/v1/health/ready')).toBe(200)
  await eventually(async () => {
    const open = await new Promise<number>((resolve) => {
      server.getConnections((_error, count) => {
        resolve(count)
      })
    })
    expect(open).toBeLessThanOrEqual(256)
  })
})
