import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { nodeListener } from '../../src/server.ts'
import type { Console } from '../../src/server.ts'
import { createConsoleWithin } from '../../src/server/console.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { contracts, openStint, patient, tokens } from './scene.ts'

const basePath = '/admin/jobs'
const headers = {
  Authorization: `Bearer ${tokens.operator.token}`,
  'Content-Type': 'application/json',
}

let db: TestDatabase
let served: Console
beforeAll(async () => {
  db = await createTestDatabase()
  const options = { connection: db.url, contracts, basePath, tokens: [tokens.operator.line] }
  served = createConsoleWithin(patient, options)
})
afterAll(async () => {
  await served.close()
  await db.drop()
})

async function listening(server: Server): Promise<string> {
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function http(listener: RequestListener): Promise<string> {
  return listening(createServer(listener).listen(0, '127.0.0.1'))
}

/** Each host has a route of its own; a body parser comes after the console. */
const hosts: Record<string, () => Promise<string>> = {
  'node:http': () => {
    const listen = nodeListener(served)
    return http((incoming, outgoing) => {
      if (incoming.url?.startsWith(basePath) === true) listen(incoming, outgoing)
      else outgoing.end('own')
    })
  },
  'Express 5': () => {
    const app = express()
    app.use(basePath, nodeListener(served))
    app.use(express.json())
    app.use((_, response) => void response.send('own'))
    return http(app)
  },
  'Express 5, in a router': () => {
    const app = express()
    const router = express.Router()
    router.use('/jobs', nodeListener(served))
    app.use('/admin', router)
    app.use((_, response) => void response.send('own'))
    return http(app)
  },
  'Fastify 5': async () => {
    const app = fastify()
    const listen = nodeListener(served)
    await app.register(
      // eslint forbids an async function without await; Fastify requires a plugin to return a promise.
      (scope, _, done) => {
        scope.removeAllContentTypeParsers()
        scope.addContentTypeParser('*', (_request, _payload, parsed) => {
          parsed(null)
        })
        scope.all('/*', (request, reply) => {
          reply.hijack()
          listen(request.raw, reply.raw)
        })
        done()
      },
      { prefix: basePath },
    )
    app.get('/', () => 'own')
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(() => app.close())
    return url
  },
  'Hono 4': () => {
    const app = new Hono()
    app.all(`${basePath}/*`, (c) => served.fetch(c.req.raw))
    app.get('/', (c) => c.text('own'))
    return listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server)
  },
}

describe.each(Object.entries(hosts))('mounted in %s', (_, start) => {
  test('a mounted console answers below its path and leaves the rest to its host', async () => {
    const origin = await start()
    const at = `${origin}${basePath}`
    expect(await (await fetch(`${origin}/`)).text()).toBe('own')
    expect(await (await fetch(`${at}/v1/me`, { headers })).json()).toMatchObject({ actor: 'otto', basePath })
    const body = JSON.stringify({ kind: 'mail.send', input: { to: 'ana@example.com' } })
    const stored = await fetch(`${at}/v1/jobs`, { method: 'POST', headers, body })
    expect(stored.status).toBe(202)
    const location = stored.headers.get('Location') ?? ''
    expect(location).toMatch(/^\/admin\/jobs\/v1\/jobs\/[\da-f-]{36}$/)
    expect(await openStint(db.url).get(location.split('/').at(-1) ?? '')).toMatchObject({ kind: 'mail.send' })
    const page = await fetch(`${at}/queues/a%2Fb?x=1`, {
      headers: { Accept: 'text/html' },
      redirect: 'manual',
    })
    expect(page.status).toBe(303)
    expect(page.headers.get('Location')).toBe(`${basePath}/login?to=%2Fqueues%2Fa%252Fb%3Fx%3D1`)
    expect((await fetch(`${at}/v1/me`)).status).toBe(401)
  })

  test('a mounted console refuses a body that is too large while it streams', async () => {
    const url = new URL(await start())
    const socket = connect(Number(url.port), url.hostname)
    onTestFinished(() => void socket.destroy())
    let answer = ''
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
    const ended = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => undefined)
    socket.write(
      `POST ${basePath}/v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: ${headers.Authorization}\r\n` +
        'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    )
    // It sends for as long as the server reads; the answer ends it.
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    const pump = (): void => {
      while (!socket.destroyed && !answer.includes('\r\n\r\n') && socket.write(chunk));
    }
    socket.on('drain', pump)
    pump()
    await ended
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
  })
})

test('a console behind a body parser says what is wrong, and where to mount it', async () => {
  const app = express()
  app.use(express.json())
  app.use(basePath, nodeListener(served))
  const at = `${await http(app)}${basePath}`
  const body = JSON.stringify({ kind: 'any.thing', input: 1 })
  const answer = await fetch(`${at}/v1/jobs`, { method: 'POST', headers, body })
  expect(answer.status).toBe(500)
  expect(await answer.json()).toMatchObject({
    type: 'urn:stint:problem:body-consumed',
    hint: expect.stringContaining('before body parsers') as string,
  })
  expect(answer.headers.get('X-Request-Id')).toMatch(/^[\da-f-]{36}$/)
  expect(answer.headers.get('Content-Security-Policy')).toContain("default-src 'none'")
  expect(answer.headers.get('X-Content-Type-Options')).toBe('nosniff')
  expect((await fetch(`${at}/v1/me`, { headers })).status).toBe(200)
})
