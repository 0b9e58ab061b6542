import fc from 'fast-check'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import type { Job } from '../../src/index.ts'
import { CancelJob, PermanentError, RetryAfter, Snooze } from '../../src/worker.ts'
import type { HandlerContext } from '../../src/worker.ts'
import { silent } from '../../src/worker/report/log.ts'
import { form } from '../support/form.ts'
import { newJob, startFor, startWorker, stored, workerScene } from '../support/workers.ts'
import type { TestWorker } from '../support/workers.ts'

const scene = workerScene()
/** Length of a text that is far beyond every limit. */
const hugeLength = form === 'short' ? 5_000_000 : 50_000_000

const cycle: Record<string, unknown> = { name: 'cycle' }
cycle['self'] = cycle

/*
 * prefetch is 0: some values keep the process busy for seconds. A prefetched job that waits for that long would be
 * given back and claimed a second time.
 */

/** Runs one job for each value, returning or throwing it, and returns the jobs as they ended. */
async function endingsOf(values: readonly unknown[], how: 'return' | 'throw'): Promise<Job[]> {
  const run = await runnerOf(() => values, how)
  return run.all()
}

interface Runner {
  worker: TestWorker
  all: () => Promise<Job[]>
}

async function runnerOf(values: () => readonly unknown[], how: 'return' | 'throw'): Promise<Runner> {
  const job = newJob(how)
  const worker = await startWorker(
    scene,
    { queues: { [job.queue]: { concurrency: 50, prefetch: 0 } } },
    (one) =>
      one.handle(job, (input) => {
        const value = values()[input as number]
        if (how === 'return') return value
        throw value
      }),
  )
  const all = async (): Promise<Job[]> => {
    const { jobs } = await scene.stint.enqueueMany(job, values().keys(), { attempts: 1 })
    for (const { id } of jobs) await worker.hears(how === 'return' ? 'succeeded' : 'dead', id)
    return Promise.all(jobs.map(({ id }) => stored(scene, id)))
  }
  return { worker, all }
}

const throwing = (): never => {
  throw new Error('do not look')
}
const unreadable = new Proxy(
  {},
  {
    get: throwing,
    ownKeys: throwing,
    getPrototypeOf: throwing,
    has: throwing,
    getOwnPropertyDescriptor: throwing,
  },
)
const { proxy: revoked, revoke } = Proxy.revocable({}, {})
revoke()

describe('a result', () => {
  test('a result is stored as JSON, and undefined is stored as null', async () => {
    const values = [
      { url: '/1', at: new Date(0), skipped: undefined },
      [1, 'two', null],
      'text',
      7,
      false,
      '',
    ]
    const jobs = await endingsOf([...values, null, undefined], 'return')
    expect(jobs.map(({ result }) => result)).toEqual([
      { url: '/1', at: '1970-01-01T00:00:00.000Z' },
      ...[[1, 'two', null], 'text', 7, false, '', null, null],
    ])
  })

  test('a result that JSON or Postgres cannot hold is stored in the nearest form, and the job succeeds', async () => {
    const values = {
      bigint: { n: 12345678901234567890n },
      numbers: [Number.NaN, Number.NEGATIVE_INFINITY],
      cycle,
      nul: { 'k\0': 'a\0b' },
      surrogates: ['\ud800', 'x\udfff'],
      map: new Map([['a', new Set([1, 2])]]),
      bytes: Buffer.from('secret'),
      error: new TypeError('wrong'),
      unreadable: { inside: unreadable },
      proto: JSON.parse('{"__proto__": {"x": 1}}') as unknown,
    }
    const jobs = await endingsOf(Object.values(values), 'return')
    const results = jobs.map(({ result }, place) => [Object.keys(values)[place], result])
    expect(Object.fromEntries(results)).toEqual({
      bigint: { n: '12345678901234567890' },
      numbers: ['NaN', '-Infinity'],
      cycle: { name: 'cycle', self: '[circular]' },
      nul: { 'k\ufffd': 'a\ufffdb' },
      surrogates: ['\ufffd', 'x\ufffd'],
      map: { a: [1, 2] },
      bytes: '<6 bytes>',
      error: { name: 'TypeError', message: 'wrong' },
      unreadable: { inside: '[unreadable]' },
      proto: JSON.parse('{"__proto__": {"x": 1}}') as unknown,
    })
  })

  test('a result of megabytes is cut and marked as cut', async () => {
    const [text, list] = await endingsOf(
      ['x'.repeat(5_000_000), Array.from({ length: 300_000 }, () => 'y')],
      'return',
    )
    for (const job of [text, list]) {
      expect(job?.state).toBe('succeeded')
      expect(job?.result).toMatchObject({ 'stint:cut': true, start: expect.any(String) as string })
      expect(JSON.stringify(job?.result).length).toBeLessThanOrEqual(256 * 1024)
    }
  })
})

describe('what a handler throws', () => {
  test('any thrown value is stored: null, text, a frozen object, a Proxy, a revoked Proxy, a cycle of causes', async () => {
    const first = new Error('first')
    const second = new Error('second', { cause: first })
    first.cause = second
    const values = {
      null: null,
      undefined: undefined,
      text: 'just text',
      number: 42,
      symbol: Symbol('s'),
      frozen: Object.freeze(new Error('frozen')),
      unreadable,
      revoked,
      tail: first,
      nul: new Error('a\0b \ud800'),
      hostile: Object.defineProperty(new Error('x'), 'message', { get: throwing }),
      lookalike: { name: 'StintError', code: 'lease-lost', message: 'I am not' },
    }
    const jobs = await endingsOf(Object.values(values), 'throw')
    const messages = jobs.map(({ error }, place) => [
      Object.keys(values)[place],
      (error as { message: string }).message,
    ])
    expect(Object.fromEntries(messages)).toEqual({
      null: 'null was thrown',
      undefined: 'undefined was thrown',
      text: 'just text',
      number: '42 was thrown',
      symbol: 'null was thrown',
      frozen: 'frozen',
      unreadable: '"[unreadable]" was thrown',
      revoked: '"[unreadable]" was thrown',
      tail: 'first',
      nul: 'a\ufffdb \ufffd',
      hostile: '',
      lookalike: 'I am not',
    })
    expect(jobs.every(({ state, reason }) => state === 'dead' && reason === 'exhausted')).toBe(true)
  })

  test('a thrown error of 50 megabytes is cut to 8 KiB of text, 32 KiB of stack and ten causes', async () => {
    const many = Array.from({ length: 30 }).reduce<Error>(
      (cause, _, n) => new Error(`${n} ${'z'.repeat(10_000)}`, { cause }),
      new Error('root'),
    )
    const [huge, chain] = await endingsOf([new Error('x'.repeat(hugeLength)), many], 'throw')
    const sizeOf = (job: Job | undefined, name: 'message' | 'stack'): number =>
      String((job?.error as Record<string, unknown>)[name]).length
    expect(sizeOf(huge, 'message')).toBeLessThanOrEqual(8 * 1024)
    expect(sizeOf(huge, 'stack')).toBeLessThanOrEqual(32 * 1024)
    expect((chain?.error as { causes: unknown[] }).causes).toHaveLength(10)
    expect(JSON.stringify(chain?.error).length).toBeLessThan(80_000)
  })
})

const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc
    .array(fc.constantFrom('\0', '\ud800', '\udc00', '\\', '"', '\u2028', '😀', 'a'), { maxLength: 20 })
    .map((each) => each.join('')),
  fc.constantFrom('__proto__', 'constructor', 'toJSON', 'then', 'x'.repeat(300_000)),
)
const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    maxDepth: 4,
    key: hostileText,
    values: [hostileText, fc.double(), fc.bigInt(), fc.constantFrom(undefined, null, Number.NaN, cycle)],
  }),
  fc.record({
    name: hostileText,
    message: hostileText,
    stack: hostileText,
    code: hostileText,
    cause: fc.anything(),
  }),
  fc.tuple(hostileText, hostileText).map(([message, cause]) => new Error(message, { cause })),
  fc.array(hostileText).map(
    (texts) =>
      new AggregateError(
        texts.map((text) => new Error(text)),
        'many',
      ),
  ),
  fc.constantFrom(cycle, Object.freeze({}), Object.create(null)),
)

test.each(['return', 'throw'] as const)(
  'handlers that %s 300 values of any shape are settled at the first attempt without trouble',
  async (how) => {
    let values: readonly unknown[] = []
    const { worker, all } = await runnerOf(() => values, how)
    const property = fc.asyncProperty(
      fc.array(hostileValue, { minLength: 50, maxLength: 50 }),
      async (some) => {
        // JavaScript awaits a value that happens to be thenable; this test is not about that.
        values = [...some, unreadable, { inside: unreadable }, [revoked]].filter(
          (value) => how === 'throw' || !isThenable(value),
        )
        for (const job of await all()) expect(job).toMatchObject({ attempt: 1, epoch: 1 })
      },
    )
    await fc.assert(property, { numRuns: 6, endOnFailure: true })
    // stop() also writes the last counters: errors are counted by their message.
    await worker.worker.stop()
    expect(worker.told('trouble')).toEqual([])
  },
)

/** Functions, because some values are large. */
const hostileValues: Record<string, () => unknown> = {
  NUL: () => ({ 'key\0': 'a\0b' }),
  'NUL in text': () => 'a\0b',
  'half a surrogate pair': () => ['\ud800', '\udfff', 'x\ud83d'],
  'the other half in text': () => 'y\udc00',
  'pairs wherever it is cut': () => '😀'.repeat(200_000),
  'pairs beside where it is cut': () => `x${'😀'.repeat(200_000)}`,
  cycle: () => cycle,
  bigint: () => ({ n: 2n ** 80n }),
  'bare bigint': () => 1n,
  'not a number': () => [Number.NaN, Infinity, -0],
  'megabytes of text': () => 'x'.repeat(hugeLength),
  'a list without end': () => Array.from({ length: hugeLength / 50 }, (_, n) => n),
  'ten thousand levels': () => Array.from({ length: 10_000 }).reduce<unknown>((inner) => ({ inner }), 'deep'),
  'ten thousand lists': () => Array.from({ length: 10_000 }).reduce<unknown>((inner) => [inner], 'deep'),
  'toJSON that throws': () => ({ toJSON: throwing }),
  'toJSON that gives itself': () => {
    const self = { toJSON: (): unknown => self }
    return self
  },
  'a getter that throws': () => Object.defineProperty({}, 'x', { get: throwing, enumerable: true }),
  'a Proxy that throws': () => ({ inside: unreadable }),
  'a bare Proxy that throws': () => [unreadable],
  'a revoked Proxy': () => [revoked],
  function: () => throwing,
  symbol: () => Symbol('s'),
  'a Map of Maps': () => new Map([[{}, new Map([['\0', new Set([1n])]])]]),
  bytes: () => Buffer.alloc(5_000_000),
  'an invalid date': () => new Date(Number.NaN),
  'an Error': () => new Error('m\0', { cause: cycle }),
  'megabytes of an Error': () => new Error('z'.repeat(hugeLength)),
  'null prototype': () => Object.assign(Object.create(null) as object, { __proto__: 1 }),
  __proto__: () => JSON.parse('{"__proto__": {"x": 1}, "constructor": null}') as unknown,
  nothing: () => undefined,
}

/** Every way in which a handler can store a value. The casts allow what plain JavaScript allows. */
const outputs: Record<string, (value: unknown, ctx: HandlerContext) => unknown> = {
  'a result': (value) => value,
  'the result of ctx.tx': (value, ctx) => ctx.tx(() => Promise.resolve(value)),
  'the result of ctx.complete': async (value, ctx) => {
    const client = new pg.Client(scene.db.url)
    await client.connect()
    try {
      await client.query('begin')
      await ctx.complete(client, { result: value })
      await client.query('commit')
    } finally {
      await client.end()
    }
  },
  'the result of ctx.once': (value, ctx) => ctx.once(ctx.jobId, () => Promise.resolve(value)),
  'a note of progress': (value, ctx) => ctx.progress(50, value as string),
  'a percentage': (value, ctx) => ctx.progress(value as number),
  'a line of log': (value, ctx) => {
    ctx.log.info(value as string)
  },
  'data of a line': (value, ctx) => {
    ctx.log.error('with data', value)
  },
  'what is thrown': (value) => {
    throw value
  },
  'its cause': (value) => {
    throw new Error('outer', { cause: value })
  },
  'its name, code and stack': (value) => {
    throw Object.assign(new Error('odd'), { name: value, code: value, stack: value })
  },
  'a permanent error': (value) => {
    throw new PermanentError(value as string, { cause: value })
  },
  'a retry that says when': (value) => {
    throw new RetryAfter('1h', value as string)
  },
  'a reason to cancel': (value) => {
    throw new CancelJob(value as string)
  },
  'a reason to snooze': (value) => {
    throw new Snooze('1h', value as string)
  },
}

const endings = ['succeeded', 'failed', 'dead', 'cancelled', 'snoozed'] as const
const names = Object.keys(hostileValues)

describe.each(Object.entries(outputs))('%s', (_what, put) => {
  test('any value is accepted: every job ends at the first attempt, and the stored size is bounded', async () => {
    const job = newJob('put')
    const worker = await startWorker(
      scene,
      { queues: { [job.queue]: { concurrency: 4, prefetch: 0 } } },
      (one) => one.handle(job, (input, ctx) => put(hostileValues[input as string]?.(), ctx)),
    )
    const { jobs } = await scene.stint.enqueueMany(job, names, { attempts: 1 })
    const isOver = (id: string): boolean =>
      endings.some((name) => worker.told(name).some((fact) => fact.id === id))
    await worker.until(() => jobs.every(({ id }) => isOver(id)), 'every ending')
    await worker.worker.stop()
    expect(worker.told('trouble')).toEqual([])
    expect(worker.told('leaseLost')).toEqual([])
    for (const [index, { id }] of jobs.entries()) {
      const kept = await stored(scene, id)
      expect({ name: names[index], epoch: kept.epoch }).toEqual({ name: names[index], epoch: 1 })
      expect(JSON.stringify(kept).length).toBeLessThan(400_000)
      const [said] = await scene.db.query<{ bytes: number }>(
        `select (select coalesce(sum(pg_column_size(log.*)), 0) from stint.log where job_id = $1)::integer
              + (select coalesce(sum(pg_column_size(attempt.*)), 0) from stint.attempt where job_id = $1)::integer as bytes`,
        [id],
      )
      expect(said?.bytes).toBeLessThan(100_000)
    }
  })
})

test('a result that was changed adds a warning to the log of its job, and an unchanged result adds none', async () => {
  const job = newJob('flagged')
  const ways = ['a result', 'the result of ctx.tx', 'the result of ctx.complete']
  const worker = await startWorker(scene, { queues: { [job.queue]: 4 } }, (one) =>
    one.handle(job, (input, ctx) => {
      const { way, isFine } = input as { way: string; isFine: boolean }
      return outputs[way]?.(isFine ? { n: 1, at: new Date(0) } : { n: 1n, self: cycle, text: '\0' }, ctx)
    }),
  )
  for (const way of ways) {
    const fine = await scene.stint.enqueue(job, { way, isFine: true })
    const odd = await scene.stint.enqueue(job, { way, isFine: false })
    await worker.hears('succeeded', fine.id)
    await worker.hears('succeeded', odd.id)
    expect(await scene.stint.logs(fine.id)).toEqual([])
    const lines = await scene.stint.logs(odd.id)
    expect(lines).toMatchObject([{ level: 'warn' }])
    expect(lines[0]?.message).toBe(
      'The result is not stored as it was returned: a bigint became text; a cycle was cut; NUL or half a surrogate pair was replaced.',
    )
  }
})

describe('a changed value adds one warning for each attempt to the log of its job', () => {
  const long = 'x'.repeat(hugeLength)
  const odd = { n: 1n, self: cycle, text: '\0' }
  const replaced = 'NUL or half a surrogate pair was replaced'
  const changes = `a bigint became text; a cycle was cut; ${replaced}`
  test.each<[way: string, value: unknown, line: string]>([
    ['a note of progress', 'a\0b', `A note of progress is not stored as it was given: ${replaced}.`],
    ['a note of progress', long, 'A note of progress is not stored as it was given: cut to 1024 bytes.'],
    ['a note of progress', odd, `A note of progress is not stored as it was given: ${changes}.`],
    ['a line of log', '\ud800', `A line of this log is not stored as it was given: ${replaced}.`],
    [
      'a line of log',
      `\0${long}`,
      `A line of this log is not stored as it was given: ${replaced}; cut to 8192 bytes.`,
    ],
    ['data of a line', odd, `A line of this log is not stored as it was given: ${changes}.`],
    [
      'data of a line',
      long,
      'A line of this log is not stored as it was given: far more than 8192 bytes were cut.',
    ],
    ['the result of ctx.once', odd, `What ctx.once gave is not stored as it was returned: ${changes}.`],
  ])('%s (%#)', async (way, value, line) => {
    const job = newJob('flagged')
    const said: string[] = []
    const logger = { ...silent, warn: (_fields: object, message: string) => void said.push(message) }
    const worker = await startFor(
      scene,
      job,
      async (_input, ctx) => {
        await outputs[way]?.(value, ctx)
        await outputs[way]?.(value, ctx)
      },
      { log: logger },
    )
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    const told = (await scene.stint.logs(id)).filter(({ level }) => level === 'warn')
    expect(told.map(({ message }) => message)).toEqual([line])
    expect(said).toEqual([line])
  })

  test('an unchanged value adds no warning, nor does an Error in the data of a log line', async () => {
    const job = newJob('unflagged')
    const worker = await startFor(scene, job, async (_input, ctx) => {
      for (const value of ['text', 7, { at: new Date(0), list: [null, '😀'] }]) {
        ctx.log.info(value as string, value)
        await ctx.progress(1, value as string)
        await ctx.once(JSON.stringify(value), () => Promise.resolve(value))
      }
      ctx.log.error('failed', { error: new Error('as every day') })
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect((await scene.stint.logs(id)).map(({ level }) => level)).toEqual(['info', 'info', 'info', 'error'])
  })

  test('a thrown value that is not an Error and was changed is marked as cut in the stored error', async () => {
    const [fine, odd] = await endingsOf([{ n: 1 }, { n: 1n }], 'throw')
    expect(fine?.error).not.toHaveProperty('cut')
    expect(odd?.error).toMatchObject({ cut: true, thrown: { n: '1' } })
  })
})

function isThenable(value: unknown): boolean {
  try {
    return typeof (value as { then?: unknown } | null)?.then === 'function'
  } catch {
    return true
  }
}
