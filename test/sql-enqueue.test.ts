import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'

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

async function enqueue(
  queue: string,
  kind: string,
  input: unknown,
  options: unknown = {},
): Promise<{ id: string; duplicate: boolean; replaced: boolean }> {
  const [row] = await db.query<{ id: string; duplicate: boolean; replaced: boolean }>(
    'select * from stint.enqueue($1, $2, $3, $4)',
    [...[queue, kind, JSON.stringify(input), JSON.stringify(options)]],
  )
  if (row === undefined) throw new Error('stint.enqueue() gave no row')
  return row
}

/** A number inside so many objects and arrays. */
function nested(levels: number): string {
  const pairs = Math.floor(levels / 2)
  const [open, close] = levels % 2 === 0 ? ['', ''] : ['[', ']']
  return open + '{"a":['.repeat(pairs) + '1' + ']}'.repeat(pairs) + close
}

describe('stint.enqueue()', () => {
  test('stint.enqueue() stores what the library would store', async () => {
    const { id, duplicate } = await enqueue(
      'media',
      'image.resize',
      { imageId: 'a' },
      {
        delay: '5m',
        priority: 3,
        key: 'acme',
        attempts: 2,
        timeout: '10s',
        version: 4,
        deadline: '1 hour',
        search: { b: '2', a: '1' },
        correlationId: 'c',
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      },
    )
    expect(duplicate).toBe(false)
    const job = await stint.get(id)
    expect(job).toMatchObject({
      state: 'scheduled',
      queue: 'media',
      kind: 'image.resize',
      priority: 3,
      key: 'acme',
      maxAttempts: 2,
      version: 4,
      search: { a: '1', b: '2' },
      correlationId: 'c',
      input: { imageId: 'a' },
    })
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/)
    expect(Number(job?.deadlineAt) - Number(job?.runAt)).toBe(3_600_000)
  })

  test('stint.enqueue() reads numbers as milliseconds, as the library does, and accepts an empty search', async () => {
    const { id } = await enqueue(
      'q',
      'k',
      {},
      { delay: 60_000, runAt: null, search: {}, unique: { key: null } },
    )
    const job = await stint.get(id)
    expect(Number(job?.runAt) - Number(job?.createdAt)).toBe(60_000)
  })

  test('stint.enqueue() accepts numbers and booleans to search by, a time as deadline, and an input of 100 levels', async () => {
    const deadline = new Date(Date.now() + 3_600_000)
    const search = { age: 7, share: 0.5, isPaid: true, country: 'BR' }
    const input: unknown = JSON.parse(nested(100))
    const { id } = await enqueue('q', 'k', input, { search, deadline: deadline.toISOString() })
    const job = defineJob({ kind: 'k', queue: 'q' })
    const twin = await stint.enqueue(job, input, { search, deadline })
    const [one, other] = [await stint.get(id), await stint.get(twin.id)]
    expect(one).toMatchObject({ search: { age: '7', share: '0.5', isPaid: 'true', country: 'BR' }, input })
    expect(one?.deadlineAt).toEqual(deadline)
    expect({ search: one?.search, deadlineAt: one?.deadlineAt, input: one?.input }).toEqual({
      search: other?.search,
      deadlineAt: other?.deadlineAt,
      input: other?.input,
    })
    await expect(stint.enqueue(job, JSON.parse(nested(101)))).rejects.toThrow('deeper than 100 levels')
  })

  test('stint.enqueue() stores cost, order and timeout together, as the library does', async () => {
    const { id } = await enqueue('q', 'k', 1, { cost: 7, order: 'hold', key: 'a', timeout: '5s' })
    const job = defineJob({ kind: 'k', queue: 'q', key: () => 'a', order: 'key', cost: () => 7 })
    const twin = await stint.enqueue(job, 1, { timeout: '5s' })
    const [one, other] = await Promise.all(
      [id, twin.id].map(async (each) => db.query('select options from stint.job where id = $1', [each])),
    )
    expect(one).toEqual([{ options: { cost: 7, ordered: 'hold', timeoutMs: 5_000 } }])
    expect(one).toEqual(other)
  })

  test('stint.enqueue() needs no more than queue and kind', async () => {
    const [row] = await db.query<{ id: string }>(`select (stint.enqueue('q', 'k')).id`)
    expect(await stint.get(row?.id ?? '')).toMatchObject({ state: 'ready', input: null, maxAttempts: 5 })
  })

  test('stint.enqueue() shares unique jobs and idempotency keys with the library', async () => {
    const queue = randomUUID()
    const job = defineJob({ kind: 'k', queue })
    const bySql = await enqueue(queue, 'k', { a: 1, b: [2] }, { unique: {} })
    expect(await stint.enqueue(job, { b: [2], a: 1 }, { unique: {} })).toMatchObject({
      id: bySql.id,
      duplicate: true,
    })
    const byLibrary = await stint.enqueue(job, { n: 1 }, { idempotencyKey: queue })
    expect(await enqueue(queue, 'k', { n: 1 }, { idempotencyKey: queue })).toEqual({
      id: byLibrary.id,
      duplicate: true,
      replaced: false,
    })
    expect(await enqueue(queue, 'k', { a: 9 }, { unique: { key: 'x', for: '1h' } })).toMatchObject({
      duplicate: false,
    })
    expect(await enqueue(queue, 'k', { a: 9 }, { unique: { key: 'x', for: '1h' } })).toMatchObject({
      duplicate: true,
    })
  })

  test('stint.enqueue() raises ST001 and ST002 with the other job in the detail', async () => {
    const queue = randomUUID()
    const first = await enqueue(queue, 'k', 1, { unique: { key: 'a' }, idempotencyKey: queue })
    await expect(enqueue(queue, 'k', 1, { unique: { key: 'a', onConflict: 'error' } })).rejects.toMatchObject(
      { code: 'ST001', detail: first.id },
    )
    await expect(enqueue(queue, 'k', 2, { idempotencyKey: queue })).rejects.toMatchObject({
      code: 'ST002',
      detail: first.id,
    })
  })

  test('stint.enqueue() runs in a trigger, with the row that caused it', async () => {
    await db.query('create table note (id integer primary key, text text)')
    await db.query(`create function embed_note() returns trigger language plpgsql as $$
      begin
        perform stint.enqueue('notes', 'note.embed', jsonb_build_object('noteId', new.id));
        return new;
      end $$`)
    await db.query('create trigger embed after insert on note for each row execute function embed_note()')
    await db.query(`insert into note values (1, 'a'), (2, 'b')`)
    await expect(db.query(`insert into note values (3, 'c'), (1, 'again')`)).rejects.toThrow()
    const { jobs } = await stint.list({ queue: 'notes' })
    const inputs = await Promise.all(jobs.map(async ({ id }) => (await stint.get(id))?.input))
    expect(inputs.sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))).toEqual([
      { noteId: 1 },
      { noteId: 2 },
    ])
  })

  const hour = new Date(Date.now() - 3_600_000).toISOString()
  test.each<[unknown[], RegExp]>([
    [['bad queue', 'k', '1', '{}'], /expected queue to match/],
    [['q', '', '1', '{}'], /expected kind to match/],
    [[null, 'k', '1', '{}'], /expected queue to match.*got null/],
    [['q', 'k', JSON.stringify('x'.repeat(262_145)), '{}'], /at most 256 KiB/],
    [['q', 'k', '1', '[]'], /options to be a JSON object/],
    [['q', 'k', '1', '{"prio": 1}'], /only runAt, delay.*got prio/],
    [['q', 'k', '1', '{"timeout": 0}'], /timeout to be an interval/],
    [['q', 'k', '1', '{"priority": 101}'], /priority to be an integer from -100 to 100, got 101/],
    [['q', 'k', '1', '{"priority": 1.5}'], /priority to be an integer/],
    [['q', 'k', '1', '{"priority": "1"}'], /priority to be an integer/],
    [['q', 'k', '1', '{"cost": 0}'], /cost to be an integer from 1/],
    [['q', 'k', '1', '{"order": "key", "key": "a"}'], /order to be "hold" or "pass"/],
    [['q', 'k', '1', '{"order": "hold"}'], /key to be given with order/],
    [['q', 'k', '1', '{"order": "hold", "key": "a", "delay": 1}'], /order to be given without runAt, delay/],
    [['q', 'k', '1', '{"delay": "soon"}'], /delay to be an interval/],
    [['q', 'k', '1', '{"delay": "-1h"}'], /delay to be an interval/],
    [['q', 'k', '1', '{"delay": "11 years"}'], /delay to be an interval/],
    [['q', 'k', '1', `{"runAt": "${hour}"}`], /runAt to be an ISO 8601 time with a zone, from now on/],
    [['q', 'k', '1', '{"runAt": "9999-01-01T00:00:00Z"}'], /runAt to be an ISO 8601/],
    [['q', 'k', '1', '{"runAt": "2030-13-45T00:00:00Z"}'], /runAt to be an ISO 8601/],
    [['q', 'k', '1', '{"runAt": "2030-01-01T00:00:00Z", "delay": "1s"}'], /runAt or delay, not both/],
    [['q', 'k', '1', `{"key": "${'k'.repeat(513)}"}`], /key to be a string of 1 to 512 bytes/],
    [['q', 'k', '1', '{"key": ""}'], /key to be a string/],
    [['q', 'k', '1', '{"unique": {"until": "never"}}'], /unique.until/],
    [['q', 'k', '1', '{"unique": {"onConflict": "x"}}'], /unique.onConflict/],
    [['q', 'k', '1', '{"unique": {"keys": "x"}}'], /only key, until, for and onConflict/],
    [['q', 'k', '1', '{"unique": {"until": "started", "for": "1h"}}'], /until or for, not both/],
    [['q', 'k', '1', '{"runAt": "2030-01-01T00:00:00"}'], /with a zone/],
    [['q', 'k', '1', '{"traceparent": "00-abc"}'], /traceparent to be a W3C traceparent/],
    [['q', 'k', '1', '{"search": {"a b": "x"}}'], /search to have names/],
    [['q', 'k', '1', '{"search": {"a": [1]}}'], /search.a to be a string, number or boolean/],
    [['q', 'k', '1', '{"search": {"a": ""}}'], /search.a to be a string, number or boolean/],
    [['q', 'k', '1', `{"deadline": "${hour}"}`], /deadline to be an ISO 8601 time/],
    [
      ['q', 'k', '1', '{"runAt": "2030-01-02T00:00:00Z", "deadline": "2030-01-01T00:00:00Z"}'],
      /deadline to be later than runAt/,
    ],
    [['q', 'k', nested(101), '{}'], /input to be nested at most 100 levels deep/],
  ])('stint.enqueue() refuses %j with 22023', async (args, message) => {
    await expect(db.query('select stint.enqueue($1, $2, $3, $4)', args)).rejects.toMatchObject({
      code: '22023',
      message: expect.stringMatching(message) as string,
    })
  })
})
