import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { createConsoleWithin } from '../../src/server/console.ts'
import { OperationDetail } from '../../src/server/api/operation.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { bury } from '../support/dead-letters.ts'
import { eventually, newName } from '../support/workers.ts'
import { anything, call, openConsole, openStint, patient, problemOf, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const { token } = tokens.operator
const viewer = tokens.viewer.token
const admin = tokens.admin.token
const mail = defineJob({ kind: 'mail.send', queue: 'mail' })
const unknownId = '019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f'

async function deadLetter(input: unknown = { to: 'ana@example.com', apiKey: 'k-1' }): Promise<string> {
  const { id } = await openStint(db.url).enqueue(mail, input)
  const error = {
    name: 'CardDeclined',
    message: 'do not honor',
    class: 'error',
    stack: 'CardDeclined\n    at x',
    causes: [],
    fingerprint: 'b02c9e51b02c9e51',
  }
  await bury(db, id, { fingerprint: 'b02c9e51b02c9e51', error })
  return id
}

describe('a job', () => {
  test('a job is shown in every state, with an ETag and the actions that are possible', async () => {
    const served = openConsole(db.url)
    const id = await deadLetter()
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
    const id = await deadLetter()
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
    const id = await deadLetter()
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
    const id = await deadLetter()
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
    const dead = await deadLetter()
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
    const id = await deadLetter()
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
    const id = await deadLetter()
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
    const other = await deadLetter()
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
    const id = await deadLetter()
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
    const id = await deadLetter()
    const shown = (await call(served, `GET /v1/jobs/${id}`)).body as { can: { verb: string }[] }
    expect(shown.can.map(({ verb }) => verb)).toContain('edit-and-replay')
    const json = { input: { to: 'bo@example.com' }, reason: 'typo' }
    expect((await call(served, `POST /v1/jobs/${id}/edit-and-replay`, { json })).status).toBe(202)
  })
})

describe('operations', () => {
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
    expect(
      problemOf(await call(served, `POST /v1/operations/${id}/abort`, { token, json: {} })),
    ).toMatchObject({ status: 409 })
    expect((await call(served, `POST /v1/operations/${unknownId}/pause`, { token, json: {} })).status).toBe(
      404,
    )
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
      (await call(served, 'POST /v1/operations', { token: viewer, json: { ...request, dryRun: true } }))
        .status,
    ).toBe(403)
  })
})

describe('schedules, error groups and the audit', () => {
  test('a schedule is shown, run, paused, resumed, backfilled and deleted', async () => {
    const served = openConsole(db.url)
    const stint = openStint(db.url)
    const name = newName('nightly')
    await stint.schedules.set({ name, job: mail, input: { secret: 's' }, cron: '0 2 * * *' })
    const path = `/v1/schedules/${name}`
    expect((await call(served, 'GET /v1/schedules', { token: viewer })).body).toMatchObject({
      items: [{ name, recent: [] }],
      next: null,
    })
    expect((await call(served, `GET ${path}`, { token })).body).toMatchObject({
      name,
      input: { secret: '[redacted]' },
      upcoming: [{}, {}, {}, {}, {}],
    })
    expect((await call(served, `GET ${path}/next?n=3`, { token })).body).toMatchObject({
      items: [{}, {}, {}],
    })
    const ran = await call(served, `POST ${path}/run`, { token, json: { reason: 'now' } })
    expect(await stint.get((ran.body as { jobId: string }).jobId)).toMatchObject({ kind: 'mail.send' })
    expect(
      (await call(served, `POST ${path}/pause`, { token, json: { for: '1h', reason: 'deploy' } })).body,
    ).toMatchObject({ isPaused: true, pauseReason: 'deploy' })
    expect((await call(served, `POST ${path}/resume`, { token, json: {} })).body).toMatchObject({
      isPaused: false,
    })
    const to = new Date()
    const range = { from: new Date(to.getTime() - 3 * 86_400_000).toISOString(), to: to.toISOString() }
    const planned = (await call(served, `POST ${path}/backfill`, { token, json: { ...range, dryRun: true } }))
      .body as { count: number }
    expect(planned.count).toBeGreaterThanOrEqual(2)
    expect((await call(served, `POST ${path}/backfill`, { token, json: range })).body).toMatchObject({
      count: planned.count,
    })
    expect((await call(served, `GET ${path}/fires`, { token })).body).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ outcome: 'fired' })]) as unknown[],
    })
    expect((await call(served, `DELETE ${path}`, { token })).status).toBe(403)
    expect((await call(served, `DELETE ${path}`, { token: admin })).status).toBe(204)
    expect((await call(served, `GET ${path}`, { token })).status).toBe(404)
  })

  test('a schedule that is read, edited and written back keeps what was redacted', async () => {
    const served = openConsole(db.url)
    const stint = openStint(db.url)
    const name = newName('masked')
    const path = `/v1/schedules/${name}`
    const stored = async (): Promise<unknown> => {
      const [row] = await db.query<{ input: unknown }>('select input from stint.schedule where name = $1', [
        name,
      ])
      return row?.input
    }
    const input = { to: 'ana', apiKeys: ['k1'], db: 'postgres://a:b@h/x', tokens: 12, list: [{ token: 't' }] }
    await stint.schedules.set({ name, job: anything, input, cron: '0 2 1 1 *' })
    const shown = (await call(served, `GET ${path}`, { token: admin })).body['input'] as typeof input
    expect(shown).toEqual({
      to: 'ana',
      apiKeys: '[redacted]',
      db: 'postgres://a:[redacted]@h/x',
      tokens: 12,
      list: [{ token: '[redacted]' }],
    })
    const put = (edited: unknown, more: object = {}): ReturnType<typeof call> =>
      call(served, `PUT ${path}`, { token: admin, json: { input: edited, ...more } })
    expect((await put({ ...shown, to: 'bo' })).status).toBe(200)
    expect(await stored()).toEqual({ ...input, to: 'bo' })
    for (const [edited, pointer, more] of [
      [{ ...shown, password: '[redacted]' }, '/input/password', {}],
      [{ ...shown, list: [{ token: '[redacted]', id: 1 }] }, '/input/list/0/token', {}],
      [{ ...shown, db: 'postgres://a:[redacted]@other/x' }, '/input/db', {}],
      [{ ...shown, to: '[redacted]' }, '/input/to', {}],
      // Another kind may redact other parts.
      [shown, '/input/db', { kind: 'card.charge' }],
    ] as const)
      expect(problemOf(await put(edited, more))).toMatchObject({
        status: 422,
        type: 'urn:stint:problem:redacted',
        errors: [{ pointer }],
      })
    // A new schedule has no original to restore the masked part from.
    const made = await call(served, `PUT /v1/schedules/${newName('new')}`, {
      token: admin,
      json: { kind: 'any.thing', cron: '0 2 1 1 *', input: shown },
    })
    expect(problemOf(made)).toMatchObject({ status: 422, errors: [{ pointer: '/input/db' }] })
    // A mask of the host's own redaction cannot be told from data.
    const hiding = openConsole(db.url, {
      tokens: [],
      auth: () => ({ actor: 'ana', role: 'admin', origin: 'api', redact: () => 'hidden' }),
    })
    const refused = await call(hiding, `PUT ${path}`, { json: { input: 'hidden' } })
    expect(problemOf(refused)).toMatchObject({ status: 422, type: 'urn:stint:problem:redacted' })
    expect((await call(hiding, `PUT ${path}`, { json: { cron: '0 3 1 1 *' } })).status).toBe(200)
    expect(await stored()).toEqual({ ...input, to: 'bo' })
  })

  test('errors, log lines and error groups do not show passwords of URLs', async () => {
    const served = openConsole(db.url)
    const stint = openStint(db.url)
    const url = 'postgres://app:hunter2@db.example.com/x'
    const { id } = await stint.enqueue(anything, { url }, { queue: newName('urls') })
    await db.query(
      `insert into stint.log (job_id, epoch, line, level, message, data) values ($1, 1, 1, 'info', $2, $3)`,
      [id, `dial ${url}`, { at: url }],
    )
    const group = 'abababababababab'
    const error = { name: 'E', message: `dial ${url}`, stack: `E: ${url}\n at x`, fingerprint: group }
    await bury(db, id, { error: { ...error, causes: [{ name: 'C', message: url }] }, fingerprint: group })
    await db.query(
      `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
       values ($1, 'any.thing', 'transient', 'E', $2, $2, now(), now(), $3)`,
      [group, error.message, id],
    )
    await db.query(
      `insert into stint.error_hour (fingerprint, hour, process, flush, failures, deaths)
       values ($1, date_trunc('hour', now()), gen_random_uuid(), 1, 5, 3)`,
      [group],
    )
    const name = newName('failing')
    await stint.schedules.set({ name, job: anything, input: null, cron: '0 2 1 1 *' })
    await db.query('update stint.schedule set failures = 2, last_error = $2 where name = $1', [name, url])
    for (const path of [
      ...[
        `jobs/${id}`,
        `jobs/${id}/attempts`,
        `jobs/${id}/logs`,
        `jobs/${id}/lineage`,
        `jobs?where=id:${id}`,
      ],
      ...['error-groups', `error-groups/${group}`, 'overview', `schedules/${name}`],
    ]) {
      const answer = await call(served, `GET /v1/${path}`, { token: admin })
      expect(answer.status, path).toBe(200)
      expect(answer.text, path).not.toContain('hunter2')
      if (!path.includes('lineage')) expect(answer.text, path).toContain('app:[redacted]@db')
    }
    await db.query('delete from stint.error_group where fingerprint = $1', [group])
  })

  test('an admin stores a schedule and changes parts of it, and the answer says what is wrong with it', async () => {
    const served = openConsole(db.url)
    const stint = openStint(db.url)
    const name = newName('stored')
    const put = (json: object, as = admin): ReturnType<typeof call> =>
      call(served, `PUT /v1/schedules/${name}`, { token: as, json })
    const whole = {
      kind: 'mail.send',
      cron: '0 2 * * *',
      timeZone: 'Europe/Rome',
      input: { to: 'ana@example.com', secret: 's' },
    }
    expect((await put(whole, token)).status).toBe(403)
    expect(problemOf(await put({ cron: '0 2 * * *' }))).toMatchObject({
      status: 422,
      errors: [{ pointer: '/kind' }],
    })
    expect(problemOf(await put({ kind: 'mail.send' }))).toMatchObject({
      status: 422,
      errors: [{ pointer: '/cron' }],
    })
    expect(problemOf(await put({ ...whole, kind: 'mail.sent' }))).toMatchObject({
      status: 422,
      hint: 'Did you mean mail.send?',
    })
    expect(problemOf(await put({ ...whole, input: {} }))).toMatchObject({
      status: 422,
      errors: [{ pointer: '/input/to' }],
    })
    for (const wrong of [
      { cron: '0 0 30 2 *' },
      { timeZone: 'Mars/Olympus' },
      { overlap: 'never' },
      { crom: '' },
    ])
      expect((await put({ ...whole, ...wrong })).status, JSON.stringify(wrong)).toBe(422)
    expect(await stint.schedules.get(name)).toBeUndefined()

    expect(await put({ ...whole, missed: { policy: 'all', limit: 5 }, reason: 'asked for' })).toMatchObject({
      status: 200,
      body: {
        name,
        kind: 'mail.send',
        queue: 'mail',
        rule: '0 2 * * * Europe/Rome',
        source: 'runtime',
        missed: { policy: 'all', limit: 5 },
        upcoming: [{}, {}, {}, {}, {}],
      },
    })
    // Once more, as after a lost answer; then a part of it.
    expect((await put({ ...whole, missed: { policy: 'all', limit: 5 } })).status).toBe(200)
    const changed = await put({ every: '15m', missed: { window: '1h' }, endsAt: '2100-01-01T00:00:00Z' })
    expect(changed.body).toMatchObject({
      rule: 'every 15m',
      endsAt: '2100-01-01T00:00:00.000Z',
      missed: { policy: 'all', limit: 5, windowMs: 3_600_000 },
    })
    expect((await put({ endsAt: null })).body).toMatchObject({ rule: 'every 15m', endsAt: null })
    expect(await stint.schedules.get(name)).toMatchObject({ input: whole.input, queue: 'mail' })
    const { entries } = await stint.audit.list({ target: name })
    expect(entries.map(({ action, outcome, reason }) => `${action} ${outcome} ${reason ?? ''}`)).toEqual([
      ...['schedule.set done ', 'schedule.set done ', 'schedule.set done ', 'schedule.set done asked for'],
      // An input that does not fit, and an operator: each is the first refusal of that person within the minute.
      ...['schedule.set refused ', 'schedule.set refused '],
    ])
  })

  test('an error group is shown, resolved, ignored and reopened', async () => {
    const served = openConsole(db.url)
    const id = await deadLetter()
    const group = 'b02c9e51b02c9e51'
    await db.query(
      `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
       values ($1, 'mail.send', 'error', 'CardDeclined', 'do not honor', 'do not honor 7', now(), now(), $2) on conflict do nothing`,
      [group, id],
    )
    const list = await call(served, 'GET /v1/error-groups?status=open', { token: viewer })
    expect(list.body).toMatchObject({ items: [{ group, status: 'open' }], trash: { exact: true } })
    expect((list.body as { items: { dead: { count: number } }[] }).items[0]?.dead.count).toBeGreaterThan(0)
    expect((await call(served, `GET /v1/error-groups/${group}`, { token })).body).toMatchObject({
      message: 'do not honor 7',
      stack: expect.stringContaining('CardDeclined') as string,
    })
    expect(
      (
        await call(served, `POST /v1/error-groups/${group}/resolve`, {
          token,
          json: { version: 'v215', reason: 'fixed' },
        })
      ).body,
    ).toMatchObject({ status: 'resolved', resolvedIn: 'v215' })
    expect(
      (await call(served, `POST /v1/error-groups/${group}/ignore`, { token, json: { for: '1h' } })).body,
    ).toMatchObject({ status: 'ignored' })
    expect(
      (await call(served, `POST /v1/error-groups/${group}/reopen`, { token, json: {} })).body,
    ).toMatchObject({ status: 'open' })
    expect((await call(served, 'GET /v1/error-groups/ffffffffffffffff', { token })).status).toBe(404)
    const audit = await call(served, `GET /v1/audit?target=${group}`, { token: admin })
    expect((audit.body as { items: { action: string }[] }).items.map(({ action }) => action)).toEqual([
      'error.reopen',
      'error.ignore',
      'error.resolve',
    ])
    expect((await call(served, 'GET /v1/audit', { token })).status).toBe(403)
  })
})
