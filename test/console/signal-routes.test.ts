import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { defineSignal } from '../../src/index.ts'
import { z } from 'zod'
import { runStint } from '../support/cli.ts'
import { bury } from '../support/dead-letters.ts'
import { newJob, startFor, workerScene } from '../support/workers.ts'
import { call, openConsole, problemOf, tokens } from './scene.ts'
import type { Answer, CallOptions } from './scene.ts'

const scene = workerScene()
const { token } = tokens.operator

function post(path: string, options: CallOptions): Promise<Answer> {
  return call(openConsole(scene.db.url), `POST /v1/jobs/${path}`, { token, ...options })
}

const auditOf = async (target: string): Promise<unknown> => (await scene.stint.audit.list({ target })).entries

describe('a signal over HTTP', () => {
  test('a signal wakes up the job that waits for it, and the audit has its name but not its payload', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      const answer = await ctx.waitForSignal('order.approved')
      return { payload: answer.payload, by: answer.by }
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('waiting', id)
    const json = { payload: { secret: 'rosebud' }, key: 'k1', reason: 'they called' }
    const sent = await post(`${id}/signals/order.approved`, { json })
    expect(sent).toMatchObject({ status: 200, body: { id: expect.any(String) as string, duplicate: false } })
    await worker.hears('succeeded', id)
    expect(await scene.stint.result(id)).toEqual({ payload: { secret: 'rosebud' }, by: 'otto' })
    const entries = await auditOf(id)
    expect(entries).toMatchObject([
      {
        ...{ action: 'job.signal', outcome: 'done', actor: 'otto', role: 'operator', reason: 'they called' },
        after: { name: 'order.approved', key: 'k1' },
      },
    ])
    expect(JSON.stringify(entries)).not.toContain('rosebud')
  })

  test('a second signal with the same key is a duplicate', async () => {
    const { id } = await scene.stint.enqueue(newJob())
    const first = await post(`${id}/signals/paid`, { json: { key: 'k' } })
    const second = await post(`${id}/signals/paid`, { json: { key: 'k', payload: 7 } })
    expect(second.body).toMatchObject({ id: first.body['id'], duplicate: true })
    expect(await scene.db.query('select payload from stint.signal where job_id = $1', [id])).toEqual([
      { payload: {} },
    ])
  })

  test('what cannot be sent is refused, and the refusal of a state is in the audit', async () => {
    const { id } = await scene.stint.enqueue(newJob())
    const { id: ended } = await scene.stint.enqueue(newJob())
    await scene.stint.cancel(ended)
    const { id: full } = await scene.stint.enqueue(newJob())
    await scene.db.query(
      `insert into stint.signal (id, job_id, name, payload) select gen_random_uuid(), $1, 'x', '1' from generate_series(1, 1000)`,
      [full],
    )
    const missing = id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    const cases: [path: string, json: unknown, status: number, slug: string][] = [
      [`${missing}/signals/a`, {}, 404, 'job-not-found'],
      [`${ended}/signals/a`, {}, 409, 'job-ended'],
      [`${full}/signals/a`, {}, 429, 'too-many-signals'],
      [`${id}/signals/a`, { payload: 'x'.repeat(66_000) }, 413, 'body-too-large'],
      [`${id}/signals/a`, { payload: { text: 'a\0b' } }, 422, 'invalid-input'],
      [`${id}/signals/a%20b`, {}, 422, 'invalid-option'],
      [`${id}/signals/a`, { key: '' }, 422, 'invalid-body'],
      [`${id}/signals/a`, { paylod: 1 }, 422, 'invalid-body'],
      ['x/signals/a', {}, 400, 'invalid-parameters'],
    ]
    for (const [path, json, status, slug] of cases)
      expect(problemOf(await post(path, { json })), path).toMatchObject({
        status,
        type: `urn:stint:problem:${slug}`,
      })
    expect((await post(`${full}/signals/a`, { json: {} })).headers.get('Retry-After')).toBe('2')
    expect(await auditOf(ended)).toMatchObject([
      { action: 'job.signal', outcome: 'refused', after: { refused: 'job-ended' } },
    ])
    expect(await scene.db.query('select from stint.signal where job_id = any($1)', [[id, ended]])).toEqual([])
  })

  test('a dead letter takes signals for its replay; one in the trash does not', async () => {
    const { id } = await scene.stint.enqueue(newJob())
    await bury(scene.db, id)
    expect((await post(`${id}/signals/a`, { json: {} })).status).toBe(200)
    await scene.stint.dead.discard(id)
    expect((await post(`${id}/signals/a`, { json: {} })).status).toBe(404)
  })

  test('a viewer may not send signals, and is in the audit', async () => {
    const { id } = await scene.stint.enqueue(newJob())
    expect((await post(`${id}/signals/a`, { json: {}, token: tokens.viewer.token })).status).toBe(403)
    expect(await auditOf(id)).toMatchObject([{ action: 'job.signal', outcome: 'refused', actor: 'vi' }])
  })

  test('a waiting job offers the signal to operators, with its command line', async () => {
    const { id } = await scene.stint.enqueue(newJob())
    await scene.db.query(`update stint.job set state = 'waiting' where id = $1`, [id])
    const served = openConsole(scene.db.url)
    const { can } = (await call(served, `GET /v1/jobs/${id}`, { token })).body as { can: unknown[] }
    expect(can).toContainEqual({ verb: 'signal', cli: `stint job signal ${id} NAME --payload JSON` })
  })
})

test('an operator of the library sends what a contract allows', async () => {
  const approved = defineSignal({ name: 'approved', payload: z.object({ by: z.string() }) })
  const { id } = await scene.stint.enqueue(newJob())
  const as = scene.stint.as({ actor: 'ana' })
  expect(await as.signal(id, approved, { by: 'ana' })).toMatchObject({ duplicate: false })
  await expect(as.signal(id, approved, { by: 7 } as never)).rejects.toMatchObject({ code: 'invalid-input' })
  await expect(as.signal('x', approved, { by: '' })).rejects.toMatchObject({ code: 'invalid-option' })
  await expect(as.signal(id, 'a', 1, { kee: 'x' } as never)).rejects.toMatchObject({ code: 'invalid-option' })
  expect(await scene.db.query('select sent_by from stint.signal where job_id = $1', [id])).toEqual([
    { sent_by: 'ana' },
  ])
})

test('the command line sends a signal, and says why it could not', async () => {
  const { id } = await scene.stint.enqueue(newJob())
  const run = (...args: string[]): ReturnType<typeof runStint> =>
    runStint(['job', 'signal', ...args], scene.db.url)
  const sent = await run(id, 'approved', '--payload', '{"ok": true}', '--key', 'k')
  expect(sent).toMatchObject({ code: 0, stderr: 'sent:\n' })
  const again = await run(id, 'approved', '--key', 'k', '-o', 'json')
  expect(JSON.parse(again.stdout)).toEqual({ id: sent.stdout.trim(), duplicate: true })
  expect(await scene.db.query('select name, payload from stint.signal where job_id = $1', [id])).toEqual([
    { name: 'approved', payload: { ok: true } },
  ])
  expect(await run(id, 'approved', '--payload', '{')).toMatchObject({ code: 2 })
  expect(await run(id)).toMatchObject({ code: 2 })
  expect(await run('approved')).toMatchObject({ code: 2 })
  expect(await run(randomUUID(), 'approved')).toMatchObject({ code: 3 })
  await scene.stint.cancel(id)
  expect(await run(id, 'approved')).toMatchObject({ code: 4 })
})
