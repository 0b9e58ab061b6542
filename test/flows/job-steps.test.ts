import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { JobStep } from '../../src/index.ts'
import { call, openConsole, tokens } from '../console/scene.ts'
import { runStint } from '../support/cli.ts'
import { newJob, startFor, workerScene } from '../support/workers.ts'

const scene = workerScene()

const namesOf = (steps: readonly JobStep[]): string[] => steps.map(({ name, n }) => `${name} ${n}`)

/** A live job with these records, which no worker runs. */
async function jobWith(...results: (string | null)[]): Promise<string> {
  const { id } = await scene.stint.enqueue(newJob())
  for (const [seq, result] of results.entries())
    await scene.db.query(
      `insert into stint.step (job_id, name, n, seq, type, state, epoch, started_at, ended_at, result)
       values ($1, $2, 0, $3, 'step', 'done', 1, now() - interval '90 s', now(), $4)`,
      [id, `part ${seq}`, seq, result],
    )
  return id
}

describe('stint.steps()', () => {
  test('has the steps of a job while it waits, and the same ones from its history when it has ended', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await ctx.step('fetch', () => ({ pages: 2 }))
      await ctx.step('fetch', () => [])
      await ctx
        .step('broken', () => {
          throw new TypeError('no such page')
        })
        .catch(() => undefined)
      await ctx.step('nothing', () => undefined)
      const answer = await ctx.waitForSignal<{ by: string }>('approved', { timeout: '1h' })
      return answer.timedOut ? 'late' : answer.payload.by
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('waiting', id)
    const before = await scene.stint.steps(id)
    expect(before).toMatchObject([
      { name: 'fetch', n: 0, type: 'step', state: 'done', tries: 1, result: { pages: 2 }, error: null },
      { name: 'fetch', n: 1, state: 'done', result: [], isCut: false },
      { name: 'broken', state: 'failed', error: { name: 'TypeError', message: 'no such page' } },
      { name: 'nothing', state: 'done' },
      {
        name: 'signal:approved',
        type: 'signal',
        state: 'open',
        endedAt: null,
        until: expect.any(Date) as Date,
      },
    ])
    expect(before[3]?.result).toBeUndefined()
    await scene.stint.signal(id, 'approved', { by: 'ana' })
    await worker.hears('succeeded', id)
    const after = await scene.stint.steps(id)
    expect(namesOf(after)).toEqual(namesOf(before))
    expect(after.slice(0, 4)).toEqual(
      before.slice(0, 4).map((step) => ({
        ...step,
        startedAt: expect.any(Date) as Date,
        endedAt: expect.any(Date) as Date,
      })),
    )
    const [wait] = after.slice(-1)
    expect(wait).toMatchObject({ state: 'done', result: { payload: { by: 'ana' } } })
    // A wait lasts from the attempt that began it.
    expect(wait?.startedAt).toEqual(before[4]?.startedAt)
  })

  test('history keeps every step, and as many results as it has room for', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await ctx.step('small', () => 1)
      await ctx.step('large', () => 'x'.repeat(100_000))
      await ctx.step('last', () => ({ ok: true }))
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect(await scene.stint.steps(id)).toMatchObject([
      { name: 'small', result: 1, isCut: false },
      { name: 'large', isCut: true },
      { name: 'last', result: { ok: true }, isCut: false },
    ])
    const [row] = await scene.db.query<{ bytes: number }>(
      `select octet_length(steps::text) as bytes from stint.finished where id = $1`,
      [id],
    )
    expect(row?.bytes).toBeLessThan(64 * 1024)
  })

  test('of thousands of steps history keeps the last', async () => {
    const job = newJob()
    const worker = await startFor(scene, job, async (_input, ctx) => {
      await Promise.all(Array.from({ length: 1_000 }, (_, n) => ctx.step(`part ${n}`, () => n)))
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    const steps = await scene.stint.steps(id)
    expect(steps.length).toBeGreaterThan(200)
    expect(namesOf(steps)).toEqual(
      Array.from({ length: steps.length }, (_, n) => `part ${1_000 - steps.length + n} 0`),
    )
  })

  test('takes a limit, and leaves out results beyond a size', async () => {
    const id = await jobWith('1', JSON.stringify('x'.repeat(500)), '3')
    expect(namesOf(await scene.stint.steps(id, { limit: 2 }))).toEqual(['part 1 0', 'part 2 0'])
    expect(await scene.stint.steps(id, { maxResultBytes: 200 })).toMatchObject([
      { result: 1, isCut: false },
      { isCut: true },
      { isCut: true },
    ])
    await expect(scene.stint.steps(id, { limit: 0 })).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(scene.stint.steps('x')).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(scene.stint.steps(randomUUID())).rejects.toMatchObject({ code: 'job-not-found' })
  })

  test('leaves out what another role wrote into history and is no step', async () => {
    const { id } = await scene.stint.enqueue(newJob())
    await scene.stint.cancel(id)
    expect(await scene.stint.steps(id)).toEqual([])
    const store = (steps: unknown): Promise<unknown> =>
      scene.db.query('update stint.finished set steps = $2 where id = $1', [id, JSON.stringify(steps)])
    await store([
      7,
      { name: 8 },
      { name: 'a', state: 'odd' },
      { name: 'b', state: 'done', endedAt: 'x', error: 1 },
    ])
    expect(await scene.stint.steps(id)).toEqual([
      {
        ...{ name: 'b', n: 0, type: 'step', state: 'done', tries: 1, startedAt: null, endedAt: null },
        ...{ until: null, result: undefined, isCut: false, error: null },
      },
    ])
    await store({ 'stint:cut': true })
    expect(await scene.stint.steps(id)).toEqual([])
  })
})

test('over HTTP, results need the permission view.input, are redacted, and have a bound', async () => {
  const job = defineJob({ kind: 'pay', queue: newJob().queue, redact: ['card'] })
  const served = openConsole(scene.db.url, { contracts: [job] })
  const { id } = await scene.stint.enqueue(job)
  const other = await jobWith('{"password": "x", "n": 1}', null, JSON.stringify(randomText(300_000)))
  await scene.db.query('update stint.step set job_id = $1 where job_id = $2', [id, other])
  await scene.db.query(
    `update stint.step set result = '{"card": "4242", "password": "x"}' where job_id = $1 and seq = 0`,
    [id],
  )
  const ask = (token: string): ReturnType<typeof call> => call(served, `GET /v1/jobs/${id}/steps`, { token })
  const seen = await ask(tokens.operator.token)
  expect(seen).toMatchObject({
    status: 200,
    body: {
      redacted: true,
      items: [
        {
          ...{ name: 'part 0', n: 0, type: 'step', state: 'done', tries: 1, until: null, error: null },
          ...{ result: { card: '[redacted]', password: '[redacted]' }, resultHidden: null },
        },
        { name: 'part 1', result: null, resultHidden: null },
        { name: 'part 2', result: null, resultHidden: 'size' },
      ],
    },
  })
  const viewed = await ask(tokens.viewer.token)
  expect(viewed.body).toMatchObject({
    redacted: false,
    items: [
      { result: null, resultHidden: 'role' },
      { result: null, resultHidden: null },
      { result: null, resultHidden: 'role' },
    ],
  })
  expect(
    (await call(served, `GET /v1/jobs/${randomUUID()}/steps`, { token: tokens.viewer.token })).status,
  ).toBe(404)
})

test('the command line shows each step on a line, without control characters, and as JSON', async () => {
  const id = await jobWith(JSON.stringify({ text: 'a\u001b[31m' }), null)
  await scene.db.query(
    `insert into stint.step (job_id, name, n, seq, type, state, epoch, tries, started_at, ended_at, error)
     values ($1, 'part 0', 1, 7, 'step', 'failed', 1, 3, now(), now(), '{"name": "Refused", "message": "by the bank"}')`,
    [id],
  )
  const { code, stdout } = await runStint(['job', 'steps', id], scene.db.url)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^STEP +TYPE +STATE +TRIES +WHEN +TOOK +RESULT\n/)
  expect(stdout).toMatch(/\npart 0 +step +done +1 +1m3\ds ago +1m30s +\{"text":"a.*"\}\n/)
  expect(stdout).toMatch(/\npart 0 #2 +step +failed +3 .* Refused: by the bank\n/)
  expect(stdout).not.toContain('\u001b')
  const asJson = await runStint(['job', 'steps', id, '-o', 'json'], scene.db.url)
  expect(JSON.parse(asJson.stdout)).toEqual(JSON.parse(JSON.stringify(await scene.stint.steps(id))))
  const { id: plain } = await scene.stint.enqueue(newJob())
  expect(await runStint(['job', 'steps', plain], scene.db.url)).toMatchObject({
    code: 0,
    stderr: 'no steps\n',
  })
  expect((await runStint(['job', 'steps', randomUUID()], scene.db.url)).code).toBe(3)
})

/** Text that Postgres cannot compress to almost nothing. */
function randomText(length: number): string {
  return Array.from({ length: length / 30 }, () => randomUUID().slice(0, 30)).join('')
}
