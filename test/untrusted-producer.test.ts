import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { createEmptyDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { upkeepByHand } from './support/history.ts'

// Roles belong to the whole server, so these have names of this file's own.
const schema = 'door_test'

let db: TestDatabase
let owner: Stint
let producer: pg.Pool
let client: Stint

beforeAll(async () => {
  db = await createEmptyDatabase()
  owner = new Stint({ connection: db.url, schema })
  await owner.migrate({ roles: true })
  await db.query('drop role if exists login_door')
  await db.query(`create role login_door login password 'secret' in role ${schema}_producer`)
  const url = new URL(db.url)
  url.username = 'login_door'
  url.password = 'secret'
  producer = new pg.Pool({ connectionString: url.href })
  client = new Stint({ connection: url.href, schema })
})
afterAll(async () => {
  await producer.end()
  await client.close()
  await owner.close()
  await db.query('drop role if exists login_door')
  await db.drop()
})

/** The SQLSTATE with which the producer is refused, or 'done'. */
async function answer(text: string, values: unknown[] = []): Promise<string> {
  return producer.query(text, values).then(
    () => 'done',
    (error: unknown) => (error instanceof pg.DatabaseError ? (error.code ?? '') : String(error)),
  )
}

async function stored(): Promise<number> {
  const [row] = await db.query<{ jobs: number }>(`select count(*)::integer as jobs from ${schema}.job`)
  return row?.jobs ?? -1
}

const badNames = [
  '',
  ' ',
  'a b',
  'a\nb',
  '-a',
  'ü',
  '\u001b[31m',
  '\u202e',
  'k'.repeat(129),
  'k'.repeat(1_000_000),
]
const badTimes = ['infinity', '-infinity', '294276-01-01', '10000-01-01Z', '1999-12-31Z', '0044-03-15 BC']
const word = 'w'.repeat(321)

/** Values that Stint's clients never write, for each column that a producer may write. */
const hostile: Record<string, readonly unknown[]> = {
  queue: badNames,
  kind: badNames,
  key: ['', 'k'.repeat(513), 'ü'.repeat(257)],
  state: ['running', 'succeeded', 'cancelled', 'dead'],
  run_at: badTimes,
  deadline_at: badTimes,
  input_blob: ['', '../../etc/passwd', 'inputs/2026-11-15/../..', 'b'.repeat(3_000)],
  correlation_id: ['', 'c'.repeat(257), 'c'.repeat(3_800)],
  traceparent: ['', 'x', '00-'.padEnd(55, 'Z'), '0'.repeat(3_000)],
  tracestate: ['', 's'.repeat(513)],
  search: [
    '{NULL}',
    '{a,NULL,b}',
    '[5:6]={a,b}',
    '{{a},{b}}',
    [`${word}w`],
    ['a', 'b', `${word}w`],
    Array.from({ length: 10 }, (_, n) => `n${n}`),
  ],
  options: [
    ...[
      'null',
      '7',
      '"x"',
      '[]',
      '{"timeoutMs":"abc"}',
      '{"timeoutMs":null}',
      '{"timeoutMs":0}',
      '{"timeoutMs":-5}',
    ],
    ...[
      '{"timeoutMs":1e300}',
      '{"timeoutMs":[1]}',
      '{"crashLimit":"x"}',
      '{"crashLimit":1.5}',
      '{"crashLimit":0}',
    ],
    ...['{"crashLimit":1e9}', '{"crashLimit":true}', '{"backoff":{}}'],
  ],
}

describe('a login with the rights of a producer', () => {
  test('a producer may write only columns that have hostile values in this file', async () => {
    const rows = await db.query<{ name: string }>(
      `select attname as name
         from pg_attribute
        where attrelid = '${schema}.job'::regclass and attnum > 0 and not attisdropped
          and has_column_privilege('login_door', attrelid, attnum, 'insert')`,
    )
    // A UUID column holds only UUIDs. The other columns are left to their readers (decision 28, hostile-rows.test.ts).
    const harmless = ['id', 'parent_id', 'flow_id', 'priority', 'max_attempts', 'version', 'input']
    expect(rows.map(({ name }) => name).sort()).toEqual([...Object.keys(hostile), ...harmless].sort())
  })

  test.each(Object.entries(hostile))('a producer stores no hostile %s', async (column, values) => {
    const before = await stored()
    const others = { id: randomUUID(), queue: 'q', kind: 'k' }
    for (const value of values) {
      const row: Record<string, unknown> = { ...others, [column]: value }
      const names = Object.keys(row)
      const places = names.map((_, index) => `$${index + 1}`)
      const statement = `insert into ${schema}.job (${names.join(', ')}) values (${places.join(', ')})`
      const code = await answer(statement, Object.values(row))
      expect(code, `${column} = ${JSON.stringify(value).slice(0, 60)}`).toBe('23514')
    }
    expect(await stored()).toBe(before)
  })

  test('a producer stores no hostile job through stint.enqueue_jobs()', async () => {
    const before = await stored()
    const plain = { queue: 'q', kind: 'k', input: 1, idempotencyKey: 'hostile' }
    for (const bad of [
      { queue: 'a b' },
      { kind: 'k'.repeat(1_000_000) },
      { key: '' },
      { runAt: 'infinity' },
      { runAt: '294276-01-01' },
      { delayMs: 1e15 },
      { delayMs: 1e300 },
      { deadlineAt: 'infinity' },
      { correlationId: 'c'.repeat(3_800) },
      { tokens: [null] },
      { options: { timeoutMs: 'abc' } },
      { inputBlob: '../x', inputDigest: 'ff' },
      { unique: { key: 'u'.repeat(1_000), until: 'finished' } },
      { unique: { key: 'u'.repeat(1_000_000), forMs: 1e300 } },
      { idempotencyScope: 's'.repeat(1_000_000) },
      { idempotencyKey: 'i'.repeat(1_000_000) },
    ]) {
      const job = { id: randomUUID(), ...plain, ...bad }
      const code = await answer(`select * from ${schema}.enqueue_jobs($1)`, [JSON.stringify([job])])
      expect(code, JSON.stringify(bad).slice(0, 60)).toMatch(/^(22|23|54)/)
    }
    for (const jobs of ['7', 'null', '{}', '[null]', '[7]', '[{}]', '[{"id":"x"}]'])
      expect(await answer(`select * from ${schema}.enqueue_jobs($1)`, [jobs]), jobs).not.toBe('42501')
    expect(await stored()).toBe(before)
    expect(await db.query(`select 1 from ${schema}.idempotency_key where key = 'hostile'`)).toEqual([])
  })

  test('a producer stores no hostile flow through stint.enqueue_flows()', async () => {
    const before = await stored()
    const group = { queue: 'q', kind: 'k', priority: 0, maxAttempts: 1, version: 1, inputs: [1], places: [0] }
    const node = { name: 'a', needs: 0, chances: 0 }
    const flowOf = (flow: object, nodeMembers: object = {}, groupMembers: object = {}): object => {
      const groups = [{ ...group, ids: [randomUUID()], ...groupMembers }]
      return { id: randomUUID(), name: 'hostile', nodes: [{ ...node, groups, ...nodeMembers }], ...flow }
    }
    for (const bad of [
      flowOf({ id: null }),
      flowOf({ name: 'n'.repeat(1_000_000) }),
      flowOf({ name: null }),
      flowOf({ uniqueKey: 'u'.repeat(1_000) }),
      flowOf({ nodes: [] }),
      flowOf({ nodes: null }),
      flowOf({ nodes: Array.from({ length: 1_001 }, () => node) }),
      flowOf({}, { name: '' }),
      flowOf({}, { needs: 100_000 }),
      flowOf({}, { needs: null }),
      flowOf({}, { groups: [] }),
      flowOf({}, { onEnded: ['x'] }),
      flowOf({}, {}, { queue: 'a b' }),
      flowOf({}, {}, { ids: [null] }),
      flowOf({}, {}, { delayMs: 1e300 }),
      flowOf({}, {}, { runAt: 'infinity' }),
      flowOf({}, {}, { options: { timeoutMs: 'abc' } }),
      flowOf({}, {}, { inputBlob: '../x' }),
    ]) {
      const code = await answer(`select * from ${schema}.enqueue_flows($1)`, [JSON.stringify([bad])])
      expect(code, JSON.stringify(bad).slice(0, 200)).toMatch(/^(22|23|54)/)
    }
    for (const flows of ['7', 'null', '{}', '[null]', '[7]', '[{}]', '[{"id":"x"}]', 'x'])
      expect(await answer(`select * from ${schema}.enqueue_flows($1)`, [flows]), flows).not.toBe('42501')
    expect(await stored()).toBe(before)
    expect(await db.query(`select from ${schema}.flow`)).toEqual([])
    expect(await db.query(`select from ${schema}.flow_node`)).toEqual([])
  })

  test('a producer gives no hostile jobs to an open flow', async () => {
    const id = randomUUID()
    const open = { id, name: 'open', nodes: [{ name: 'a', needs: 0, chances: 0, isOpen: true, groups: [] }] }
    await answer(`select * from ${schema}.enqueue_flows($1)`, [JSON.stringify([open])])
    const before = await stored()
    const group = { queue: 'q', kind: 'k', priority: 0, maxAttempts: 1, version: 1, inputs: [1], places: [0] }
    const add = (groups: string): Promise<unknown> =>
      answer(`select ${schema}.add_to_flow($1, 'a', $2)`, [id, groups])
    for (const bad of [
      { queue: 'a b' },
      { ids: [null] },
      { ids: ['x'] },
      { delayMs: 1e300 },
      { options: { references: 7 } },
    ])
      expect(
        await add(JSON.stringify([{ ...group, ids: [randomUUID()], ...bad }])),
        JSON.stringify(bad),
      ).toMatch(/^(22|23)/)
    for (const groups of ['7', 'null', '{}', '[null]', '[7]', '[{}]', 'x'])
      expect(await add(groups), groups).not.toBe('42501')
    expect(await stored()).toBe(before)
    expect(await db.query(`select total from ${schema}.flow_node where flow_id = $1`, [id])).toEqual([
      { total: 1 },
    ])
    await db.query(`delete from ${schema}.flow_node`)
    await db.query(`delete from ${schema}.flow`)
  })

  test('a producer holds no idempotency key for longer than ten years', async () => {
    const job = {
      id: randomUUID(),
      queue: 'q',
      kind: 'k',
      idempotencyKey: 'for ever',
      idempotencyForMs: 1e300,
    }
    await answer(`select * from ${schema}.enqueue_jobs($1)`, [JSON.stringify([job])])
    const held = await db.query(
      `select 1 from ${schema}.idempotency_key where key = 'for ever' and expires_at < now() + interval '11 years'`,
    )
    expect(held).toHaveLength(1)
  })
})

describe('jobs of the library', () => {
  const name = 'n'.repeat(128)
  const longest = '3652d'
  const large = defineJob({
    kind: name,
    queue: name,
    version: 32_767,
    priority: 100,
    retry: { attempts: 1_000, classes: { crash: { attempts: 100 } } },
  })
  const options = {
    delay: longest,
    deadline: longest,
    timeout: longest,
    key: 'k'.repeat(512),
    correlationId: 'c'.repeat(256),
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    tracestate: 's'.repeat(512),
    unique: { key: 'u'.repeat(512) },
    search: Object.fromEntries(
      Array.from({ length: 8 }, (_, n) => [`${n}`.padStart(64, '_'), 'v'.repeat(256)]),
    ),
  }

  test('a job at every limit is stored, and can be replayed again and again', async () => {
    const { id } = await client.enqueue(large, 1, options)
    for (let round = 0; round < 3; round++) {
      await db.query(
        `with gone as (delete from ${schema}.job where id = $1 returning *)
         insert into ${schema}.dead (id, created_at, run_at, epoch, attempt, max_attempts, attempts_before, crashes, priority,
                version, queue, kind, key, input, search, options, correlation_id, unique_key, reason)
         select id, created_at, run_at, epoch + 1, max_attempts, max_attempts, attempts_before, crashes, priority,
                version, queue, kind, key, input, search, options, correlation_id, unique_key, 'exhausted' from gone`,
        [id],
      )
      expect(await owner.dead.replay(id)).toMatchObject({ id, state: 'ready' })
    }
    // A job that replaces its input has as many attempts to come as the new call says.
    const replacing = {
      ...options,
      unique: { ...options.unique, onConflict: 'replace' as const },
      attempts: 7,
    }
    expect(await client.enqueue(large, 2, replacing)).toMatchObject({ id, replaced: true })
    expect(await owner.get(id)).toMatchObject({ attempt: 3_000, maxAttempts: 3_007 })
  })

  test('an input of 256 KiB of any shape is stored', async () => {
    for (const part of ['1', '[]', '{}', '0.5', 'true', '""', '"ü"', '1e9', '{"":1}']) {
      const times = Math.floor(262_142 / (Buffer.byteLength(part) + 1))
      const input = `[${Array.from({ length: times }, () => part).join(',')}]`
      const statement = `insert into ${schema}.job (id, queue, kind, input) values ($1, 'shapes', 'k', $2)`
      expect(await answer(statement, [randomUUID(), input]), part).toBe('done')
    }
  })

  test('a job that the database refuses fails alone, and the error names the constraint', async () => {
    const fine = defineJob({ kind: 'fine', queue: 'flush' })
    const wrong = { ...fine, queue: 'not a name' }
    const [before, guilty, after] = await Promise.allSettled([
      client.enqueue(fine, 1),
      client.enqueue(wrong, 2),
      client.enqueue(fine, 3),
    ])
    expect(before.status).toBe('fulfilled')
    expect(after.status).toBe('fulfilled')
    expect(guilty).toMatchObject({
      reason: {
        code: 'invalid-input',
        message: expect.stringContaining('job_name_check') as string,
        issues: [{ path: 'job_name_check' }],
      },
    })
    expect((await owner.list({ queue: 'flush' })).jobs).toHaveLength(2)
  })
})

describe('counts of enqueued jobs', () => {
  const process = randomUUID()
  const note = (rows: unknown, by = process, flush = 1): Promise<string> =>
    answer(`select ${schema}.note_enqueued($1, $2, $3)`, [by, flush, JSON.stringify(rows)])
  const minuteAt = (ms: number): string => new Date(Math.floor(ms / 60_000) * 60_000).toISOString()

  test('counts of enqueued jobs that no client would send are left out or limited', async () => {
    const minute = minuteAt(Date.now())
    const fine = { minute, queue: 'counted', kind: 'k', enqueued: 7 }
    const bad = [
      { ...fine, minute: 'infinity' },
      { ...fine, minute: '-infinity' },
      { ...fine, minute: minuteAt(Date.now() + 7_200_000) },
      { ...fine, minute: minuteAt(Date.now() - 2 * 86_400_000) },
      { ...fine, minute: new Date(Date.parse(minute) + 1).toISOString() },
      { ...fine, queue: 'a b' },
      { ...fine, kind: 'k'.repeat(1_000_000) },
      { ...fine, kind: null },
      { ...fine, enqueued: -5 },
    ]
    expect(await note([...bad, fine, { ...fine, queue: '(others)', kind: '(others)' }])).toBe('done')
    expect(await note([fine], '00000000-0000-0000-0000-000000000000')).toBe('done')
    expect(await note([{ ...fine, kind: 'huge', enqueued: 9_007_199_254_740_991 }])).toBe('done')
    const rows = await db.query(
      `select queue, kind, enqueued::float8 as enqueued from ${schema}.stat_minute order by queue, kind`,
    )
    expect(rows).toEqual([
      { queue: '(others)', kind: '(others)', enqueued: 7 },
      { queue: 'counted', kind: 'huge', enqueued: 1_000_000_000 },
      { queue: 'counted', kind: 'k', enqueued: 7 },
    ])
  })

  test('absurd stored counts break neither the roll-up nor the readers', async () => {
    await db.query(
      `insert into ${schema}.stat_minute (minute, queue, kind, process, flush, enqueued)
       select date_trunc('hour', now()) - interval '2 hours' + minute * interval '1 minute', 'absurd', 'k',
              gen_random_uuid(), 1, 9223372036854775807
         from generate_series(0, 1) as minute, generate_series(1, 2)`,
    )
    const hand = upkeepByHand(db.url, { schema })
    await hand.pass('roll-up')
    await hand.close()
    const left = await db.query(
      `select 1 from ${schema}.stat_minute where queue = 'absurd' and process <> '00000000-0000-0000-0000-000000000000'`,
    )
    expect(left).toEqual([])
    for (const step of ['5m', '1h']) {
      const { series } = await owner.stats({
        queue: 'absurd',
        from: new Date(Date.now() - 4 * 3_600_000),
        step,
      })
      expect(Math.max(...series.map(({ enqueued }) => enqueued)), step).toBeGreaterThan(1e14)
    }
    expect((await owner.view.totals()).length).toBeGreaterThan(0)
  })
})

test('an idempotency key of one queue says nothing about another queue', async () => {
  const [alpha, beta] = ['alpha', 'beta'].map((queue) => defineJob({ kind: 'scoped', queue })) as [
    ReturnType<typeof defineJob>,
    ReturnType<typeof defineJob>,
  ]
  const taken = await client.enqueue(beta, { n: 1 }, { idempotencyKey: 'order-7' })
  const own = await client.enqueue(alpha, { n: 2 }, { idempotencyKey: 'order-7' })
  expect(own).toMatchObject({ duplicate: false, queue: 'alpha' })
  expect(own.id).not.toBe(taken.id)
  expect(await client.enqueue(alpha, { n: 2 }, { idempotencyKey: 'order-7' })).toMatchObject({
    id: own.id,
    duplicate: true,
  })
  const { rows } = await producer.query(
    `select id, duplicate from ${schema}.enqueue('alpha', 'scoped', '{"n": 2}', '{"idempotencyKey": "order-7"}')`,
  )
  expect(rows).toEqual([{ id: own.id, duplicate: true }])
})

test('queue and kind names that join to the same text are different scopes of idempotency keys', async () => {
  const keyed = (queue: string, kind: string): Promise<string> =>
    answer(`select * from ${schema}.enqueue_jobs($1)`, [
      JSON.stringify([{ id: randomUUID(), queue, kind, input: 1, idempotencyKey: 'joined' }]),
    ])
  expect(await keyed('one', 'two')).toBe('done')
  // Refused for its name, and not as a duplicate of the job above.
  expect(await keyed('one two', '')).toBe('23514')
  expect(await keyed('one", "two', 'x')).toBe('23514')
})
