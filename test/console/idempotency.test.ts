import { OpenAPIHono } from '@hono/zod-openapi'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerOnce } from '../../src/server/http/idempotency.ts'
import { problemResponse, toProblem } from '../../src/server/http/problem.ts'
import type { ConsoleParts, Env } from '../../src/server/context.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { call, openConsole, openStint, problemOf, tokens } from './scene.ts'
import type { Answer } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const { token } = tokens.operator

async function stored(queue: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    'select count(*)::int as count from stint.job where queue = $1',
    [queue],
  )
  return row?.count ?? 0
}

test.each(['before', 'after'] as const)(
  'a connection that dies %s the commit leaves the job and its answer stored together, once',
  async (when) => {
    const proxy = await startFaultProxy(db.url)
    const served = openConsole(proxy.url)
    for (const path of ['/v1/jobs', '/v1/jobs/batch']) {
      for (let round = 0; round < 5; round++) {
        const queue = `cut-${when}-${path.length}-${round}`
        const job = { kind: 'any.thing', input: round, queue }
        const json = path === '/v1/jobs' ? job : { jobs: [job, job] }
        const send = () =>
          call(served, `POST ${path}`, { token, json, headers: { 'Idempotency-Key': queue } })
        const cut = proxy.cutNext({ text: 'commit', when })
        const first = await send()
        await cut
        expect(first.status).toBe(202)
        expect(await send()).toMatchObject({ status: 202, text: first.text })
        expect(await stored(queue)).toBe(path === '/v1/jobs' ? 1 : 2)
      }
    }
  },
)

test('a batch without a key is stored once, also when the reply to its commit is lost', async () => {
  const proxy = await startFaultProxy(db.url)
  const served = openConsole(proxy.url)
  const cut = proxy.cutNext({ text: 'commit', when: 'after' })
  const jobs = [1, 2, 3].map((input) => ({ kind: 'any.thing', input, queue: 'unnamed' }))
  expect((await call(served, 'POST /v1/jobs/batch', { token, json: { jobs } })).status).toBe(202)
  await cut
  expect(await stored('unnamed')).toBe(3)
})

/** An action with transactions of its own, behind the same middleware as every route. */
function acting(act: () => Promise<Response> | Response): (key: string, body?: string) => Promise<Answer> {
  const app = new OpenAPIHono<Env>()
  app.onError((error, c) => problemResponse(toProblem(error), { instance: c.req.path, requestId: 'r' }))
  app.use(async (c, next) => {
    const actor = { actor: 'ana', role: 'operator', can: () => true, origin: 'api' } as const
    c.set('caller', actor)
    c.set('body', new Uint8Array(await c.req.raw.clone().arrayBuffer()))
    await next()
  })
  app.use(answerOnce({ stint: openStint(db.url) } as unknown as ConsoleParts))
  app.post('/v1/act', act)
  const fetch = async (request: Request): Promise<Response> => app.fetch(request, {})
  return (key, body = '{}') => call({ fetch }, 'POST /v1/act', { headers: { 'Idempotency-Key': key }, body })
}

test('an action happens once, and its repeats get the same answer', async () => {
  let done = 0
  const send = acting(
    () => new Response(JSON.stringify({ done: ++done }), { headers: { 'Content-Type': 'application/json' } }),
  )
  expect((await send('once')).body).toEqual({ done: 1 })
  const repeat = await send('once')
  expect(repeat).toMatchObject({ status: 200, body: { done: 1 } })
  expect(repeat.headers.get('Idempotency-Replayed')).toBe('true')
  expect(problemOf(await send('once', '[]'))).toMatchObject({ status: 422 })
  expect((await send('twice')).body).toEqual({ done: 2 })
})

test('a repeat gets 409 while the action is under way, and runs again after a refusal', async () => {
  let release: () => void = () => undefined
  const opened = new Promise<void>((resolve) => (release = resolve))
  let begun: () => void = () => undefined
  const hasBegun = new Promise<void>((resolve) => (begun = resolve))
  let status = 409
  const send = acting(async () => {
    begun()
    await opened
    return new Response('{}', { status })
  })
  const first = send('slow')
  await hasBegun
  expect(problemOf(await send('slow'))).toMatchObject({
    status: 409,
    type: 'urn:stint:problem:request-in-flight',
  })
  release()
  expect((await first).status).toBe(409)
  status = 200
  expect((await send('slow')).status).toBe(200)
})

test('a key whose process died before it answered is free again after a minute', async () => {
  const send = acting(() => new Response('{}', { status: 200 }))
  await send('crash')
  const take = `update stint.http_reply set status = null, headers = null, body = null where key = 'crash'`
  await db.query(take)
  expect((await send('crash')).status).toBe(409)
  await db.query(
    `update stint.http_reply set expires_at = expires_at - interval '25 hours' where key = 'crash'`,
  )
  expect((await send('crash')).status).toBe(200)
})
