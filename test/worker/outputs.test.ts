import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Job } from '../../src/index.ts'
import { form } from '../support/form.ts'
import { newJob, startWorker, stored, workerScene } from '../support/workers.ts'
import type { TestWorker } from '../support/workers.ts'
import { cycle, hugeLengthIn, revoked, throwing, unreadable } from './output-scene.ts'

const scene = workerScene()
const hugeLength = hugeLengthIn(form)

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
  // prefetch is 0: some values keep the process busy for seconds. A prefetched job that waits for that long would be
  // given back and claimed a second time.
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

  test('a thrown value that is not an Error and was changed is marked as cut in the stored error', async () => {
    const [fine, odd] = await endingsOf([{ n: 1 }, { n: 1n }], 'throw')
    expect(fine?.error).not.toHaveProperty('cut')
    expect(odd?.error).toMatchObject({ cut: true, thrown: { n: '1' } })
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

function isThenable(value: unknown): boolean {
  try {
    return typeof (value as { then?: unknown } | null)?.then === 'function'
  } catch {
    return true
  }
}
