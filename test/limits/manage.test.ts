import { describe, expect, onTestFinished, test } from 'vitest'
import { defineJob, defineLimit, defineRate } from '../../src/index.ts'
import type { FlowRule, JobContract } from '../../src/index.ts'
import { gate, eventually, newName, startWorker, workerScene } from '../support/workers.ts'

const scene = workerScene()

interface Input {
  key: string
}

function newKeyed(): JobContract {
  return defineJob({
    kind: newName('kind'),
    queue: newName(),
    key: (input) => (input as Input).key,
  })
}

/** A worker whose jobs run until the test ends. */
async function startHolding(job: JobContract, flow: readonly FlowRule[], slots = 10) {
  const end = gate()
  const worker = await startWorker(scene, { queues: { [job.queue]: slots }, flow }, (one) =>
    one.handle(job, () => end.opened),
  )
  // Before the worker stops: the last registered is called first.
  onTestFinished(() => {
    end.open(undefined)
  })
  return worker
}

function jobsOf(key: string, count: number): Input[] {
  return Array.from({ length: count }, () => ({ key }))
}

test('a limit shows its use, its holders and the jobs that wait behind it', async () => {
  const { stint } = scene
  const job = newKeyed()
  const limit = defineLimit({ name: newName('limit'), covers: [{ queue: job.queue }], max: 2 })
  const worker = await startHolding(job, [limit])
  await stint.enqueueMany(job, jobsOf('acme', 5))
  await worker.tells('started', undefined, 2)
  const found = await stint.limits.get(limit.name)
  expect(found).toMatchObject({
    name: limit.name,
    type: 'concurrency',
    max: 2,
    declared: 2,
    used: 2,
    override: null,
    covers: [{ queue: job.queue, kinds: null }],
    source: 'code',
    isOrphan: false,
    broken: null,
    holders: [
      { kind: job.kind, key: 'acme', workerId: worker.worker.id },
      { kind: job.kind, key: 'acme' },
    ],
  })
  // The leader counts ready jobs every two seconds.
  await eventually(
    async () => (await stint.limits.get(limit.name))?.readyBehind === 3,
    'the count of the jobs behind the limit',
  )
  expect((await stint.limits.list()).find(({ name }) => name === limit.name)).toMatchObject({
    used: 2,
    readyBehind: 3,
  })
  expect(await stint.limits.get(newName('none'))).toBeUndefined()
})

test('an override takes effect while jobs run, carries author and reason, and is cleared', async () => {
  const { stint } = scene
  const job = newKeyed()
  const limit = defineLimit({ name: newName('limit'), covers: [{ queue: job.queue }], max: 1 })
  const worker = await startHolding(job, [limit])
  await stint.enqueueMany(job, jobsOf('acme', 5))
  await worker.tells('started', undefined, 1)
  const ana = stint.as({ actor: 'ana', role: 'admin' })
  const changed = await ana.limits.override(limit.name, { max: 3, for: '1h', reason: 'backlog' })
  expect(changed).toMatchObject({ max: 3, declared: 1, override: { to: 3, by: 'ana', reason: 'backlog' } })
  expect((changed.override?.until?.getTime() ?? 0) - Date.now()).toBeGreaterThan(3_500_000)
  await worker.tells('started', undefined, 3)
  expect(await ana.limits.clear(limit.name, { reason: 'done' })).toMatchObject({
    max: 1,
    override: null,
    used: 3,
  })
  const { entries } = await stint.audit.list({ target: limit.name })
  expect(entries.map(({ action, actor, reason, after }) => ({ action, actor, reason, after }))).toEqual([
    { action: 'limit.clear', actor: 'ana', reason: 'done', after: null },
    { action: 'limit.override', actor: 'ana', reason: 'backlog', after: { max: 3, for: '1h' } },
  ])
  expect(await stint.limits.override(limit.name, { max: 0, until: 'cleared' })).toMatchObject({
    max: 0,
    override: { to: 0, until: null, by: 'code', reason: null },
  })
})

test('an override ends by itself', async () => {
  const { stint, db } = scene
  const job = newKeyed()
  const limit = defineLimit({ name: newName('limit'), covers: [{ queue: job.queue }], max: 4 })
  const worker = await startHolding(job, [limit])
  await stint.limits.override(limit.name, { max: 0, for: '1d', reason: 'provider down' })
  await stint.enqueueMany(job, jobsOf('acme', 3))
  expect(await stint.limits.get(limit.name)).toMatchObject({ max: 0, used: 0 })
  await db.query(
    `update stint.concurrency_limit set override_until = stint.now() - interval '1 s' where name = $1`,
    [limit.name],
  )
  await worker.tells('started', undefined, 3)
  expect(await stint.limits.get(limit.name)).toMatchObject({ max: 4, used: 3, override: null, broken: null })
})

test('the rule of a key gives it a maximum or a tier of its own, and is cleared', async () => {
  const { stint } = scene
  const job = newKeyed()
  const limit = defineLimit({
    name: newName('limit'),
    covers: [{ queue: job.queue }],
    by: 'key',
    max: 1,
    tiers: { gold: 3 },
  })
  const worker = await startHolding(job, [limit])
  const ana = stint.as({ actor: 'ana', role: 'admin' })
  expect(
    await ana.limits.setKey(limit.name, 'acme', { tier: 'gold', for: '1h', reason: 'paid plan' }),
  ).toMatchObject({ key: 'acme', tier: 'gold', max: null, by: 'ana', reason: 'paid plan', isActive: true })
  await ana.limits.setKey(limit.name, 'blocked', { max: 0 })
  await stint.enqueueMany(job, [...jobsOf('acme', 5), ...jobsOf('other', 5), ...jobsOf('blocked', 5)])
  await worker.tells('started', undefined, 4)
  const found = await stint.limits.get(limit.name)
  expect(found).toMatchObject({ used: 4, keyRules: 2 })
  expect(found?.keys).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ key: 'acme', used: 3, max: 3 }),
      expect.objectContaining({ key: 'other', used: 1, max: 1 }),
    ]),
  )
  expect((await stint.limits.keys(limit.name)).map(({ key, max }) => [key, max])).toEqual([
    ['acme', null],
    ['blocked', 0],
  ])
  await ana.limits.clearKey(limit.name, 'blocked', { reason: 'paid' })
  await worker.tells('started', undefined, 5)
  expect(await stint.limits.keys(limit.name, { after: 'acme' })).toEqual([])
  const { entries } = await stint.audit.list({ target: limit.name })
  expect(entries.map(({ action, after }) => ({ action, after }))).toEqual([
    { action: 'limit.clear-key', after: { key: 'blocked' } },
    { action: 'limit.set-key', after: { key: 'blocked', max: 0 } },
    { action: 'limit.set-key', after: { key: 'acme', tier: 'gold', for: '1h' } },
  ])
})

test('the weight of a key gives it a larger share of the slots', async () => {
  const { stint } = scene
  const job = newKeyed()
  const limit = defineLimit({ name: newName('limit'), covers: [{ queue: job.queue }], by: 'key', max: 100 })
  await (
    await startWorker(scene, { queues: { [job.queue]: 1 }, flow: [limit] }, (one) =>
      one.handle(job, () => undefined),
    )
  ).worker.stop()
  await stint.limits.setKey(limit.name, 'heavy', { weight: 4 })
  await stint.enqueueMany(job, [...jobsOf('light', 100), ...jobsOf('heavy', 100)])
  const starts: string[] = []
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 }, flow: [limit] }, (one) =>
    one.handle(job, (input) => {
      starts.push((input as Input).key)
    }),
  )
  await worker.tells('succeeded', undefined, 200)
  const heavy = starts.slice(0, 100).filter((key) => key === 'heavy').length
  expect(heavy).toBeGreaterThanOrEqual(75)
  expect(heavy).toBeLessThanOrEqual(85)
})

test('a rate shows its tokens, takes an override, and is closed by a penalty', async () => {
  const { stint } = scene
  const rate = defineRate({ name: newName('rate'), tokens: 60, per: '1m', burst: 10 })
  const job = defineJob({ kind: newName('kind'), queue: newName(), rates: [rate.name] })
  await startWorker(scene, { queues: { [job.queue]: 1 }, flow: [rate] }, (one) =>
    one.handle(job, () => undefined),
  )
  expect(await stint.limits.get(rate.name)).toMatchObject({
    type: 'rate',
    tokens: 60,
    periodMs: 60_000,
    burst: 10,
    available: 10,
    nextTokenMs: 0,
    blockedUntil: null,
    used: null,
    covers: [{ queue: job.queue, kinds: [job.kind] }],
  })
  expect(await stint.limits.override(rate.name, { tokens: 600, for: '1h' })).toMatchObject({
    tokens: 600,
    declared: 60,
    override: { to: 600 },
  })
  const closed = await stint.limits.penalise(rate.name, { for: '1h' })
  expect(closed.nextTokenMs).toBeGreaterThan(3_500_000)
  expect((closed.blockedUntil?.getTime() ?? 0) - Date.now()).toBeGreaterThan(3_500_000)
})

test('a limit is deleted once no live worker has it in its code', async () => {
  const { stint, db } = scene
  const job = newKeyed()
  const limit = defineLimit({ name: newName('limit'), covers: [{ queue: job.queue }], by: 'key', max: 1 })
  const worker = await startWorker(scene, { queues: { [job.queue]: 1 }, flow: [limit] }, (one) =>
    one.handle(job, () => undefined),
  )
  await stint.limits.setKey(limit.name, 'acme', { max: 5 })
  await expect(stint.limits.delete(limit.name)).rejects.toMatchObject({ code: 'state-changed' })
  await worker.worker.stop()
  expect(await stint.limits.get(limit.name)).toMatchObject({ isOrphan: true })
  await stint.limits.delete(limit.name)
  expect(await stint.limits.get(limit.name)).toBeUndefined()
  expect(await stint.limits.keys(limit.name)).toEqual([])
  expect(await db.query(`select is_limited from stint.queue where name = $1`, [job.queue])).toEqual([
    { is_limited: false },
  ])
  await expect(stint.limits.delete(limit.name)).rejects.toMatchObject({ code: 'limit-not-found' })
})

test('jobs that wait for a limit run once it is deleted', async () => {
  const { stint } = scene
  const job = newKeyed()
  const limit = defineLimit({ name: newName('limit'), covers: [{ queue: job.queue }], max: 0 })
  const start = (flow: FlowRule[]): ReturnType<typeof startWorker> =>
    startWorker(scene, { queues: { [job.queue]: 2 }, flow }, (one) => one.handle(job, () => undefined))
  await (await start([limit])).worker.stop()
  const next = await start([])
  await stint.enqueueMany(job, jobsOf('acme', 3))
  expect(await stint.limits.get(limit.name)).toMatchObject({ max: 0, used: 0, isOrphan: true })
  await stint.limits.delete(limit.name)
  await next.tells('succeeded', undefined, 3)
})

test('a change of a limit that was changed since it was read is refused', async () => {
  const { stint } = scene
  const name = await givenLimit(2)
  const read = await stint.limits.get(name)
  await stint.limits.override(name, { max: 5, for: '1h' })
  await expect(
    stint.limits.override(name, { max: 6, for: '1h', version: read?.version }),
  ).rejects.toMatchObject({ code: 'state-changed' })
  await expect(stint.limits.clear(name, { version: read?.version })).rejects.toMatchObject({
    code: 'state-changed',
  })
})

describe('bad input names its field and value before anything is sent', () => {
  const past = new Date(Date.now() - 1_000)
  const cases: [what: string, act: (name: string) => Promise<unknown>, path: string][] = [
    ['no amount', (name) => scene.stint.limits.override(name, { for: '1h' }), 'max'],
    ['max below 0', (name) => scene.stint.limits.override(name, { max: -1, for: '1h' }), 'max'],
    ['max not whole', (name) => scene.stint.limits.override(name, { max: 1.5, for: '1h' }), 'max'],
    ['tokens of a limit', (name) => scene.stint.limits.override(name, { tokens: 5, for: '1h' }), 'tokens'],
    ['no end', (name) => scene.stint.limits.override(name, { max: 1 }), 'until'],
    ['an end in the past', (name) => scene.stint.limits.override(name, { max: 1, until: past }), 'until'],
    [
      'two ends',
      (name) => scene.stint.limits.override(name, { max: 1, until: 'cleared', for: '1h' }),
      'until',
    ],
    [
      'an end without a zone',
      (name) => scene.stint.limits.override(name, { max: 1, until: '2099' }),
      'until',
    ],
    [
      'an empty reason',
      (name) => scene.stint.limits.override(name, { max: 1, for: '1h', reason: '' }),
      'reason',
    ],
    ['an unknown option', (name) => scene.stint.limits.override(name, { maxx: 1 } as object), 'maxx'],
    ['no rule of a key', (name) => scene.stint.limits.setKey(name, 'a', {}), 'options'],
    ['weight 0', (name) => scene.stint.limits.setKey(name, 'a', { weight: 0 }), 'weight'],
    ['weight 1,001', (name) => scene.stint.limits.setKey(name, 'a', { weight: 1_001 }), 'weight'],
    ['weight NaN', (name) => scene.stint.limits.setKey(name, 'a', { weight: Number.NaN }), 'weight'],
    ['an unknown tier', (name) => scene.stint.limits.setKey(name, 'a', { tier: 'silver' }), 'tier'],
    ['a key with NUL', (name) => scene.stint.limits.setKey(name, 'a\0', { max: 1 }), 'key'],
    ['a key that is too long', (name) => scene.stint.limits.setKey(name, 'é'.repeat(257), { max: 1 }), 'key'],
    [
      'a key rule in the past',
      (name) => scene.stint.limits.setKey(name, 'a', { max: 1, until: past }),
      'until',
    ],
    ['a penalty of a limit', (name) => scene.stint.limits.penalise(name, { for: '1s' }), 'name'],
    ['a penalty without end', (name) => scene.stint.limits.penalise(name, { until: 'cleared' }), 'until'],
  ]
  test.each(cases)('%s', async (_, act, path) => {
    await expect(act(await givenLimit(2))).rejects.toMatchObject({
      code: 'invalid-option',
      issues: [{ path }],
    })
  })

  test.each(['', 'no such', 'x'.repeat(129), '🙂'])('the unknown name "%s"', async (name) => {
    await expect(scene.stint.limits.override(name, { max: 1, for: '1h' })).rejects.toMatchObject({
      code: 'limit-not-found',
    })
  })
})

test('rows that another role has written are shown as broken and stop nothing', async () => {
  const { stint, db } = scene
  const job = newKeyed()
  const [tiers, override, value, both, none] = Array.from({ length: 5 }, () => newName('broken'))
  await db.query(
    `insert into stint.concurrency_limit (name, by_key, max, tiers, override_max, override_until) values
       ($1, true, 1, '{"gold": "many", "silver": 7}', null, null), ($2, false, 1, null, 5, null),
       ($3, false, 1, null, null, 'infinity'), ($4, false, 1, null, null, null)`,
    [tiers, override, value, both],
  )
  await db.query(`insert into stint.rate (name, tokens, period_ms, burst) values ($1, 1, 1000, 5)`, [both])
  await db.query(
    `insert into stint.limit_key (name, key, tier, until) values ($1, 'acme', 'gold', '200000-01-01'), ($2, 'acme', 'x', '-infinity')`,
    [tiers, none],
  )
  await db.query(
    `insert into stint.limit_cover (queue, type, name, kinds) select $1, 'concurrency', unnest($2::text[]), null`,
    [job.queue, [tiers, 'no-such-limit']],
  )
  await db.query(
    `insert into stint.rate_bucket (name, key, seq, tokens, at, blocked_until)
     values ($1, '', 1, -1e9, '9998-01-01Z', '9998-01-01Z')`,
    [both],
  )
  const broken = new Map((await stint.limits.list()).map((one) => [`${one.type} ${one.name}`, one.broken]))
  expect(broken.get(`concurrency ${tiers}`)).toBe("the tier 'gold' is not a number")
  expect(broken.get(`concurrency ${override}`)).toBe('the override has no end')
  expect(broken.get(`concurrency ${value}`)).toBe('the override has no value')
  expect(broken.get(`concurrency ${both}`)).toBe('a limit and a rate have this name')
  expect(broken.get(`rate ${both}`)).toBe('a limit and a rate have this name')
  expect(broken.get(`missing ${none}`)).toBe('there are rules of keys, but no limit of this name')
  expect(await stint.limits.get(tiers ?? '')).toMatchObject({ tiers: { silver: 7 }, max: 1 })
  expect(await stint.limits.keys(none ?? '')).toMatchObject([{ key: 'acme', isActive: false }])
  expect(await stint.limits.clear(override ?? '')).toMatchObject({ broken: null })
  await stint.limits.delete(none ?? '')
  expect(await stint.limits.get(none ?? '')).toBeUndefined()
  const worker = await startWorker(scene, { queues: { [job.queue]: 5 } }, (one) =>
    one.handle(job, () => undefined),
  )
  await db.query(`update stint.queue set is_limited = true where name = $1`, [job.queue])
  await stint.enqueueMany(job, jobsOf('acme', 3))
  await worker.tells('succeeded', undefined, 3)
})

test('ten thousand key rules are paged, and cost a list and a claim little', async () => {
  const { stint, db } = scene
  const job = newKeyed()
  const limit = defineLimit({ name: newName('limit'), covers: [{ queue: job.queue }], by: 'key', max: 1 })
  const worker = await startHolding(job, [limit])
  await db.query(
    `insert into stint.limit_key (name, key, max, weight) select $1, 'k' || lpad(n::text, 5, '0'), 2, 3 from generate_series(1, 10000) as n`,
    [limit.name],
  )
  const begun = performance.now()
  expect(await stint.limits.get(limit.name)).toMatchObject({ keyRules: 1_000 })
  expect(performance.now() - begun).toBeLessThan(2_000)
  let [after, count] = ['', 0]
  for (;;) {
    const page = await stint.limits.keys(limit.name, { after, limit: 1_000 })
    count += page.length
    after = page.at(-1)?.key ?? ''
    if (page.length < 1_000) break
  }
  expect(count).toBe(10_000)
  await stint.enqueueMany(job, jobsOf('k00001', 5))
  await worker.tells('started', undefined, 2)
  expect((await stint.limits.get(limit.name))?.keys).toMatchObject([{ key: 'k00001', used: 2, max: 2 }])
})

/** A stored limit by key that no worker has in its code. */
async function givenLimit(max: number): Promise<string> {
  const name = newName('limit')
  await scene.db.query(
    `insert into stint.concurrency_limit (name, by_key, max, tiers) values ($1, true, $2, '{"gold": 9}')`,
    [name, max],
  )
  return name
}
