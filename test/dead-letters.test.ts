import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, fileBlobStore, Stint } from '../src/index.ts'
import { render } from '../src/db/statement.ts'
import { searchDeadSql } from '../src/jobs/search/search-dead.sql.ts'
import { searchWindowSql } from '../src/jobs/search/search-window.sql.ts'
import { connectTo, createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { bury } from './support/dead-letters.ts'
import type { Death } from './support/dead-letters.ts'
import { startFaultProxy } from './support/fault-proxy.ts'

const mail = defineJob({
  kind: 'mail.send',
  queue: 'mail',
  input: z.object({ to: z.string().min(3), text: z.string().optional() }),
  key: (input) => input.to,
  search: (input) => ({ to: input.to }),
})
const charge = defineJob({
  kind: 'card.charge',
  queue: 'billing',
  unique: { by: (input) => (input as { order: string }).order },
})

let db: TestDatabase
let dir: string
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  dir = await mkdtemp(join(tmpdir(), 'stint-dead-'))
  stint = new Stint({ connection: db.url, blobs: { store: fileBlobStore({ dir }) } })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
  await rm(dir, { recursive: true })
})

const highestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const lowestId = '00000000-0000-0000-0000-000000000000'
const unknownId = '01890000-0000-7000-8000-000000000000'
const declined = { name: 'CardDeclined', message: 'do not honor', stack: 'CardDeclined: do not honor\n at …' }

async function deadMail(options: Parameters<typeof stint.enqueue<typeof mail>>[2] = {}, death: Death = {}) {
  const { id } = await stint.enqueue(mail, { to: 'ana' }, options)
  await bury(db, id, death)
  return id
}

async function placesOf(id: string): Promise<string[]> {
  const rows = await db.query<{ place: string }>('select place from stint.jobs where id = $1', [id])
  return rows.map(({ place }) => place)
}

describe('get', () => {
  test('dead.get() shows the job, why it died and every attempt', async () => {
    const id = await deadMail({}, { reason: 'permanent', error: declined, fingerprint: 'b02c', epoch: 3 })
    await db.query(
      `insert into stint.attempt (job_id, epoch, attempt, outcome, reason) values ($1, 2, 1, 'lease-lost', 'worker gone')`,
      [id],
    )
    expect(await stint.dead.get(id)).toMatchObject({
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
    expect(await stint.attempts(id)).toHaveLength(2)
  })

  test('dead.get() of a live job or an unknown id is undefined', async () => {
    const { id } = await stint.enqueue(mail, { to: 'ana' })
    expect(await stint.dead.get(id)).toBeUndefined()
    expect(await stint.dead.get(unknownId)).toBeUndefined()
    await expect(stint.dead.get('7')).rejects.toMatchObject({ code: 'invalid-option' })
  })
})

describe('list', () => {
  test('dead.list() pages through all matches of a filter, newest first, each once', async () => {
    const queue = randomUUID()
    const ids: string[] = []
    for (let n = 0; n < 7; n++) ids.push(await deadMail({ queue }))
    const seen: string[] = []
    for (let before: string | undefined, pages = 0; pages === 0 || before !== undefined; pages++) {
      const page = await stint.dead.list({ queue, limit: 3, before })
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
    const find = async (options: Parameters<typeof stint.dead.list>[0]) =>
      (await stint.dead.list(options)).dead.map(({ id }) => id)
    expect(await find({ fingerprint })).toEqual([one])
    expect(await find({ key })).toEqual([other, one])
    expect(await find({ key, reason: 'expired' })).toEqual([one])
    expect(await find({ queue, kind: 'mail.send' })).toEqual([other, one])
    expect(await find({ queue, kind: 'other' })).toEqual([])
    expect((await stint.dead.list({ fingerprint })).dead).toMatchObject([
      { id: one, error: { name: 'CardDeclined', message: 'do not honor' }, state: 'dead', fingerprint },
    ])
  })

  test('takes a kind and a fingerprint as whole texts, without wildcards', async () => {
    const queue = randomUUID()
    await deadMail({ queue }, { fingerprint: 'b02c9e51b02c9e51' })
    const found = async (options: Parameters<typeof stint.dead.list>[0]) =>
      (await stint.dead.list({ queue, ...options })).dead.length
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
    await db.query('update stint.dead set replaced_by = id where id = any($1)', [[edited, both]])
    await db.query('update stint.dead set discarded_at = now() where id = any($1)', [[discarded, both]])
    const find = async (options: Parameters<typeof stint.dead.list>[0]) =>
      (await stint.dead.list({ queue, ...options })).dead.map(({ id }) => id)
    expect(await find({})).toEqual([open])
    expect(await find({ replaced: true })).toEqual([edited, open])
    expect(await find({ discarded: true })).toEqual([discarded])
    expect(await find({ discarded: true, replaced: true })).toEqual([both, discarded])
    expect((await stint.list({ queue })).jobs.map(({ id }) => id)).toEqual([edited, open])
  })

  test.each([{ limit: 0 }, { reason: 'bored' }, { before: 'x' }, { que: 'a' }, { discarded: 'yes' }])(
    'dead.list() refuses %j',
    async (options) => {
      await expect(stint.dead.list(options as never)).rejects.toMatchObject({ code: 'invalid-option' })
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

describe('replay', () => {
  test('a replay brings back the same job, with new attempts whose numbers go on', async () => {
    const enqueued = { priority: 9, correlationId: 'order 77', search: { tier: 'gold' }, attempts: 5 }
    const { id } = await stint.enqueue(
      mail,
      { to: 'ana' },
      { ...enqueued, deadline: '1h', timeout: '7s', idempotencyKey: 'mail 77' },
    )
    const before = await stint.get(id)
    await bury(db, id, { attempt: 5, epoch: 7 })
    expect(await stint.dead.replay(id)).toMatchObject({
      id,
      state: 'ready',
      epoch: 7,
      attempt: 5,
      attemptsBefore: 5,
      maxAttempts: 10,
      crashes: 0,
      progress: null,
      deadlineAt: null,
      startedAt: null,
      workerId: null,
      createdAt: before?.createdAt,
      priority: 9,
      correlationId: 'order 77',
      search: { to: 'ana', tier: 'gold' },
      key: 'ana',
      input: { to: 'ana' },
    })
    expect(await db.query('select options, failures from stint.job where id = $1', [id])).toEqual([
      { options: { timeoutMs: 7_000 }, failures: null },
    ])
    expect(await placesOf(id)).toEqual(['live'])
    expect(await stint.attempts(id)).toHaveLength(1)
    expect(await stint.enqueue(mail, { to: 'ana' }, { idempotencyKey: 'mail 77' })).toMatchObject({
      id,
      duplicate: true,
    })

    await bury(db, id, { attempt: 10, epoch: 12 })
    expect(await stint.dead.replay(id)).toMatchObject({ epoch: 12, attemptsBefore: 10, maxAttempts: 15 })
    expect(await stint.cancel(id)).toMatchObject({ attemptsBefore: 10 })
  })

  test('a replay with a delay waits for its time', async () => {
    const id = await deadMail()
    const job = await stint.dead.replay(id, { delay: '1h' })
    expect(job.state).toBe('scheduled')
    expect(job.runAt.getTime()).toBeGreaterThan(Date.now() + 3_500_000)
  })

  test('a replay of a live job, a discarded dead letter or an unknown id is refused', async () => {
    const { id } = await stint.enqueue(mail, { to: 'ana' })
    await expect(stint.dead.replay(id)).rejects.toMatchObject({
      code: 'state-changed',
      message: expect.stringContaining('is ready') as string,
    })
    await bury(db, id)
    await stint.dead.discard(id)
    await expect(stint.dead.replay(id)).rejects.toMatchObject({
      code: 'state-changed',
      message: expect.stringContaining('trash') as string,
    })
    await expect(stint.dead.replay(unknownId)).rejects.toMatchObject({ code: 'job-not-found' })
    await expect(stint.dead.replay('7')).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(stint.dead.replay(id, { dalay: 1 } as never)).rejects.toMatchObject({
      code: 'invalid-option',
    })
    await expect(stint.dead.replay(id, { input: {} } as never)).rejects.toMatchObject({
      code: 'invalid-option',
    })
  })

  test('a replay takes the unique key again, and is refused where a live job has it', async () => {
    const order = randomUUID()
    const { id } = await stint.enqueue(charge, { order })
    await bury(db, id)
    const second = await stint.enqueue(charge, { order })
    expect(second.duplicate).toBe(false)
    await expect(stint.dead.replay(id)).rejects.toMatchObject({
      code: 'duplicate-job',
      jobIds: [second.id],
      message: expect.stringContaining(second.id) as string,
    })
    expect(await placesOf(id)).toEqual(['dead'])
    await stint.cancel(second.id)
    await stint.dead.replay(id)
    expect(await stint.enqueue(charge, { order })).toMatchObject({ id, duplicate: true })
  })

  test('of 20 concurrent replays of a dead letter one succeeds', async () => {
    const id = await deadMail()
    const replays = await Promise.allSettled(Array.from({ length: 20 }, () => stint.dead.replay(id)))
    expect(replays.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const replay of replays)
      if (replay.status === 'rejected') expect(replay.reason).toMatchObject({ code: 'state-changed' })
    expect(await stint.get(id)).toMatchObject({ state: 'ready', maxAttempts: 10 })
    expect(await placesOf(id)).toEqual(['live'])
  })

  test('of a concurrent replay and discard exactly one succeeds, 20 times over', async () => {
    for (let round = 0; round < 20; round++) {
      const id = await deadMail()
      const [replayed, discarded] = await Promise.allSettled([stint.dead.replay(id), stint.dead.discard(id)])
      expect([replayed, discarded].filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      const job = await stint.get(id)
      expect(job?.state).toBe(replayed.status === 'fulfilled' ? 'ready' : 'dead')
      expect(await placesOf(id)).toHaveLength(1)
    }
  })

  test.each(['before', 'after'] as const)(
    'a replay whose connection dies %s its commit happens once and returns the job',
    async (when) => {
      const proxy = await startFaultProxy(db.url)
      const client = new Stint({ connection: proxy.url })
      const id = await deadMail()
      const cut = proxy.cutNext({ text: 'jobs/dead/replay.sql', when })
      expect(await client.dead.replay(id)).toMatchObject({ id, state: 'ready', maxAttempts: 10 })
      await cut
      await client.close()
    },
  )

  test('a replay whose reply is lost does not replay the next death of the job', async () => {
    const id = await deadMail({}, { epoch: 7 })
    // So that it has died again before a caller can ask.
    await db.query(`create function die_again() returns trigger language plpgsql as $$
      begin
        insert into stint.dead
          (id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version, queue, kind, reason)
        values (new.id, new.created_at, now(), new.epoch + 1, 6, 10, 0, 0, 1, new.queue, new.kind, 'permanent');
        delete from stint.job where id = new.id;
        return null;
      end $$`)
    await db.query(
      `create trigger die_again after insert on stint.job for each row when (new.id = '${id}') execute function die_again()`,
    )
    const proxy = await startFaultProxy(db.url)
    const client = new Stint({ connection: proxy.url })
    const cut = proxy.cutNext({ text: 'jobs/dead/replay.sql', when: 'after' })
    expect(await client.dead.replay(id)).toMatchObject({ state: 'dead', epoch: 8 })
    await cut
    await client.close()
    await db.query('drop trigger die_again on stint.job')
  })
})

describe('replay with another input', () => {
  test('a replay with another input makes a new job, and both jobs refer to each other', async () => {
    const { id: parentId } = await stint.enqueue(mail, { to: 'eve' })
    const id = await deadMail({ queue: 'vip', priority: 7, correlationId: 'order 9', timeout: '7s' })
    await db.query('update stint.dead set parent_id = $2 where id = $1', [id, parentId])
    const old = await stint.dead.get(id)
    const edited = await stint.dead.replay(id, { contract: mail, input: { to: 'bob' }, delay: '1h' })
    expect(edited).toMatchObject({
      state: 'scheduled',
      replaces: id,
      parentId,
      correlationId: 'order 9',
      queue: 'vip',
      priority: 7,
      input: { to: 'bob' },
      key: 'bob',
      search: { to: 'bob' },
      attempt: 0,
      maxAttempts: 5,
      epoch: 0,
    })
    expect(edited.id).not.toBe(id)
    expect(await stint.dead.get(id)).toEqual({ ...old, replacedBy: edited.id })
    expect(await db.query('select options from stint.job where id = $1', [edited.id])).toEqual([
      { options: { timeoutMs: 7_000 } },
    ])
    expect((await stint.dead.list({ queue: 'vip' })).dead).toEqual([])
    expect((await stint.dead.list({ queue: 'vip', replaced: true })).dead).toMatchObject([{ id }])
    for (const act of [
      () => stint.dead.replay(id),
      () => stint.dead.replay(id, { contract: mail, input: { to: 'eve' } }),
      () => stint.dead.discard(id),
    ])
      await expect(act()).rejects.toMatchObject({
        code: 'state-changed',
        message: expect.stringContaining(edited.id) as string,
      })
    expect(await stint.cancel(edited.id)).toMatchObject({ replaces: id })
  })

  test('a replay with another input keeps the key, search words and unique key that the enqueue had given', async () => {
    const id = await deadMail({ key: 'vip', search: { tier: 'gold' }, unique: { key: randomUUID() } })
    const [{ unique_key: uniqueKey } = { unique_key: '' }] = await db.query<{ unique_key: string }>(
      'select unique_key from stint.dead where id = $1',
      [id],
    )
    const edited = await stint.dead.replay(id, { contract: mail, input: { to: 'bob' } })
    expect(edited).toMatchObject({ key: 'vip', search: { to: 'bob', tier: 'gold' } })
    expect(await db.query('select unique_key from stint.job where id = $1', [edited.id])).toEqual([
      { unique_key: uniqueKey },
    ])
  })

  test('a replay with an input that does not fit the contract changes nothing', async () => {
    const id = await deadMail()
    await expect(stint.dead.replay(id, { contract: mail, input: { to: '' } })).rejects.toMatchObject({
      code: 'invalid-input',
      issues: [{ path: 'input.to' }],
    })
    await expect(stint.dead.replay(id, { contract: charge, input: {} })).rejects.toMatchObject({
      code: 'state-changed',
      message: expect.stringContaining("'mail.send'") as string,
    })
    expect(await stint.dead.get(id)).toMatchObject({ replacedBy: null })
  })

  test('a replay with another input is refused where a live job has the unique key of that input', async () => {
    const [order, other] = [randomUUID(), randomUUID()]
    const { id } = await stint.enqueue(charge, { order })
    await bury(db, id)
    const holder = await stint.enqueue(charge, { order: other })
    await expect(stint.dead.replay(id, { contract: charge, input: { order: other } })).rejects.toMatchObject({
      code: 'duplicate-job',
      jobIds: [holder.id],
    })
    expect(await stint.dead.get(id)).toMatchObject({ replacedBy: null })
    const edited = await stint.dead.replay(id, { contract: charge, input: { order, amount: 3 } })
    expect(await stint.enqueue(charge, { order })).toMatchObject({ id: edited.id, duplicate: true })
  })

  test('20 concurrent replays with another input make one job', async () => {
    const correlationId = randomUUID()
    const id = await deadMail({ correlationId })
    const edits = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) =>
        stint.dead.replay(id, { contract: mail, input: { to: `user${n}` } }),
      ),
    )
    expect(edits.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect((await stint.list({ correlationId })).jobs.filter(({ state }) => state !== 'dead')).toHaveLength(1)
  })

  test.each(['before', 'after'] as const)(
    'a replay with another input whose connection dies %s its commit makes one job',
    async (when) => {
      const correlationId = randomUUID()
      const id = await deadMail({ correlationId })
      const proxy = await startFaultProxy(db.url)
      const client = new Stint({ connection: proxy.url })
      const cut = proxy.cutNext({ text: 'commit', when })
      const edited = await client.dead.replay(id, { contract: mail, input: { to: 'bob' } })
      await cut
      expect(await client.dead.get(id)).toMatchObject({ replacedBy: edited.id })
      expect((await client.list({ correlationId })).jobs).toHaveLength(2)
      await client.close()
    },
  )

  test('a replay with a large input moves it to the blob store, and back', async () => {
    const text = 'x'.repeat(100_000)
    const { id } = await stint.enqueue(mail, { to: 'ana', text })
    await bury(db, id)
    expect(await stint.dead.get(id)).toMatchObject({ input: { to: 'ana', text } })
    const edited = await stint.dead.replay(id, { contract: mail, input: { to: 'bob', text } })
    expect(edited).toMatchObject({ input: { to: 'bob', text }, inputBlob: expect.any(String) as string })

    const second = await stint.enqueue(mail, { to: 'ana', text })
    await bury(db, second.id)
    expect(await stint.dead.replay(second.id)).toMatchObject({ input: { to: 'ana', text } })
    expect(await stint.pruneBlobs({ grace: 0 })).toEqual({ unused: 0, orphaned: 0 })

    await bury(db, edited.id)
    const small = await stint.dead.replay(edited.id, { contract: mail, input: { to: 'eve' } })
    expect(small).toMatchObject({ inputBlob: null, replaces: edited.id })
    await expect(
      stint.dead.replay(edited.id, { contract: mail, input: { to: 'zoe', text } }),
    ).rejects.toMatchObject({ code: 'state-changed' })
    expect(await stint.pruneBlobs({ grace: 0 })).toEqual({ unused: 0, orphaned: 0 })
  })
})

describe('discard and restore', () => {
  test('discard and restore move a dead letter into the trash and out of it, and a repeat changes nothing', async () => {
    const queue = randomUUID()
    const id = await deadMail({ queue })
    const { discardedAt } = await stint.dead.discard(id)
    expect(discardedAt).toBeInstanceOf(Date)
    expect(await stint.dead.discard(id)).toMatchObject({ discardedAt })
    expect((await stint.dead.list({ queue })).dead).toEqual([])
    expect((await stint.dead.list({ queue, discarded: true })).dead).toMatchObject([{ id, discardedAt }])
    expect(await stint.dead.restore(id)).toMatchObject({ discardedAt: null })
    expect(await stint.dead.restore(id)).toMatchObject({ discardedAt: null, input: { to: 'ana' } })
    expect((await stint.dead.list({ queue })).dead).toMatchObject([{ id }])
  })

  test('discard and restore of a live job or an unknown id are refused', async () => {
    const { id } = await stint.enqueue(mail, { to: 'ana' })
    for (const change of [(of: string) => stint.dead.discard(of), (of: string) => stint.dead.restore(of)]) {
      await expect(change(id)).rejects.toMatchObject({ code: 'state-changed' })
      await expect(change(unknownId)).rejects.toMatchObject({ code: 'job-not-found' })
      await expect(change('7')).rejects.toMatchObject({ code: 'invalid-option' })
    }
  })
})

describe('logs', () => {
  test('logs are read in order: all, from a line on, of one attempt, or the last ones', async () => {
    const { id } = await stint.enqueue(mail, { to: 'ana' })
    await db.query(
      `insert into stint.log (job_id, epoch, line, level, message, data)
       select $1, epoch, line, 'info', epoch || '/' || line, '{"a": 1}'
         from generate_series(1, 2) as epoch, generate_series(1, 3) as line`,
      [id],
    )
    const read = async (options?: Parameters<typeof stint.logs>[1]) =>
      (await stint.logs(id, options)).map(({ message }) => message)
    expect(await read()).toEqual(['1/1', '1/2', '1/3', '2/1', '2/2', '2/3'])
    expect(await read({ epoch: 1 })).toEqual(['1/1', '1/2', '1/3'])
    expect(await read({ last: true, limit: 2 })).toEqual(['2/2', '2/3'])
    const lines = await stint.logs(id, { limit: 2 })
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
    await expect(stint.logs(id, { tail: 3 } as never)).rejects.toMatchObject({ code: 'invalid-option' })
  })
})
