import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createConsoleWithin } from '../../src/server/console.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { newName } from '../support/workers.ts'
import { deadLetter, mail } from './dead-letter-given.ts'
import { anything, call, openConsole, openStint, patient, problemOf, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const { token } = tokens.operator
const viewer = tokens.viewer.token
const admin = tokens.admin.token
const unknownId = '019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f'

describe('a job', () => {
  test('a job is shown in every state, with an ETag and the actions that are possible', async () => {
    const served = openConsole(db.url)
    const id = await deadLetter(db)
    const answer = await call(served, `GET /v1/jobs/${id}`, { token })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      id,
      state: 'dead',
      redacted: true,
      inputHidden: null,
      input: { to: 'ana@example.com', apiKey: '[redacted]' },
      error: { name: 'CardDeclined', group: 'b02c9e51b02c9e51' },
      storedError: { stack: expect.stringContaining('at x') as string },
      contract: { known: true },
    })
    const { can } = answer.body as { can: { verb: string; cli: string }[] }
    expect(can.map(({ verb }) => verb)).toEqual(['replay', 'discard'])
    expect(can[0]?.cli).toBe(`stint dead replay ${id}`)
    const etag = answer.headers.get('ETag') ?? ''
    const again = await call(served, `GET /v1/jobs/${id}`, { token, headers: { 'If-None-Match': etag } })
    expect(again.status).toBe(304)
  })

  test('a job hides its input from a viewer, and offers no action', async () => {
    const id = await deadLetter(db)
    const answer = await call(openConsole(db.url), `GET /v1/jobs/${id}`, { token: viewer })
    expect(answer.body).toMatchObject({ input: null, inputHidden: 'role', can: [] })
    expect(JSON.stringify(answer.body)).not.toContain('ana@example.com')
  })

  test('an unknown job is 404, and one that would be pruned by now is 410', async () => {
    const served = openConsole(db.url)
    const recent = (await openStint(db.url).enqueue(mail, {})).id.replace(/.$/, (last) =>
      last === '0' ? '1' : '0',
    )
    expect((await call(served, `GET /v1/jobs/${recent}`, { token })).status).toBe(404)
    expect((await call(served, `GET /v1/jobs/${unknownId}`, { token })).status).toBe(410)
    expect((await call(served, 'GET /v1/jobs/nothing', { token })).status).toBe(400)
  })

  test('a job has attempts, logs, relatives and a result', async () => {
    const served = openConsole(db.url)
    const stint = openStint(db.url)
    const id = await deadLetter(db)
    const attempts = await call(served, `GET /v1/jobs/${id}/attempts`, { token })
    expect(attempts.body).toMatchObject({
      items: [{ epoch: 7, outcome: 'failed', error: { name: 'CardDeclined' } }],
    })
    await db.query(
      `insert into stint.log (job_id, epoch, line, at, level, message, data) values ($1, 7, 1, now(), 'info', 'hello', '{"password": "x"}')`,
      [id],
    )
    const logs = await call(served, `GET /v1/jobs/${id}/logs`, { token })
    expect(logs.body).toMatchObject({
      items: [{ message: 'hello', data: { password: '[redacted]' } }],
      next: '7.1',
    })
    expect((await call(served, `GET /v1/jobs/${id}/logs?after=7.1`, { token })).body).toMatchObject({
      items: [],
      next: '7.1',
    })
    const { id: child } = await stint.enqueue(mail, {}, { correlationId: id })
    await db.query('update stint.job set parent_id = $2 where id = $1', [child, id])
    const lineage = await call(served, `GET /v1/jobs/${id}/lineage`, { token })
    expect(lineage.body).toMatchObject({
      children: [{ id: child }],
      correlated: [{ id: child }],
      parent: null,
    })
    expect((await call(served, `GET /v1/jobs/${child}/lineage`, { token })).body).toMatchObject({
      parent: { id },
    })

    expect(problemOf(await call(served, `GET /v1/jobs/${id}/result`, { token }))).toMatchObject({
      status: 409,
      type: 'urn:stint:problem:job-dead',
    })
    const waiting = await call(served, `GET /v1/jobs/${child}/result`, { token })
    expect([waiting.status, waiting.headers.get('Retry-After')]).toEqual([202, '1'])
    await stint.cancel(child)
    expect(problemOf(await call(served, `GET /v1/jobs/${child}/result`, { token }))).toMatchObject({
      status: 409,
      type: 'urn:stint:problem:job-cancelled',
    })
    await db.query(`update stint.finished set state = 'succeeded', result = '{"ok": true}' where id = $1`, [
      child,
    ])
    expect((await call(served, `GET /v1/jobs/${child}/result`, { token })).body).toMatchObject({
      result: { ok: true },
    })
    expect((await call(served, `GET /v1/jobs/${child}/result`, { token: viewer })).status).toBe(403)
    expect((await call(served, `GET /v1/jobs/${unknownId}/result`, { token })).status).toBe(410)
  })

  test('a job is found by a filter, page by page, and an unknown filter is refused', async () => {
    const served = openConsole(db.url)
    const queue = newName()
    const stint = openStint(db.url)
    for (let n = 0; n < 3; n++) await stint.enqueue(mail, { n }, { queue })
    const first = await call(served, `GET /v1/jobs?where=${encodeURIComponent(`queue:${queue}`)}&limit=2`, {
      token,
    })
    const page = first.body as { items: unknown[]; next: string; looked: { complete: boolean } }
    expect(page.items).toHaveLength(2)
    const second = await call(
      served,
      `GET /v1/jobs?where=${encodeURIComponent(`queue:${queue}`)}&limit=2&cursor=${page.next}`,
      { token },
    )
    expect(second.body).toMatchObject({ items: [{ queue }], next: null, looked: { complete: true } })
    const wrong = await call(served, 'GET /v1/jobs?where=sate:dead', { token })
    expect(problemOf(wrong)).toMatchObject({
      status: 422,
      errors: [{ pointer: '/where', message: expect.stringContaining('Did you mean "state:"?') as string }],
    })
  })
})

describe('a verb', () => {
  test('a verb acts where the job is as the caller saw it, and is otherwise refused with the current job', async () => {
    const served = openConsole(db.url)
    const id = await deadLetter(db)
    const body = { expect: { state: 'dead', epoch: 7 }, reason: 'fixed' }
    const done = await call(served, `POST /v1/jobs/${id}/replay`, { token, json: body })
    expect(done.status).toBe(200)
    expect(done.body).toMatchObject({ id, state: 'ready' })
    const again = await call(served, `POST /v1/jobs/${id}/replay`, { token, json: body })
    expect(problemOf(again)).toMatchObject({
      status: 409,
      type: 'urn:stint:problem:state-changed',
      current: { id, state: 'ready' },
    })
    const { entries } = await openStint(db.url).audit.list({ target: id })
    expect(entries).toMatchObject([
      { action: 'job.replay', outcome: 'refused', origin: 'api', role: 'operator' },
      { action: 'job.replay', outcome: 'done', reason: 'fixed' },
    ])
  })

  test('each verb has its route', async () => {
    const served = openConsole(db.url)
    const stint = openStint(db.url)
    const { id } = await stint.enqueue(mail, {}, { delay: '1h' })
    const act = async (verb: string, json: object): Promise<unknown> =>
      (await call(served, `POST /v1/jobs/${id}/${verb}`, { token, json })).body
    expect(await act('reprioritize', { priority: 9 })).toMatchObject({ priority: 9 })
    expect(await act('reschedule', { delay: '2h' })).toMatchObject({ state: 'scheduled' })
    expect(await act('reschedule', {})).toMatchObject({ status: 422 })
    expect(await act('run-now', { expect: { state: 'scheduled' } })).toMatchObject({ state: 'ready' })
    expect(await act('cancel', { reason: 'enough' })).toMatchObject({ state: 'cancelled', reason: 'enough' })
    const dead = await deadLetter(db)
    expect((await call(served, `POST /v1/jobs/${dead}/discard`, { token, json: {} })).body).toMatchObject({
      state: 'dead',
      can: [{ verb: 'restore' }],
    })
    expect((await call(served, `POST /v1/jobs/${dead}/restore`, { token, json: {} })).body).toMatchObject({
      discardedAt: null,
    })
  })

  test('repeated refusals of a verb make two audit entries: the first, and how often it was repeated', async () => {
    const actor = newName('insistent')
    const served = createConsoleWithin(patient, {
      connection: db.url,
      tokens: [],
      onError: () => undefined,
      auth: () => ({ actor, role: 'operator', origin: 'api' }),
    })
    const { id } = await openStint(db.url).enqueue(anything, null)
    const noted = (): Promise<object[]> =>
      db.query(`select action, outcome, after from stint.audit where actor = $1 order by id`, [actor])
    // Refused by its role, by the job's state, and because it does not exist.
    const attempts: [string, object, number][] = [
      [`POST /v1/jobs/${id}/edit-and-replay`, { input: 1, reason: 'x' }, 403],
      [`POST /v1/jobs/${id}/replay`, {}, 409],
      [`PATCH /v1/queues/mail`, { keep: '1d' }, 403],
      ['POST /v1/operations/019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f/abort', {}, 404],
    ]
    for (let round = 0; round < 5; round++)
      for (const [request, json, status] of attempts)
        expect((await call(served, request, { json })).status).toBe(status)
    const first = ['job.edit-and-replay', 'job.replay', 'queue.set', 'operation.abort']
    expect(await noted()).toMatchObject(first.map((action) => ({ action, outcome: 'refused' })))
    await served.close()
    const all = await noted()
    expect(all).toHaveLength(8)
    expect(all.slice(4)).toMatchObject(
      first.map((action) => ({ action, outcome: 'refused', after: { repeats: 4 } })),
    )
  })

  test('a verb that a role does not have is refused and audited', async () => {
    const served = openConsole(db.url)
    const id = await deadLetter(db)
    const edit = { input: { to: 'bo@example.com' }, reason: 'typo' }
    expect((await call(served, `POST /v1/jobs/${id}/replay`, { token: viewer, json: {} })).status).toBe(403)
    expect((await call(served, `POST /v1/jobs/${id}/edit-and-replay`, { token, json: edit })).status).toBe(
      403,
    )
    expect(await openStint(db.url).get(id)).toMatchObject({ state: 'dead' })
  })

  test.each(['%ff', '%zz', '%'])(
    'a verb on a job with the id %s is refused and audited like any other',
    async (id) => {
      const served = openConsole(db.url)
      expect((await call(served, `POST /v1/jobs/${id}/replay`, { token: viewer, json: {} })).status).toBe(403)
      expect((await call(served, `POST /v1/jobs/${id}/replay`, { token, json: {} })).status).toBe(400)
      expect(await db.query(`select action, outcome from stint.audit where target = $1`, [id])).toEqual([
        { action: 'job.replay', outcome: 'refused' },
      ])
    },
  )

  test('an edit keeps what was redacted, and refuses what the contract refuses', async () => {
    const served = openConsole(db.url)
    const id = await deadLetter(db)
    const edited = await call(served, `POST /v1/jobs/${id}/edit-and-replay`, {
      token: admin,
      json: {
        input: { to: 'bo@example.com', apiKey: '[redacted]' },
        reason: 'typo',
        expect: { state: 'dead' },
      },
    })
    expect(edited.status).toBe(202)
    const { id: newId } = edited.body as { id: string }
    expect(edited.headers.get('Location')).toBe(`/v1/jobs/${newId}`)
    expect(await openStint(db.url).get(newId)).toMatchObject({
      input: { to: 'bo@example.com', apiKey: 'k-1' },
      replaces: id,
    })
    const other = await deadLetter(db)
    const refused = await call(served, `POST /v1/jobs/${other}/edit-and-replay`, {
      token: admin,
      json: { input: { to: 'nobody' }, reason: 'typo' },
    })
    expect(problemOf(refused)).toMatchObject({ status: 422, errors: [{ pointer: '/input/to' }] })
    expect(await openStint(db.url).get(other)).toMatchObject({ state: 'dead', replacedBy: null })
  })

  test("an edit is neither offered nor possible where the host's own redaction masks the input", async () => {
    const masking = (value: unknown): unknown =>
      typeof value === 'object' && value !== null && 'to' in value
        ? { ...value, to: '***@example.com' }
        : value
    const served = openConsole(db.url, {
      tokens: [],
      auth: () => ({ actor: 'ana', role: 'admin', origin: 'api', redact: masking }),
    })
    const id = await deadLetter(db)
    const shown = (await call(served, `GET /v1/jobs/${id}`)).body as {
      input: object
      can: { verb: string }[]
    }
    expect(shown).toMatchObject({ redacted: true, input: { to: '***@example.com' } })
    expect(shown.can.map(({ verb }) => verb)).toEqual(['replay', 'discard'])
    const json = { input: { ...shown.input, subject: 'again' }, reason: 'typo' }
    const refused = await call(served, `POST /v1/jobs/${id}/edit-and-replay`, { json })
    expect(problemOf(refused)).toMatchObject({ status: 422, type: 'urn:stint:problem:redacted' })
    expect(await openStint(db.url).get(id)).toMatchObject({ state: 'dead', replacedBy: null })
  })

  test("an edit is possible where the host's own redaction leaves the input as it is", async () => {
    const served = openConsole(db.url, {
      tokens: [],
      auth: () => ({ actor: 'ana', role: 'admin', origin: 'api', redact: (value) => structuredClone(value) }),
    })
    const id = await deadLetter(db)
    const shown = (await call(served, `GET /v1/jobs/${id}`)).body as { can: { verb: string }[] }
    expect(shown.can.map(({ verb }) => verb)).toContain('edit-and-replay')
    const json = { input: { to: 'bo@example.com' }, reason: 'typo' }
    expect((await call(served, `POST /v1/jobs/${id}/edit-and-replay`, { json })).status).toBe(202)
  })
})
