import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { nodeListener } from '../../src/server.ts'
import { SystemReport } from '../../src/server/api/system.ts'
import { eventually } from '../support/eventually.ts'
import { workerScene } from '../support/workers.ts'
import { EventReader } from './event-reader.ts'
import { newJobId } from './live-scene.ts'
import { call, openConsole, tokens } from './scene.ts'

const scene = workerScene()

async function viewersOf(served: ReturnType<typeof openConsole>): Promise<number> {
  const { body } = await call(served, 'GET /v1/system', { token: tokens.viewer.token })
  return SystemReport.parse(body).console.viewers
}

async function stream(
  served: ReturnType<typeof openConsole>,
  topics: string,
  headers = {},
): Promise<Response> {
  return served.fetch(
    new Request(`http://console.test/v1/events?topics=${topics}`, {
      headers: { Authorization: `Bearer ${tokens.viewer.token}`, ...headers },
    }),
  )
}

test('GET /v1/events is a stream that no proxy may store, change or buffer', async () => {
  const id = await newJobId(scene.stint)
  const served = openConsole(scene.db.url)
  const response = await stream(served, `job:${id}`)
  expect(response.status).toBe(200)
  expect(response.headers.get('Content-Type')).toBe('text/event-stream; charset=utf-8')
  expect(response.headers.get('Cache-Control')).toContain('no-transform')
  expect(response.headers.get('X-Accel-Buffering')).toBe('no')
  const first = new EventReader(response.body ?? new ReadableStream())
  await first.tells(({ event }) => event === 'snapshot')
  await first.close()
  await scene.stint.reprioritize(id, 3)
  const again = await stream(served, `job:${id}`, { 'Last-Event-ID': first.lastId })
  const second = new EventReader(again.body ?? new ReadableStream())
  const delta = await second.tells(({ event }) => event === 'delta')
  expect(delta.data['set']).toMatchObject({ priority: 3 })
})

test('GET /v1/events refuses invalid topics, signed-out callers and hidden queues', async () => {
  const served = openConsole(scene.db.url)
  for (const wrong of ['', 'nothing', 'job:1', 'queue:', `job:${randomUUID()},x`, 'queue:a%20b'])
    expect((await stream(served, wrong)).status, wrong).toBe(400)
  const answer = (await (await stream(served, 'nothing')).json()) as object
  expect(answer).toMatchObject({
    type: 'urn:stint:problem:invalid-parameters',
    errors: [{ pointer: '/query/topics' }],
  })
  const many = Array.from({ length: 51 }, (_, n) => `queue:q${n}`).join()
  expect((await stream(served, many)).status).toBe(400)
  expect((await call(served, 'GET /v1/events?topics=overview')).status).toBe(401)
  const scoped = openConsole(scene.db.url, {
    tokens: [],
    auth: () => ({ actor: 'ana', role: 'viewer', can: (_, of) => of?.queue !== 'hidden' }),
  })
  expect((await call(scoped, 'GET /v1/events?topics=queue:hidden')).status).toBe(404)
})

test('a stream over real HTTP stops when its client disconnects', async () => {
  const served = openConsole(scene.db.url)
  const server = createServer(nodeListener(served))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const headers = { Authorization: `Bearer ${tokens.viewer.token}` }
  const leave = new AbortController()
  const response = await fetch(`http://127.0.0.1:${port}/v1/events?topics=workers`, {
    headers,
    signal: leave.signal,
  })
  const reader = new EventReader(response.body ?? new ReadableStream())
  await reader.tells(({ event }) => event === 'snapshot')
  expect(await viewersOf(served)).toBe(1)
  leave.abort()
  await eventually(async () => {
    expect(await viewersOf(served)).toBe(0)
  })
})

test('HEAD /v1/events opens no stream', async () => {
  const served = openConsole(scene.db.url)
  const answer = await call(served, 'HEAD /v1/events?topics=overview', { token: tokens.viewer.token })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('Content-Type')).toBe('text/event-stream; charset=utf-8')
  expect(await viewersOf(served)).toBe(0)
})

test('no stream opens for a client that disconnects while it is authenticated', async () => {
  const leave = new AbortController()
  const served = openConsole(scene.db.url, {
    tokens: [],
    auth: async (request) => {
      if (request.url.includes('/v1/events')) leave.abort()
      await Promise.resolve()
      return { actor: 'ana', role: 'viewer' }
    },
  })
  const request = new Request('http://console.test/v1/events?topics=workers', { signal: leave.signal })
  // Nothing reads this stream, and nothing cancels it.
  expect((await served.fetch(request)).status).toBe(200)
  expect(await viewersOf(served)).toBe(0)
})

test('a stream whose client disconnects before the first read is closed', async () => {
  const served = openConsole(scene.db.url)
  const leave = new AbortController()
  const headers = { Authorization: `Bearer ${tokens.viewer.token}` }
  const url = 'http://console.test/v1/events?topics=workers'
  await served.fetch(new Request(url, { headers, signal: leave.signal }))
  expect(await viewersOf(served)).toBe(1)
  leave.abort()
  expect(await viewersOf(served)).toBe(0)
})

test('a stream ends when the console closes', async () => {
  const served = openConsole(scene.db.url)
  const response = await stream(served, 'workers')
  const reader = new EventReader(response.body ?? new ReadableStream())
  await reader.tells(({ event }) => event === 'snapshot')
  await served.close()
  await reader.until(() => reader.isEnded, 'the end')
})
