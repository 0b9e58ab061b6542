import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, isStintError, Stint } from '../src/index.ts'
import type { JobOptions } from '../src/index.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { form } from './support/form.ts'

const anything = defineJob({ kind: 'hostile.any', queue: 'hostile' })

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

/** The error of a call that must be refused. */
async function refusal(input: unknown, options?: JobOptions): Promise<unknown> {
  return stint.enqueue(anything, input, options).then(
    () => 'stored',
    (error: unknown) => error,
  )
}

describe('an input that cannot be stored', () => {
  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  let deep: unknown = 0
  for (let level = 0; level < 101; level++) deep = { deep }

  test.each<[string, unknown, string]>([
    ['NUL', { text: 'a\0b' }, 'input.text'],
    ['half a surrogate pair', { text: '\udc00' }, 'input.text'],
    ['bigint', { n: 1n }, 'input.n'],
    ['NaN', { n: Number.NaN }, 'input.n'],
    ['a function', { f: () => 1 }, 'input.f'],
    ['undefined in a list', { list: [1, undefined] }, 'input.list[1]'],
    ['a cycle', cycle, 'input.self'],
    ['depth 101', deep, `input${'.deep'.repeat(100)}`],
  ])('an input with %s is refused with its path', async (_what, input, path) => {
    expect(await refusal(input)).toMatchObject({ code: 'invalid-input', issues: [{ path }] })
  })

  test('an input of 256 KiB is accepted, and one byte more is refused with a hint at claim-check storage', async () => {
    const largest = 'x'.repeat(256 * 1024 - 2)
    expect(await refusal(largest)).toBe('stored')
    expect(await refusal(`${largest}x`)).toMatchObject({
      code: 'invalid-input',
      message: expect.stringMatching(/262,145 bytes.*blob store/s) as string,
    })
    expect(await refusal('ü'.repeat(131_073))).toMatchObject({ code: 'invalid-input' })
  })

  test('an input of a hundred megabytes is refused without reading all of it', async () => {
    expect(await refusal(Array.from({ length: 20 }, () => 'x'.repeat(5_000_000)))).toMatchObject({
      code: 'invalid-input',
    })
  })

  test('an input that fails its schema is refused with each field', async () => {
    const strict = defineJob({ kind: 'strict', input: z.object({ a: z.string(), b: z.array(z.number()) }) })
    await expect(stint.enqueue(strict, { a: 1, b: [1, 'x'] } as never)).rejects.toMatchObject({
      code: 'invalid-input',
      issues: [{ path: 'input.a' }, { path: 'input.b[1]' }],
    })
  })
})

describe('an invalid option', () => {
  const now = Date.now()
  test.each<[JobOptions, string]>([
    [{ runAt: new Date(now - 120_000) }, 'options.runAt'],
    [{ runAt: new Date(Number.NaN) }, 'options.runAt'],
    [{ runAt: new Date(now + 11 * 366 * 86_400_000) }, 'options.runAt'],
    [{ runAt: 'tomorrow' }, 'options.runAt'],
    [{ runAt: '2030-01-01T00:00:00' }, 'options.runAt'],
    [{ runAt: '9999-12-31T23:59:59Z' }, 'options.runAt'],
    [{ runAt: 5 as never }, 'options.runAt'],
    [{ runAt: new Date(), delay: 1 }, 'options.runAt'],
    [{ delay: '5 minutes' }, 'options.delay'],
    [{ delay: -1 }, 'options.delay'],
    [{ delay: Infinity }, 'options.delay'],
    [{ priority: 101 }, 'options.priority'],
    [{ priority: Number.NaN }, 'options.priority'],
    [{ queue: 'no spaces' }, 'options.queue'],
    [{ queue: '' }, 'options.queue'],
    [{ key: '' }, 'options.key'],
    [{ key: 'k'.repeat(513) }, 'options.key'],
    [{ key: 'a\0' }, 'options.key'],
    [{ key: '\ud800' }, 'options.key'],
    [{ key: 7 as never }, 'options.key'],
    [{ attempts: 0 }, 'options.attempts'],
    [{ timeout: 0 }, 'options.timeout'],
    [{ deadline: new Date(0) }, 'options.deadline'],
    [{ correlationId: 'c'.repeat(257) }, 'options.correlationId'],
    [{ traceparent: 'abc' }, 'options.traceparent'],
    [{ tracestate: '' }, 'options.tracestate'],
    [{ idempotencyKey: '' }, 'options.idempotencyKey'],
    [{ idempotencyKey: 'x', idempotencyFor: 'soon' }, 'options.idempotencyFor'],
    [{ unique: { key: '' } }, 'options.unique.key'],
    [{ unique: { for: '1h', until: 'started' } }, 'options.unique'],
    [{ unique: { onconflict: 'keep' } as never }, 'options.unique.onconflict'],
    [{ search: { 'a b': 'x' } }, 'options.search'],
    [{ search: { a: '' } }, 'options.search.a'],
    [{ search: Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`n${n}`, n])) }, 'options.search'],
    [{ prioritty: 3 } as never, 'options.prioritty'],
  ])('the option %j is refused, naming %s', async (options, path) => {
    expect(await refusal({}, options)).toMatchObject({ code: 'invalid-input', issues: [{ path }] })
  })
})

const nasty = fc.oneof(
  fc.constantFrom(
    '\0',
    '\ud800',
    '\udfff\ud800',
    '__proto__',
    'constructor',
    "'; drop table stint.job; --",
    '\\',
    '\\u0000',
    '$1',
    ':x',
    '?',
    '"',
    '😀',
    '\u2028',
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ unit: 'grapheme-composite', maxLength: 10 }),
)
const leaf = fc.oneof(
  nasty,
  fc.double(),
  fc.bigInt(),
  fc.date({ noInvalidDate: false }),
  fc.constantFrom<unknown>(
    undefined,
    null,
    true,
    Number.NaN,
    Infinity,
    -0,
    5e-324,
    1.7976931348623157e308,
    Symbol('s'),
    () => 1,
  ),
  fc.constantFrom<unknown>(
    new Map([[1, 2]]),
    new Set([1]),
    new Uint8Array(3),
    /x/,
    new Error('e'),
    new Proxy({}, {}),
    Object.create(null),
  ),
)
const hostileValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(nasty, tie('value'), { maxKeys: 4, noNullPrototype: false }),
  ),
})).value

const hostileOptions: fc.Arbitrary<JobOptions> = fc.record(
  {
    priority: fc.oneof(fc.integer({ min: -200, max: 200 }), leaf),
    key: fc.oneof(nasty, leaf),
    queue: fc.oneof(fc.constant('hostile'), nasty),
    delay: fc.oneof(fc.constantFrom('1s', '5m', '1y', ''), leaf),
    correlationId: nasty,
    tracestate: nasty,
    idempotencyKey: nasty,
    search: fc.dictionary(nasty, leaf, { maxKeys: 3 }),
    unique: fc.oneof(
      fc.constant(false),
      fc.record({ key: nasty, for: fc.constantFrom('1h', 'x') }, { requiredKeys: [] }),
    ),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JobOptions>

/** Counts and checks the outcome of many hostile calls: stored whole and unchanged, or refused with a StintError. */
async function judge(
  values: readonly { input: unknown; options: JobOptions }[],
): Promise<{ stored: number; refused: number }> {
  const settled = await Promise.allSettled(
    values.map(({ input, options }) => stint.enqueue(anything, input, options)),
  )
  const stored: { id: string; duplicate: boolean; input: unknown }[] = []
  for (const [index, outcome] of settled.entries()) {
    if (outcome.status === 'fulfilled') stored.push({ ...outcome.value, input: values[index]?.input })
    else if (!isStintError(outcome.reason)) throw outcome.reason
    else expect(['invalid-input', 'idempotency-conflict']).toContain(outcome.reason.code)
    if (outcome.status === 'rejected' && isStintError(outcome.reason))
      expect(outcome.reason.message).not.toContain('The database')
  }
  const own = stored.filter(({ duplicate }) => !duplicate)
  // Compared by Postgres: JSON.parse of V8 13.6 (Node 24) returns another key where one is a lone escape, as "\\".
  const kept = await db.query<{ id: string; same: boolean }>(
    `select job.id, job.input = expected.text::jsonb as same
       from unnest($1::uuid[], $2::text[]) as expected (id, text)
       join stint.job on job.id = expected.id`,
    [own.map(({ id }) => id), own.map(({ input }) => JSON.stringify(input ?? null))],
  )
  expect(kept).toHaveLength(own.length)
  expect(kept.filter(({ same }) => !same)).toEqual([])
  return { stored: stored.length, refused: settled.length - stored.length }
}

const batches = form === 'short' ? 2 : 20
const batchSize = 5_000

test(`each of ${batches * batchSize} random hostile values is stored whole or refused with a typed error`, async () => {
  const total = { stored: 0, refused: 0 }
  const calls = fc.record({
    input: hostileValue,
    options: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: hostileOptions }),
  })
  const before = await db.query<{ n: number }>('select count(*)::integer as n from stint.job')
  for (let batch = 0; batch < batches; batch++) {
    const { stored, refused } = await judge(
      fc.sample(calls, { numRuns: batchSize, seed: 20_260_000 + batch }),
    )
    total.stored += stored
    total.refused += refused
  }
  expect(total.stored + total.refused).toBe(batches * batchSize)
  // A property that refuses everything, or nothing, would prove nothing.
  expect(total.stored).toBeGreaterThan((batches * batchSize) / 10)
  expect(total.refused).toBeGreaterThan((batches * batchSize) / 10)
  const after = await db.query<{ n: number }>('select count(*)::integer as n from stint.job')
  expect(after[0]?.n).toBeLessThanOrEqual((before[0]?.n ?? 0) + total.stored)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
}, 300_000)
