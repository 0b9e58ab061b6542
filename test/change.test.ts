import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, Stint } from '../src/index.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { isOutOf } from './support/lane.ts'

const mail = defineJob({
  kind: 'mail.send',
  queue: 'mail',
  input: z.object({ to: z.string().min(3) }),
  key: (input) => input.to,
  search: (input) => ({ to: input.to }),
})

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

async function running(): Promise<string> {
  const { id } = await stint.enqueue(mail, { to: 'ana' })
  await db.query(
    `update stint.job set state = 'running', worker_id = gen_random_uuid(), lease_id = gen_random_uuid() where id = $1`,
    [id],
  )
  return id
}

const unknownId = '01890000-0000-7000-8000-000000000000'

describe('cancel', () => {
  test('cancel moves a waiting job to history with the reason, and a repeat changes nothing', async () => {
    const { id } = await stint.enqueue(mail, { to: 'ana' }, { delay: '1h' })
    expect(await stint.cancel(id, { reason: 'customer left' })).toMatchObject({
      id,
      state: 'cancelled',
      reason: 'customer left',
      key: 'ana',
      input: { to: 'ana' },
      finishedAt: expect.any(Date) as Date,
    })
    expect(await db.query('select id from stint.job where id = $1', [id])).toEqual([])
    expect(await stint.cancel(id)).toMatchObject({ state: 'cancelled', reason: 'customer left' })
  })

  test("cancel makes the day's partition when it is missing", async () => {
    await db.query(`do $$ declare p text; begin
      for p in select inhrelid::regclass::text from pg_inherits where inhparent = 'stint.finished'::regclass loop execute 'drop table ' || p; end loop; end $$`)
    const { id } = await stint.enqueue(mail, { to: 'ana' })
    expect(await stint.cancel(id)).toMatchObject({ state: 'cancelled' })
  })
})

describe('a change to a job that runs or does not exist', () => {
  const changes: [string, (id: string) => Promise<unknown>][] = [
    ['reschedule', (id) => stint.reschedule(id, { delay: '1h' })],
    ['reprioritize', (id) => stint.reprioritize(id, 5)],
    ['update', (id) => stint.update(mail, id, { to: 'bob' })],
  ]
  test.each(changes)('%s of a running or unknown job is refused', async (_verb, change) => {
    await expect(change(await running())).rejects.toMatchObject({
      code: 'state-changed',
      message: expect.stringContaining('is running') as string,
    })
    await expect(change(unknownId)).rejects.toMatchObject({ code: 'job-not-found' })
    await expect(change('7')).rejects.toMatchObject({ code: 'invalid-option' })
  })

  test('cancel asks a running job to stop, and is refused for an unknown job', async () => {
    expect(await stint.cancel(await running())).toMatchObject({
      state: 'running',
      cancelRequestedAt: expect.any(Date) as Date,
    })
    await expect(stint.cancel(unknownId)).rejects.toMatchObject({ code: 'job-not-found' })
    await expect(stint.cancel('7')).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(stint.cancel(unknownId, { wait: 'long' as never })).rejects.toMatchObject({
      code: 'invalid-option',
    })
  })
})

describe('reschedule', () => {
  test('reschedule moves a job to later and back to now', async () => {
    const { id } = await stint.enqueue(mail, { to: 'ana' })
    const runAt = new Date(Date.now() + 7_200_000)
    expect(await stint.reschedule(id, { runAt })).toMatchObject({ state: 'scheduled', runAt })
    expect(await stint.reschedule(id, { delay: 0 })).toMatchObject({ state: 'ready' })
  })

  test('reschedule of a retry keeps it a retry', async () => {
    const { id } = await stint.enqueue(mail, { to: 'ana' })
    await db.query(
      `update stint.job set state = 'retrying', epoch = 1, run_at = now() + interval '1 hour' where id = $1`,
      [id],
    )
    expect(await stint.reschedule(id, { delay: '2h' })).toMatchObject({ state: 'retrying' })
    expect(await stint.reschedule(id, { delay: 0 })).toMatchObject({ state: 'ready' })
  })

  test('reschedule to an invalid time is refused', async () => {
    const { id } = await stint.enqueue(mail, { to: 'ana' })
    await expect(stint.reschedule(id, { runAt: 'tomorrow' })).rejects.toMatchObject({
      code: 'invalid-option',
    })
    await expect(stint.reschedule(id, {} as never)).rejects.toMatchObject({ code: 'invalid-option' })
  })
})

test('reprioritize changes the priority of a job', async () => {
  const { id } = await stint.enqueue(mail, { to: 'ana' })
  expect(await stint.reprioritize(id, 42)).toMatchObject({ priority: 42 })
  await expect(stint.reprioritize(id, 1_000)).rejects.toMatchObject({ code: 'invalid-option' })
})

describe('update', () => {
  test('update changes the input and the values derived from it', async () => {
    const { id } = await stint.enqueue(mail, { to: 'ana' })
    expect(await stint.update(mail, id, { to: 'bob' })).toMatchObject({
      input: { to: 'bob' },
      key: 'bob',
      search: { to: 'bob' },
    })
  })

  test('update keeps the values that the enqueue had given', async () => {
    const queue = randomUUID()
    const own = { queue, key: 'vip', search: { to: 'zoe', tier: 'gold' }, unique: { key: 'mine' } }
    const { id } = await stint.enqueue(mail, { to: 'ana' }, own)
    expect(await stint.update(mail, id, { to: 'bob' })).toMatchObject({
      input: { to: 'bob' },
      key: 'vip',
      search: { to: 'bob', tier: 'gold' },
    })
    expect(await stint.enqueue(mail, { to: 'eve' }, { queue, unique: { key: 'mine' } })).toMatchObject({
      id,
      duplicate: true,
    })
  })

  test('update is refused where the input changed meanwhile, so that derived values match the input', async () => {
    const { id } = await stint.enqueue(mail, { to: 'ana' })
    const updates = await Promise.allSettled(
      ['bob', 'eve', 'zoe'].map((to) => stint.update(mail, id, { to })),
    )
    const job = await stint.get(id)
    expect(updates.some(({ status }) => status === 'fulfilled')).toBe(true)
    for (const update of updates)
      if (update.status === 'rejected') expect(update.reason).toMatchObject({ code: 'state-changed' })
    expect(job?.key).toBe((job?.input as { to: string }).to)
  })

  test('update repairs a job whose old input the contract cannot read', async () => {
    const [row] = await db.query<{ id: string }>(`select id from stint.enqueue('mail', 'mail.send', 'null')`)
    expect(await stint.update(mail, row?.id ?? '', { to: 'bob' })).toMatchObject({
      input: { to: 'bob' },
      key: 'bob',
    })
  })

  test('update to the current input is no error, because its own first try may have done it', async () => {
    const { id } = await stint.enqueue(mail, { to: 'ana' })
    await stint.update(mail, id, { to: 'bob' })
    expect(await stint.update(mail, id, { to: 'bob' })).toMatchObject({ input: { to: 'bob' } })
  })

  test('update checks the input and the kind against the contract', async () => {
    const { id } = await stint.enqueue(mail, { to: 'ana' })
    await expect(stint.update(mail, id, { to: '' })).rejects.toMatchObject({
      code: 'invalid-input',
      issues: [{ path: 'input.to' }],
    })
    await expect(stint.update(defineJob({ kind: 'other' }), id, {})).rejects.toMatchObject({
      code: 'contract-mismatch',
    })
    expect(await stint.get(id)).toMatchObject({ input: { to: 'ana' } })
  })

  test('update changes the unique key, and refuses one that is taken', async () => {
    const queue = randomUUID()
    const one = await stint.enqueue(mail, { to: 'ana' }, { queue, unique: {} })
    await stint.enqueue(mail, { to: 'bob' }, { queue, unique: {} })
    await expect(stint.update(mail, one.id, { to: 'bob' })).rejects.toMatchObject({ code: 'duplicate-job' })
    await stint.update(mail, one.id, { to: 'eve' })
    expect(await stint.enqueue(mail, { to: 'eve' }, { queue, unique: {} })).toMatchObject({
      id: one.id,
      duplicate: true,
    })
    expect(await stint.enqueue(mail, { to: 'ana' }, { queue, unique: {} })).toMatchObject({
      duplicate: false,
    })
  })
})

test('every call on an unreachable database rejects with a typed error', async () => {
  const lost = new Stint({ connection: 'postgres://nobody@127.0.0.1:1/nothing', timeout: '200ms' })
  const calls = [
    () => lost.get(unknownId),
    () => lost.list(),
    () => lost.cancel(unknownId),
    () => lost.migrate(),
    () => lost.migrationStatus(),
  ]
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'database-unavailable' })
  await lost.close()
})

test.skipIf(isOutOf('pgbouncer', 'it has its own words for that'))(
  'a database that does not exist is told apart from one without the tables of Stint',
  async () => {
    const url = new URL(db.url)
    url.pathname = '/no_such_database'
    const lost = new Stint({ connection: url.href })
    await expect(lost.list()).rejects.toMatchObject({
      code: 'database-rejected',
      message: expect.stringContaining('no_such_database') as string,
    })
    await lost.close()
  },
)

describe('list', () => {
  test('list pages through all jobs of a filter, newest first, each once', async () => {
    const queue = randomUUID()
    const { jobs } = await stint.enqueueMany(
      mail,
      Array.from({ length: 25 }, () => ({ to: 'ana' })),
      { queue },
    )
    const [cancelled = { id: '' }] = jobs
    await stint.cancel(cancelled.id)
    const seen: string[] = []
    for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
      const page = await stint.list({ queue, limit: 10, cursor })
      seen.push(...page.jobs.map(({ id }) => id))
      cursor = page.next
      expect(pages).toBeLessThan(4)
    }
    expect(seen).toEqual(jobs.map(({ id }) => id).reverse())
    expect((await stint.list({ queue, state: 'cancelled' })).jobs).toMatchObject([
      { id: cancelled.id, state: 'cancelled' },
    ])
    expect((await stint.list({ queue, state: ['ready', 'running'], limit: 200 })).jobs).toHaveLength(24)
  })

  test('list finds by kind, key and correlation', async () => {
    const queue = randomUUID()
    const root = await stint.enqueue(mail, { to: 'zoe' }, { queue })
    const child = await stint.enqueue(mail, { to: 'ana' }, { queue, correlationId: root.id })
    expect((await stint.list({ queue, key: 'zoe' })).jobs.map(({ id }) => id)).toEqual([root.id])
    expect((await stint.list({ correlationId: root.id })).jobs.map(({ id }) => id)).toEqual([
      child.id,
      root.id,
    ])
    expect((await stint.list({ queue, kind: 'other' })).jobs).toEqual([])
    expect((await stint.list({ queue, kind: 'mail.send' })).jobs).toHaveLength(2)
    for (const kind of ['mail.*', 'mail.%', 'mail_send', '*', ''])
      expect((await stint.list({ queue, kind })).jobs, kind).toEqual([])
  })

  test('list reads a bounded number of rows for a rare match, and says where to go on', async () => {
    const many = await createTestDatabase()
    const client = new Stint({ connection: many.url })
    const rare = await client.enqueue(mail, { to: 'ana' }, { queue: 'rare' })
    await client.enqueueMany(
      defineJob({ kind: 'common' }),
      Array.from({ length: 60_000 }, () => null),
    )
    const first = await client.list({ queue: 'rare' })
    expect(first).toMatchObject({ jobs: [], next: expect.any(String) as string })
    expect(await client.list({ queue: 'rare', cursor: first.next })).toMatchObject({
      jobs: [{ id: rare.id }],
      next: undefined,
    })
    await many.query(`with ended as (delete from stint.job where kind = 'common' returning *)
      insert into stint.finished (id, created_at, run_at, state, epoch, attempt, max_attempts, crashes, priority, version, queue, kind)
      select id, created_at, run_at, 'succeeded', 1, 1, 5, 0, 0, 1, queue, kind from ended`)
    expect(await client.list({ state: 'ready' })).toMatchObject({ jobs: [{ id: rare.id }], next: undefined })
    await client.close()
    await many.drop()
  })

  test('list leaves out the inputs of jobs', async () => {
    const [job] = (await stint.list({ limit: 1 })).jobs
    expect(job).not.toHaveProperty('input')
  })

  test.each([
    { limit: 0 },
    { limit: 201 },
    { state: 'done' },
    { cursor: 'x' },
    { que: 'a' },
    { queue: 'a\0' },
  ])('list refuses %j', async (options) => {
    await expect(stint.list(options as never)).rejects.toMatchObject({ code: 'invalid-option' })
  })
})
