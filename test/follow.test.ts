import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Stint } from '../src/index.ts'
import type { JobNews } from '../src/index.ts'
import { PermanentError } from '../src/worker.ts'
import { gate, newJob, startFor, workerScene } from './support/workers.ts'

const scene = workerScene()

/** News without the fields that differ from run to run. */
function brief(news: JobNews): string {
  if (news.type === 'state') return `${news.state} ${news.attempt}`
  return news.type === 'progress' ? `${news.percent}%` : `${news.name}#${news.n} ${news.state} ${news.tries}`
}

async function writeStep(
  id: string,
  step: { name: string; n?: number; seq: number; state: string; tries?: number },
): Promise<void> {
  const { name, n = 0, seq, state, tries = 1 } = step
  await scene.db.query(
    `insert into stint.step (job_id, name, n, seq, type, state, epoch, tries, started_at, ended_at, result)
     values ($1, $2, $3, $4, 'step', $5, 1, $6, now(), now(), '"secret"')
         on conflict (job_id, name, n) do update set state = excluded.state, tries = excluded.tries`,
    [id, name, n, seq, state, tries],
  )
}

test('a follower is told each state, progress and step of a job, and its end last', async () => {
  const contract = newJob('followed')
  const [half, full] = [gate(), gate()]
  let tries = 0
  await startFor(scene, contract, async (_, ctx) => {
    if (++tries === 1) throw new Error('not yet')
    await ctx.progress(50, 'half')
    await half.opened
    await ctx.progress(100)
    await full.opened
    return { total: 7 }
  })
  const job = await scene.stint.enqueue(contract, null, { delay: '1h' })
  const told: JobNews[] = []
  for await (const news of scene.stint.follow({ job: job.id })) {
    if (told.push(news) === 1) await scene.stint.reschedule(job.id, { delay: 0 })
    if (news.type === 'progress' && news.percent === 50) {
      expect(news).toMatchObject({ note: 'half', at: expect.any(String) as string })
      await writeStep(job.id, { name: 'fetch', seq: 1, state: 'open' })
    }
    if (news.type === 'step' && news.state === 'open') {
      expect(news).not.toHaveProperty('result')
      expect(news).toMatchObject({ kind: 'step', startedAt: expect.any(Date) as Date })
      await writeStep(job.id, { name: 'fetch', seq: 1, state: 'done', tries: 2 })
    }
    if (news.type === 'step' && news.state === 'done') half.open(undefined)
    if (news.type === 'progress' && news.percent === 100) full.open(undefined)
  }
  const texts = told.map(brief)
  expect(texts[0]).toBe('scheduled 0')
  expect(texts.filter((text) => /%|#/.test(text))).toEqual([
    '50%',
    'fetch#0 open 1',
    'fetch#0 done 2',
    '100%',
  ])
  expect(told.at(-1)).toMatchObject({ type: 'state', state: 'succeeded', result: { total: 7 }, error: null })
  expect(new Set(texts).size).toBe(texts.length)
})

test('a follower is told the steps of a handler as they are done', async () => {
  const contract = newJob('followed')
  const told = gate()
  await startFor(scene, contract, async (_, ctx) => {
    await ctx.step('fetch', () => 7)
    await ctx.step('fetch', () => 8)
    await told.opened
  })
  const job = await scene.stint.enqueue(contract, null)
  const steps: string[] = []
  for await (const news of scene.stint.follow({ job: job.id })) {
    if (news.type === 'step') steps.push(brief(news))
    if (steps.length === 2) told.open(undefined)
  }
  expect(steps.slice(0, 2)).toEqual(['fetch#0 done 1', 'fetch#1 done 1'])
})

test('a job that has ended is told once; a dead one with its error and its steps', async () => {
  const contract = newJob('followed')
  const worker = await startFor(scene, contract, () => {
    throw new PermanentError('no such card')
  })
  const { id } = await scene.stint.enqueue(contract, null)
  await worker.hears('dead', id)
  await writeStep(id, { name: 'charge', n: 1, seq: 2, state: 'failed' })
  await writeStep(id, { name: 'charge', seq: 1, state: 'done' })
  const told: JobNews[] = []
  for await (const news of scene.stint.follow({ job: id })) told.push(news)
  expect(told.map(brief)).toEqual(['charge#0 done 1', 'charge#1 failed 1', 'dead 1'])
  expect(told.at(-1)).toMatchObject({ reason: 'permanent', error: { message: 'no such card' } })
})

test('the steps of a job that succeeded are told from its history, whatever is stored there', async () => {
  const contract = newJob('followed')
  const worker = await startFor(scene, contract, () => 1)
  const { id } = await scene.stint.enqueue(contract, null)
  await worker.hears('succeeded', id)
  const stored = [
    { name: 'a', n: 0, type: 'sleep', state: 'done', tries: 1, startedAt: '2026-01-02T03:04:05.000Z' },
    { name: 'b', state: 'failed', n: 'x', tries: null, startedAt: 'x' },
    ...[null, 7, [], { name: 7, state: 'done' }, { name: 'c', state: 'over' }],
  ]
  await scene.db.query('update stint.finished set steps = $2 where id = $1', [id, JSON.stringify(stored)])
  const told: JobNews[] = []
  for await (const news of scene.stint.follow({ job: id })) told.push(news)
  expect(told.map(brief)).toEqual(['a#0 done 1', 'b#0 failed 1', 'succeeded 1'])
  expect(told[0]).toMatchObject({ kind: 'sleep', startedAt: new Date('2026-01-02T03:04:05.000Z') })
  expect(told[1]).toMatchObject({ kind: 'step', startedAt: null })
})

test('a reader that is slow gets the latest state, and not every state in between', async () => {
  const { id } = await scene.stint.enqueue(newJob('followed'), null, { delay: '1h' })
  const news = scene.stint.follow({ job: id })
  expect((await news.next()).value).toMatchObject({ state: 'scheduled' })
  for (let step = 0; step < 3; step++)
    await writeStep(id, { name: 's', seq: 1, state: 'open', tries: step + 1 })
  await scene.stint.cancel(id)
  const last: string[] = []
  for await (const one of news) last.push(brief(one))
  expect(last.at(-1)).toBe('cancelled 0')
  expect(last.length).toBeLessThanOrEqual(3)
})

test('leaving the loop frees everything: nothing is read and the client can be closed', async () => {
  const stint = new Stint({ connection: scene.db.url })
  const { id } = await stint.enqueue(newJob('followed'), null)
  for await (const news of stint.follow({ job: id })) {
    expect(news).toMatchObject({ type: 'state', state: 'ready' })
    break
  }
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  onTestFinished(() => {
    spy.mockRestore()
  })
  await stint.close()
  const sent = spy.mock.calls.map((call) => JSON.stringify(call))
  expect(sent.filter((text) => text.includes('jobs/follow/'))).toEqual([])
})

test('a signal, an unknown job and a closed client end the loop with an error', async () => {
  const { id } = await scene.stint.enqueue(newJob('followed'), null)
  const collect = async (stint: Stint, options: { job: string; signal?: AbortSignal }): Promise<void> => {
    for await (const news of stint.follow(options)) expect(news.type).toBe('state')
  }
  const stop = new AbortController()
  const followed = collect(scene.stint, { job: id, signal: stop.signal })
  stop.abort(new Error('enough'))
  await expect(followed).rejects.toThrow('enough')
  await expect(collect(scene.stint, { job: id, signal: stop.signal })).rejects.toThrow('enough')
  await expect(collect(scene.stint, { job: randomUUID() })).rejects.toMatchObject({ code: 'job-not-found' })
  const stint = new Stint({ connection: scene.db.url })
  const open = stint.follow({ job: id })
  await open.next()
  const next = open.next()
  next.catch(() => undefined)
  await stint.close()
  await expect(next).rejects.toMatchObject({ code: 'client-closed' })
})

test.each([
  [{ job: 'x' }, 'id'],
  [{}, 'id'],
  [{ job: randomUUID(), jobs: [] }, 'jobs'],
  [{ job: randomUUID(), signal: 1 }, 'signal'],
])('follow(%j) is refused when it is called', (options, path) => {
  expect(() => scene.stint.follow(options as never)).toThrow(
    expect.objectContaining({
      code: 'invalid-option',
      issues: [expect.objectContaining({ path }) as object],
    }) as Error,
  )
})
