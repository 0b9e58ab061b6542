import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineSignal } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { readLink, signLink } from '../../src/node/approval/link.ts'
import { resolveApprovals } from '../../src/node/approval/options.ts'
import type { ApprovalOptions, HandlerContext, WorkerOptions } from '../../src/worker.ts'
import { newJob, startFor, stored, workerScene } from '../support/workers.ts'
import type { TestWorker } from '../support/workers.ts'
import { call, openConsole, problemOf } from './scene.ts'
import type { Answer, CallOptions } from './scene.ts'

const scene = workerScene()

const secrets = 'the key of approval links in tests'
const older = 'the key that is being replaced now'
const url = 'https://ops.example.com'
const approvals = { url, secrets }
const approved = defineSignal({ name: 'approved', payload: z.object({ ok: z.boolean() }) })
const answers = { yes: { ok: true }, no: { ok: false } }

interface Asked {
  id: string
  job: JobContract
  worker: TestWorker
  /** What the handler got, each time it was called. */
  links: { yes: string; no: string }[]
}

/** A job that has made its links, and waits for an answer. */
async function ask(
  options: Partial<ApprovalOptions> = {},
  worker: WorkerOptions = { approvals },
): Promise<Asked> {
  const job = newJob()
  const links: Asked['links'] = []
  const started = await start(job, links, { options, worker })
  const { id } = await scene.stint.enqueue(job)
  await started.hears('waiting', id)
  return { id, job, links, worker: started }
}

function start(
  job: JobContract,
  links: Asked['links'],
  { options, worker }: { options: Partial<ApprovalOptions>; worker: WorkerOptions },
): Promise<TestWorker> {
  const handler = async (_input: unknown, ctx: HandlerContext): Promise<unknown> => {
    links.push(await ctx.approval(approved, answers, { expires: '3d', ...options }))
    const { payload, by } = await ctx.waitForSignal(approved)
    return { payload, by }
  }
  return startFor(scene, job, handler, worker)
}

function tokenOf(link: string | undefined): string {
  expect(link?.startsWith(`${url}/approvals/`)).toBe(true)
  return link?.split('/').at(-1) ?? ''
}

async function tokens(asking: Promise<Asked>): Promise<{ id: string; yes: string; no: string }> {
  const { id, links } = await asking
  return { id, yes: tokenOf(links[0]?.yes), no: tokenOf(links[0]?.no) }
}

const usual = { approvals: { secrets } }
function open(options: Parameters<typeof openConsole>[1] = usual): ReturnType<typeof openConsole> {
  return openConsole(scene.db.url, options)
}

const page = { headers: { Accept: 'text/html,application/xhtml+xml' } }
function get(token: string, options?: CallOptions): Promise<Answer> {
  return call(open(), `GET /approvals/${token}`, options)
}
function post(token: string, options?: CallOptions): Promise<Answer> {
  return call(open(), `POST /approvals/${token}`, options)
}

const signalsOf = (id: string): Promise<unknown[]> =>
  scene.db.query('select name, key, payload, sent_by from stint.signal where job_id = $1', [id])

describe('a link', () => {
  test('answers once: the job goes on with its payload, and the audit has an entry', async () => {
    const { id, links, worker } = await ask({ about: 'Send 12 mails?' })
    const token = tokenOf(links[0]?.yes)
    const sent = await post(token)
    expect(sent).toMatchObject({
      status: 200,
      body: { jobId: id, answer: 'yes', about: 'Send 12 mails?', given: { answer: 'yes' } },
    })
    await worker.hears('succeeded', id)
    expect(await scene.stint.result(id)).toEqual({ payload: { ok: true }, by: 'approval link' })
    const { entries } = await scene.stint.audit.list({ target: id })
    expect(entries).toMatchObject([
      { action: 'job.signal', outcome: 'done', actor: 'approval link', reason: `answered 'yes'`, role: null },
    ])
  })

  test('that is opened, however often, does nothing', async () => {
    const { id, yes } = await tokens(ask())
    const served = open()
    for (const method of ['GET', 'GET', 'HEAD'])
      for (const options of [{}, page]) {
        const request = new Request(`http://console.test/approvals/${yes}`, { method, ...options })
        expect((await served.fetch(request)).status).toBe(200)
      }
    expect((await get(yes)).body).toMatchObject({ answer: 'yes', given: null, signal: 'approved' })
    expect(await signalsOf(id)).toEqual([])
    expect(await stored(scene, id)).toMatchObject({ state: 'waiting' })
    expect((await scene.stint.audit.list({ target: id })).entries).toEqual([])
  })

  test('that is used again, or after another answer, says that the question is answered', async () => {
    // The job does not take its signal: its worker is gone.
    const asked = await ask()
    await asked.worker.worker.stop()
    const { id, yes, no } = await tokens(Promise.resolve(asked))
    expect((await post(no)).status).toBe(200)
    for (const token of [no, yes]) {
      const again = await post(token)
      expect(problemOf(again)).toMatchObject({ status: 409, type: 'urn:stint:problem:already-answered' })
      expect(problemOf(again).detail).toMatch(/^Already answered with “no” on /)
      expect((await get(token)).body).toMatchObject({ given: { answer: 'no' } })
    }
    const shown = await get(yes, page)
    expect(shown.text).toContain('Already answered with “no”')
    expect(shown.text).not.toContain('<button')
    expect(await signalsOf(id)).toMatchObject([{ payload: { ok: false }, sent_by: 'approval link' }])
    expect((await scene.stint.audit.list({ target: id })).entries).toHaveLength(1)
  })

  test('and another answer at the same time: one of them counts', async () => {
    const asked = await ask()
    await asked.worker.worker.stop()
    const { id, yes, no } = await tokens(Promise.resolve(asked))
    const statuses = await Promise.all([post(yes), post(no), post(yes), post(no)])
    expect(statuses.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
    expect(await signalsOf(id)).toHaveLength(1)
  })

  test('works after all workers were gone, and the handler gets the same links again', async () => {
    const { id, job, links, worker } = await ask()
    await worker.worker.stop()
    expect((await post(tokenOf(links[0]?.yes))).status).toBe(200)
    const next = await start(job, links, { options: {}, worker: { approvals } })
    await next.hears('succeeded', id)
    expect(links).toHaveLength(2)
    expect(links[1]).toEqual(links[0])
  })

  test('is not stored: no one finds it in the records of the job', async () => {
    const { id, yes } = await tokens(ask())
    const text = JSON.stringify(await scene.db.query('select * from stint.step where job_id = $1', [id]))
    expect(text).toContain('"approval:approved"')
    expect(text).not.toContain(yes.split('.')[1])
  })
})

describe('a link that does not work', () => {
  test('with any one byte changed is unknown', async () => {
    const { id, yes } = await tokens(ask())
    expect(readLink(yes, [secrets])).toMatchObject({ jobId: id })
    for (let place = 0; place < yes.length; place++)
      for (const other of yes[place] === 'A' ? ['B', '.'] : ['A', '']) {
        const changed = `${yes.slice(0, place)}${other}${yes.slice(place + 1)}`
        expect(readLink(changed, [secrets]), `byte ${place}`).toBeUndefined()
      }
    // The last character has bits that base64url does not read.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (const last of alphabet)
      if (!yes.endsWith(last)) expect(readLink(yes.slice(0, -1) + last, [secrets])).toBeUndefined()
    for (const token of [`A${yes}`, `${yes}A`, `${yes}.`, 'x', 'x'.repeat(5_000)])
      for (const method of ['GET', 'POST']) {
        const answer = await call(open(), `${method} /approvals/${token}`)
        expect(problemOf(answer)).toMatchObject({ status: 404, type: 'urn:stint:problem:approval-unknown' })
      }
    expect(await signalsOf(id)).toEqual([])
  })

  test('has expired', async () => {
    const { id, yes } = await tokens(ask())
    const link = readLink(yes, [secrets])
    const late = signLink({ ...link, expiresAt: Date.now() - 1 } as never, secrets)
    for (const answer of [await get(late), await post(late), await get(late, page)])
      expect(answer.status).toBe(410)
    expect(problemOf(await post(late)).type).toBe('urn:stint:problem:approval-expired')
    expect(await signalsOf(id)).toEqual([])
  })

  test('is made of the links of two jobs', async () => {
    const [one, other] = [await tokens(ask()), await tokens(ask())]
    const [body = ''] = one.yes.split('.')
    const [, mac = ''] = other.yes.split('.')
    expect((await post(`${body}.${mac}`)).status).toBe(404)
    // Not even a key that signs makes a question of one job a question of another.
    const link = readLink(one.yes, [secrets])
    const mixed = signLink({ ...link, jobId: other.id } as never, secrets)
    expect(problemOf(await post(mixed))).toMatchObject({
      status: 410,
      type: 'urn:stint:problem:approval-withdrawn',
    })
    expect(await signalsOf(other.id)).toEqual([])
  })

  test('is of a job that has ended, is unknown or was started anew', async () => {
    const { id, yes } = await tokens(ask())
    await scene.db.query('delete from stint.step where job_id = $1', [id])
    expect(problemOf(await post(yes)).type).toBe('urn:stint:problem:approval-withdrawn')
    await scene.stint.cancel(id)
    for (const answer of [await post(yes), await get(yes)])
      expect(problemOf(answer)).toMatchObject({ status: 409, type: 'urn:stint:problem:job-ended' })
    expect((await get(yes, page)).text).toContain('The job has ended')
    const unknown = signLink({ ...readLink(yes, [secrets]), jobId: randomUUID() } as never, secrets)
    expect((await post(unknown)).status).toBe(409)
  })

  test('is of a record that another role has broken', async () => {
    const { id, yes } = await tokens(ask())
    for (const set of [
      `result - 'answers'`,
      `jsonb_set(result, '{answers}', '[1]')`,
      `jsonb_set(result, '{answers}', '"yes"')`,
    ]) {
      await scene.db.query(`update stint.step set result = ${set} where job_id = $1 and type = 'approval'`, [
        id,
      ])
      expect((await post(yes)).status).toBe(410)
    }
  })

  test('comes too often: further wrong ones wait, right ones do not', async () => {
    const { yes } = await tokens(ask())
    const served = open()
    const statuses: number[] = []
    for (let tries = 1; tries <= 12; tries++)
      statuses.push((await call(served, `GET /approvals/wrong-${tries}`, page)).status)
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 404), 429, 429])
    expect((await call(served, 'POST /approvals/wrong')).headers.get('Retry-After')).toMatch(/^\d+$/)
    expect((await call(served, `GET /approvals/${yes}`)).status).toBe(200)
  })
})

describe('the keys', () => {
  test('are rotated: the first signs, all are accepted, a removed one is not', async () => {
    const { yes: byOld, no } = await tokens(ask({}, { approvals: { url, secrets: older } }))
    const { yes: byNew } = await tokens(ask({}, { approvals: { url, secrets: [secrets, older] } }))
    expect(readLink(byNew, [secrets])).toBeDefined()
    expect(readLink(byNew, [older])).toBeUndefined()
    const rotating = open({ approvals: { secrets: [secrets, older] } })
    for (const token of [byOld, byNew])
      expect((await call(rotating, `POST /approvals/${token}`)).status).toBe(200)
    expect((await post(no)).status).toBe(404)
  })

  test('are missing: the handler and the console say what to set', async () => {
    const errors: unknown[] = []
    for (const given of [undefined, { secrets }, { url }]) {
      const job = newJob()
      const handler = async (_input: unknown, ctx: HandlerContext): Promise<void> => {
        await ctx
          .approval('approved', answers, { expires: '1d' })
          .catch((error: unknown) => errors.push(error))
      }
      const worker = await startFor(scene, job, handler, { approvals: given })
      await worker.hears('succeeded', (await scene.stint.enqueue(job)).id)
    }
    const [none, noUrl, noSecrets] = errors
    for (const error of [none, noSecrets])
      expect(error).toMatchObject({
        code: 'invalid-option',
        message: expect.stringMatching(/approvals\.secrets.*STINT_APPROVAL_SECRETS/) as string,
      })
    expect(noUrl).toMatchObject({ message: expect.stringContaining('STINT_APPROVAL_URL') as string })
    const { body } = await call(open({}), 'GET /approvals/any')
    expect(body['hint']).toMatch(/STINT_APPROVAL_SECRETS/)
  })

  test('come from options or the environment, and are never shown', () => {
    const env = { STINT_APPROVAL_URL: `${url}/jobs/`, STINT_APPROVAL_SECRETS: `${secrets},${older}` }
    expect(resolveApprovals(undefined, env)).toEqual({ url: `${url}/jobs`, secrets: [secrets, older] })
    expect(resolveApprovals({ secrets: older }, env)).toMatchObject({ secrets: [older] })
    expect(resolveApprovals(undefined, { STINT_APPROVAL_URL: '' })).toEqual({ url: undefined, secrets: [] })
    for (const wrong of ['short secret', [], [secrets, older, secrets], 7, [secrets, 'short secret']]) {
      const resolve = (): unknown => resolveApprovals({ secrets: wrong as string }, {})
      expect(resolve).toThrow(/approvals\.secrets.*at least 32 bytes/)
      expect(resolve).not.toThrow(/short secret/)
    }
    expect(() => resolveApprovals(undefined, { STINT_APPROVAL_SECRETS: 'short' })).toThrow(
      /STINT_APPROVAL_SECRETS/,
    )
    for (const wrong of ['ops.example.com', 'javascript:alert(1)', `${url}?a=b`, 'https://a:b@c', 7])
      expect(() => resolveApprovals({ url: wrong as string }, {})).toThrow(/approvals\.url/)
    expect(() => resolveApprovals({ secret: 'x' } as never, {})).toThrow(/secrets/)
    expect(() => resolveApprovals('x' as never, {})).toThrow(/approvals/)
  })
})

describe('the page', () => {
  test('has a button and no script, and shows hostile words of the handler as text', async () => {
    const about = `<script>alert(1)</script> "quoted" & 'single' <img src=x onerror=alert(2)>`
    const { yes } = await tokens(ask({ about }))
    const { text, headers, status } = await get(yes, page)
    expect(status).toBe(200)
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &quot;quoted&quot; &amp; &#39;single&#39;')
    expect(text).not.toMatch(/<script|<img|onerror=alert\(2\)>/)
    expect(text).toMatch(/<form method="post"><button type="submit">Answer “yes”<\/button>/)
    expect(headers.get('Content-Security-Policy')).toMatch(
      /default-src 'none'.*script-src 'self'.*form-action 'self'/,
    )
    expect(headers.get('Cache-Control')).toBe('no-store')
    expect(headers.get('Referrer-Policy')).toBe('same-origin')
  })

  test('thanks for an answer, and shows failures as pages too', async () => {
    const { yes } = await tokens(ask())
    const thanks = await post(yes, page)
    expect(thanks).toMatchObject({ status: 200, text: expect.stringContaining('Thank you') as string })
    const again = await post(yes, page)
    expect(again.status).toBe(409)
    expect(again.headers.get('Content-Type')).toMatch('text/html')
    expect((await get('x', page)).text).toContain('This link does not work')
  })

  test('needs no sign-in, and gives none', async () => {
    const { yes } = await tokens(ask())
    const answer = await post(yes, page)
    expect(answer.headers.get('Set-Cookie')).toBeNull()
    expect((await call(open(), 'GET /v1/jobs')).status).toBe(401)
  })

  test('of a read-only console takes no answers', async () => {
    const { id, yes } = await tokens(ask())
    const served = open({ ...usual, readOnly: true })
    expect((await call(served, `GET /approvals/${yes}`, page)).text).toContain('read-only')
    expect((await call(served, `POST /approvals/${yes}`)).status).toBe(403)
    expect(await signalsOf(id)).toEqual([])
  })
})

test('wrong arguments are refused before anything is stored', async () => {
  const job = newJob()
  const errors: unknown[] = []
  const handler = async (_input: unknown, ctx: HandlerContext): Promise<void> => {
    const wrong: unknown[][] = [
      [approved, {}, { expires: '1d' }],
      [approved, [], { expires: '1d' }],
      [approved, { ['x'.repeat(65)]: { ok: true } }, { expires: '1d' }],
      [approved, { 'a\0b': { ok: true } }, { expires: '1d' }],
      [approved, { yes: { ok: 7 } }, { expires: '1d' }],
      [approved, { yes: { ok: true, text: 'x'.repeat(70_000) } }, { expires: '1d' }],
      [approved, answers, {}],
      [approved, answers],
      [approved, answers, { expires: '0s' }],
      [approved, answers, { expires: '1d', about: '' }],
      [approved, answers, { expires: '1d', abuot: 'x' }],
      ['a b', answers, { expires: '1d' }],
    ]
    for (const args of wrong)
      await ctx.approval(...(args as [never, never, never])).catch((error: unknown) => errors.push(error))
    await ctx.waitForSignal('never')
  }
  const worker = await startFor(scene, job, handler, { approvals })
  const { id } = await scene.stint.enqueue(job)
  await worker.hears('waiting', id)
  expect(errors.map((error) => (error as { code: string }).code)).toEqual([
    ...['invalid-option', 'invalid-option', 'invalid-option', 'invalid-option', 'invalid-input'],
    ...['invalid-input', 'invalid-option', 'invalid-option', 'invalid-option', 'invalid-option'],
    ...['invalid-option', 'invalid-option'],
  ])
  expect(
    await scene.db.query(`select from stint.step where job_id = $1 and type = 'approval'`, [id]),
  ).toEqual([])
})
