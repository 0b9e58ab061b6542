import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Stint } from '../src/index.ts'
import { render } from '../src/db/statement.ts'
import { searchDeadSql } from '../src/jobs/search/search-dead.sql.ts'
import { searchWindowSql } from '../src/jobs/search/search-window.sql.ts'
import { deadLettersScene, mail, unknownId } from './dead-letters-scene.ts'
import { connectTo, createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { bury } from './support/dead-letters.ts'

const scene = deadLettersScene()
const { deadMail } = scene

const highestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const lowestId = '00000000-0000-0000-0000-000000000000'
const declined = { name: 'CardDeclined', message: 'do not honor', stack: 'CardDeclined: do not honor\n at …' }

describe('get', () => {
  test('dead.get() shows the job, why it died and every attempt', async () => {
    const id = await deadMail({}, { reason: 'permanent', error: declined, fingerprint: 'b02c', epoch: 3 })
    await scene.db.query(
      `insert into stint.attempt (job_id, epoch, attempt, outcome, reason) values ($1, 2, 1, 'lease-lost', 'worker gone')`,
      [id],
    )
    expect(await scene.stint.dead.get(id)).toMatchObject({
      id,
      state: 'dead',
      reason: 'permanent',
      fingerprint: 'b02c',
      error: declined,
      input: { to: 'ana' },
      key: 'ana',
      search: { to: 'ana' },
      finishedAt: expect.any(Date) as Date,
      attempts: [
        { epoch: 2, outcome: 'lease-lost', reason: 'worker gone', error: null },
        { epoch: 3, attempt: 5, outcome: 'failed', error: declined, workerId: expect.any(String) as string },
      ],
    })
    expect(await scene.stint.attempts(id)).toHaveLength(2)
  })

  test('dead.get() of a live job or an unknown id is undefined', async () => {
    const { id } = await scene.stint.enqueue(mail, { to: 'ana' })
    expect(await scene.stint.dead.get(id)).toBeUndefined()
    expect(await scene.stint.dead.get(unknownId)).toBeUndefined()
    await expect(scene.stint.dead.get('7')).rejects.toMatchObject({ code: 'invalid-option' })
  })
})

describe('list', () => {
  test('dead.list() pages through all matches of a filter, newest first, each once', async () => {
    const queue = randomUUID()
    const ids: string[] = []
    for (let n = 0; n < 7; n++) ids.push(await deadMail({ queue }))
    const seen: string[] = []
    for (let before: string | undefined, pages = 0; pages === 0 || before !== undefined; pages++) {
      const page = await scene.stint.dead.list({ queue, limit: 3, before })
      seen.push(...page.dead.map(({ id }) => id))
      before = page.next
      expect(pages).toBeLessThan(4)
    }
    expect(seen).toEqual(ids.reverse())
  })

  test('dead.list() finds by kind, key, reason and fingerprint, alone and together', async () => {
    const queue = randomUUID()
    const fingerprint = randomUUID()
    const key = randomUUID()
    const one = await deadMail({ queue, key }, { fingerprint, reason: 'expired', error: declined })
    const other = await deadMail({ queue, key }, { fingerprint: 'other' })
    const find = async (options: Parameters<typeof scene.stint.dead.list>[0]) =>
      (await scene.stint.dead.list(options)).dead.map(({ id }) => id)
    expect(await find({ fingerprint })).toEqual([one])
    expect(await find({ key })).toEqual([other, one])
    expect(await find({ key, reason: 'expired' })).toEqual([one])
    expect(await find({ queue, kind: 'mail.send' })).toEqual([other, one])
    expect(await find({ queue, kind: 'other' })).toEqual([])
    expect((await scene.stint.dead.list({ fingerprint })).dead).toMatchObject([
      { id: one, error: { name: 'CardDeclined', message: 'do not honor' }, state: 'dead', fingerprint },
    ])
  })

  test('takes a kind and a fingerprint as whole texts, without wildcards', async () => {
    const queue = randomUUID()
    await deadMail({ queue }, { fingerprint: 'b02c9e51b02c9e51' })
    const found = async (options: Parameters<typeof scene.stint.dead.list>[0]) =>
      (await scene.stint.dead.list({ queue, ...options })).dead.length
    expect(await found({ kind: 'mail.send', fingerprint: 'b02c9e51b02c9e51' })).toBe(1)
    for (const kind of ['mail.*', 'mail.%', 'mail_send', '*', '']) expect(await found({ kind })).toBe(0)
    for (const fingerprint of ['b02c9e51', 'b02c9e51%', '']) expect(await found({ fingerprint })).toBe(0)
  })

  test('shows the trash and edited dead letters only where it is asked for them', async () => {
    const queue = randomUUID()
    const [open, edited, discarded, both] = [
      ...[await deadMail({ queue }), await deadMail({ queue })],
      ...[await deadMail({ queue }), await deadMail({ queue })],
    ] as const
    await scene.db.query('update stint.dead set replaced_by = id where id = any($1)', [[edited, both]])
    await scene.db.query('update stint.dead set discarded_at = now() where id = any($1)', [[discarded, both]])
    const find = async (options: Parameters<typeof scene.stint.dead.list>[0]) =>
      (await scene.stint.dead.list({ queue, ...options })).dead.map(({ id }) => id)
    expect(await find({})).toEqual([open])
    expect(await find({ replaced: true })).toEqual([edited, open])
    expect(await find({ discarded: true })).toEqual([discarded])
    expect(await find({ discarded: true, replaced: true })).toEqual([both, discarded])
    expect((await scene.stint.list({ queue })).jobs.map(({ id }) => id)).toEqual([edited, open])
  })

  test.each([{ limit: 0 }, { reason: 'bored' }, { before: 'x' }, { que: 'a' }, { discarded: 'yes' }])(
    'dead.list() refuses %j',
    async (options) => {
      await expect(scene.stint.dead.list(options as never)).rejects.toMatchObject({ code: 'invalid-option' })
    },
  )
})

describe('a list of many dead letters', () => {
  let many: TestDatabase
  let client: Stint
  beforeAll(async () => {
    many = await createTestDatabase()
    client = new Stint({ connection: many.url })
    await many.query(`insert into stint.dead
      (id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version, queue, kind, reason)
      select ('ffffffff-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, now(), now(), 1, 5, 5, 0, 0, 1, 'q', 'k', 'exhausted'
        from generate_series(1, 60000) as n`)
  })
  afterAll(async () => {
    await client.close()
    await many.drop()
  })

  test('dead.list() reads a bounded number of rows for a rare match, and says where to go on', async () => {
    const { id } = await client.enqueue(mail, { to: 'ana' })
    await bury(many, id, { reason: 'expired' })
    const first = await client.dead.list({ reason: 'expired' })
    expect(first).toMatchObject({ dead: [], next: expect.any(String) as string })
    expect(await client.dead.list({ reason: 'expired', before: first.next })).toMatchObject({
      dead: [{ id }],
      next: undefined,
    })
    // The index of the queue finds it at once.
    expect(await client.dead.list({ queue: 'mail' })).toMatchObject({ dead: [{ id }], next: undefined })
  })

  test('dead.list() reads a window of the index of its filter', async () => {
    const prober = await connectTo(many.url)
    await prober.query('analyze stint.dead')
    await prober.query('set plan_cache_mode = force_generic_plan')
    await prober.query(`prepare by_index as ${render(searchDeadSql, 'stint')}`)
    await prober.query(`prepare by_id as ${render(searchWindowSql, 'stint')}`)
    const given = { upTo: `'${highestId}'`, from: `'${lowestId}'`, window: '50', limit: '50' }
    for (const by of ['queue', 'kind', 'key', 'fingerprint', 'id']) {
      const { params } = by === 'id' ? searchWindowSql : searchDeadSql
      const value = by === 'kind' ? 'k' : 'q'
      const filter: Partial<Record<string, string>> = {
        ...{ ...given, by: `'${by}'`, values: `'{${value}}'`, tables: `'{dead}'` },
        ...{ discarded: 'false', replaced: 'false' },
      }
      const values = params.map((param) => filter[param] ?? 'null')
      const { rows } = await prober.query<{ 'QUERY PLAN': string }>(
        `explain (analyze, costs off) execute ${by === 'id' ? 'by_id' : 'by_index'} (${values.join(', ')})`,
      )
      const scans = rows
        .map((row) => row['QUERY PLAN'])
        .filter((line) => /Index.* on dead|Seq Scan/.test(line))
      const [first = '', ...others] = scans.filter((line) => !line.includes('never executed'))
      expect(first, by).toContain(by === 'id' ? 'dead_pkey' : `dead_${by}`)
      expect(others.filter((line) => !line.includes('dead_pkey'))).toEqual([])
      // No dead letter here has a key or a fingerprint.
      expect(first, by).toMatch(by === 'key' || by === 'fingerprint' ? /rows=0\b/ : /rows=50\b/)
    }
  })
})

describe('discard and restore', () => {
  test('discard and restore move a dead letter into the trash and out of it, and a repeat changes nothing', async () => {
    const queue = randomUUID()
    const id = await deadMail({ queue })
    const { discardedAt } = await scene.stint.dead.discard(id)
    expect(discardedAt).toBeInstanceOf(Date)
    expect(await scene.stint.dead.discard(id)).toMatchObject({ discardedAt })
    expect((await scene.stint.dead.list({ queue })).dead).toEqual([])
    expect((await scene.stint.dead.list({ queue, discarded: true })).dead).toMatchObject([
      { id, discardedAt },
    ])
    expect(await scene.stint.dead.restore(id)).toMatchObject({ discardedAt: null })
    expect(await scene.stint.dead.restore(id)).toMatchObject({ discardedAt: null, input: { to: 'ana' } })
    expect((await scene.stint.dead.list({ queue })).dead).toMatchObject([{ id }])
  })

  test('discard and restore of a live job or an unknown id are refused', async () => {
    const { id } = await scene.stint.enqueue(mail, { to: 'ana' })
    for (const change of [
      (of: string) => scene.stint.dead.discard(of),
      (of: string) => scene.stint.dead.restore(of),
    ]) {
      await expect(change(id)).rejects.toMatchObject({ code: 'state-changed' })
      await expect(change(unknownId)).rejects.toMatchObject({ code: 'job-not-found' })
      await expect(change('7')).rejects.toMatchObject({ code: 'invalid-option' })
    }
  })
})

describe('logs', () => {
  test('logs are read in order: all, from a line on, of one attempt, or the last ones', async () => {
    const { id } = await scene.stint.enqueue(mail, { to: 'ana' })
    await scene.db.query(
      `insert into stint.log (job_id, epoch, line, level, message, data)
       select $1, epoch, line, 'info', epoch || '/' || line, '{"a": 1}'
         from generate_series(1, 2) as epoch, generate_series(1, 3) as line`,
      [id],
    )
    const read = async (options?: Parameters<typeof scene.stint.logs>[1]) =>
      (await scene.stint.logs(id, options)).map(({ message }) => message)
    expect(await read()).toEqual(['1/1', '1/2', '1/3', '2/1', '2/2', '2/3'])
    expect(await read({ epoch: 1 })).toEqual(['1/1', '1/2', '1/3'])
    expect(await read({ last: true, limit: 2 })).toEqual(['2/2', '2/3'])
    const lines = await scene.stint.logs(id, { limit: 2 })
    expect(await read({ after: lines.at(-1), limit: 2 })).toEqual(['1/3', '2/1'])
    expect(await read({ epoch: 2, after: lines.at(-1) })).toEqual(['2/1', '2/2', '2/3'])
    expect(lines[0]).toEqual({
      epoch: 1,
      line: 1,
      at: expect.any(Date) as Date,
      level: 'info',
      message: '1/1',
      data: { a: 1 },
    })
    await expect(scene.stint.logs(id, { tail: 3 } as never)).rejects.toMatchObject({ code: 'invalid-option' })
  })
})
