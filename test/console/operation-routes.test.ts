import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { OperationDetail } from '../../src/server/api/operation.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { bury } from '../support/dead-letters.ts'
import { eventually, newName } from '../support/workers.ts'
import { mail } from './dead-letter-given.ts'
import { call, openConsole, openStint, problemOf, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const { token } = tokens.operator
const viewer = tokens.viewer.token
const unknownId = '019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f'

test('an operation is previewed, started once, executed by the console, and controlled over HTTP', async () => {
  const served = openConsole(db.url)
  onTestFinished(() => served.close())
  const queue = newName()
  const stint = openStint(db.url)
  const { jobs } = await stint.enqueueMany(mail, [{}, {}, {}], { queue })
  for (const { id } of jobs) await bury(db, id)
  const request = { action: 'replay', where: `queue:${queue}`, canary: 0, reason: 'fixed' }
  const preview = await call(served, 'POST /v1/operations', { token, json: { ...request, dryRun: true } })
  expect(preview.status).toBe(200)
  expect(preview.body).toMatchObject({
    matched: { count: 3, exact: true },
    samples: [{}, {}, {}],
    excluded: [],
    cli: expect.stringContaining('stint dead replay --where') as string,
  })
  expect((await call(served, 'POST /v1/operations', { token, json: request })).status).toBe(400)
  const headers = { 'Idempotency-Key': newName() }
  const started = await call(served, 'POST /v1/operations', { token, json: request, headers })
  expect(started.status).toBe(202)
  const { id } = started.body as { id: string }
  expect(started.headers.get('Location')).toBe(`/v1/operations/${id}`)
  const again = await call(served, 'POST /v1/operations', { token, json: request, headers })
  expect(again.body).toMatchObject({ id })
  const until = (test: (operation: { state: string; acted: number }) => boolean) =>
    eventually(
      async () =>
        test(
          (await call(served, `GET /v1/operations/${id}`, { token })).body as {
            state: string
            acted: number
          },
        ),
      'the operation',
    )
  await until(({ acted }) => acted === 3)
  // The operation waits for the end of its jobs: the test cancels each of them.
  for (const job of jobs) await stint.cancel(job.id)
  await until(({ state }) => state === 'done')
  const ended = OperationDetail.parse(
    (await call(served, `GET /v1/operations/${id}`, { token: viewer })).body,
  )
  expect(ended).toMatchObject({
    matched: 3,
    acted: 3,
    actor: expect.any(String) as string,
    fates: { live: 0, succeeded: 0, sameError: 0, otherError: 0, cancelled: 3 },
  })
  // The set of jobs was fixed before it began; the figures are of now.
  expect(Date.parse(ended.asOf)).toBeGreaterThan(Date.parse(ended.frozenAt))
  const first = await call(served, `GET /v1/operations/${id}/jobs?outcome=acted&limit=2`, { token: viewer })
  const { items, next } = first.body as { items: { id: string }[]; next: string }
  const rest = await call(served, `GET /v1/operations/${id}/jobs?cursor=${next}`, { token: viewer })
  expect(rest.body).toMatchObject({ items: [{ outcome: 'acted', reason: null }], next: null })
  const named = [...items, ...(rest.body as { items: { id: string }[] }).items].map((one) => one.id)
  expect(named.sort()).toEqual(jobs.map((one) => one.id).sort())
  expect((await call(served, `GET /v1/operations/${unknownId}/jobs`, { token })).status).toBe(404)
  expect(problemOf(await call(served, `POST /v1/operations/${id}/abort`, { token, json: {} }))).toMatchObject(
    { status: 409 },
  )
  expect((await call(served, `POST /v1/operations/${unknownId}/pause`, { token, json: {} })).status).toBe(404)
  const list = await call(served, 'GET /v1/operations?limit=1', { token })
  expect(list.body).toMatchObject({ items: [{ id }] })
  expect(
    problemOf(
      await call(served, 'POST /v1/operations', {
        token,
        json: { action: 'replay', where: 'queue:a foo:b', dryRun: true },
      }),
    ),
  ).toMatchObject({ status: 422 })
  expect(
    (await call(served, 'POST /v1/operations', { token: viewer, json: { ...request, dryRun: true } })).status,
  ).toBe(403)
})
