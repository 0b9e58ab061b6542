import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isStorableText } from '../json/json.ts'
import { describeFailure } from './stored-error.ts'
import type { StoredError } from './stored-error.ts'

const failed = (thrown: unknown): StoredError =>
  describeFailure(thrown, { kind: 'mail.send', failureClass: 'unknown' })

describe('describeFailure', () => {
  test('describeFailure keeps name, message, stack and causes', () => {
    const cause = Object.assign(new TypeError('socket closed'), { code: 'EPIPE' })
    const error = Object.assign(new Error('could not send', { cause }), { code: 42 })
    expect(failed(error)).toEqual({
      class: 'unknown',
      name: 'Error',
      message: 'could not send',
      code: '42',
      stack: error.stack,
      causes: [{ name: 'TypeError', message: 'socket closed', code: 'EPIPE' }],
      fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
    })
  })

  test('describeFailure stores the status and URL of a thrown Response, without the query', () => {
    const response = new Response('no', { status: 503, statusText: 'Busy' })
    expect(failed(response)).toMatchObject({
      name: 'Response',
      message: '{"status":503,"statusText":"Busy"} was thrown',
      thrown: { status: 503, statusText: 'Busy' },
    })
    const like = Object.create({ status: 404, url: 'https://api.example.com/x?token=secret' }) as object
    expect(failed(like).thrown).toEqual({ status: 404, url: 'https://api.example.com/x' })
  })

  test('describeFailure names a class that did not set its name', () => {
    class PaymentRefused extends Error {}
    expect(failed(new PaymentRefused('x'))).toMatchObject({ name: 'PaymentRefused' })
    Object.defineProperty(PaymentRefused, 'name', { value: 'PaymentRefused$1' })
    expect(failed(new PaymentRefused('x'))).toMatchObject({ name: 'PaymentRefused' })
  })

  test.each<[string, unknown, Partial<StoredError>]>([
    ['text', 'boom', { name: 'string', message: 'boom', thrown: 'boom' }],
    ['null', null, { name: 'null', message: 'null was thrown', thrown: null }],
    ['undefined', undefined, { name: 'undefined', message: 'undefined was thrown', thrown: null }],
    ['a number', 7, { name: 'number', message: '7 was thrown', thrown: 7 }],
    ['an object', { a: 1 }, { name: 'Object', message: '{"a":1} was thrown', thrown: { a: 1 } }],
    [
      'an object that is nearly an error',
      { message: 'row level security', code: '42501' },
      { name: 'Object', message: 'row level security', code: '42501' },
    ],
  ])('describeFailure keeps a thrown %s', (_what, thrown, expected) => {
    expect(failed(thrown)).toMatchObject(expected)
  })

  test('describeFailure stores the errors of an AggregateError as causes', () => {
    const error = new AggregateError([new Error('a'), new Error('b')], 'all failed', {
      cause: new Error('c'),
    })
    expect(failed(error).causes.map(({ message }) => message)).toEqual(['c', 'a', 'b'])
  })

  test('describeFailure keeps at most ten causes, each once', () => {
    let chain = new Error('0')
    for (let level = 1; level < 30; level++) chain = new Error(`${level}`, { cause: chain })
    expect(failed(chain).causes).toHaveLength(10)
    const cycle = new Error('a')
    cycle.cause = new Error('b', { cause: cycle })
    expect(failed(cycle).causes.map(({ message }) => message)).toEqual(['b'])
  })

  test('describeFailure keeps the stack frames of an error with a message of megabytes, and marks the cut', () => {
    const stored = failed(new Error('x'.repeat(5_000_000)))
    expect(Buffer.byteLength(stored.message)).toBeLessThanOrEqual(8_192)
    expect(Buffer.byteLength(stored.stack ?? '')).toBeLessThanOrEqual(32_768)
    expect(stored.stack).toContain('stored-error.test.ts')
    expect(stored.cut).toBe(true)
  })

  test('describeFailure replaces characters that Postgres cannot store, and marks that', () => {
    const stored = failed(new Error('a\0b', { cause: new Error('\ud800') }))
    expect(stored).toMatchObject({ message: 'a\ufffdb', causes: [{ message: '\ufffd' }], cut: true })
  })

  test('describeFailure marks a thrown value that could not be stored as it is', () => {
    expect(failed({ amount: 1n })).toMatchObject({ thrown: { amount: '1' }, cut: true })
    expect(failed({ amount: 1 })).not.toHaveProperty('cut')
  })

  test('describeFailure gives the same failure of two jobs the same fingerprint', () => {
    const at = (id: number): StoredError => failed(new Error(`Order ${id} has no address`))
    expect(at(1).fingerprint).toBe(at(2_000).fingerprint)
  })

  test('describeFailure gives a storable error for any thrown value', () => {
    const text = fc.string({ unit: fc.constantFrom('\0', '\ud800', 'é', '😀', 'a', '\n    at x (y)') })
    const throwing = (): never => {
      throw new Error('no')
    }
    const hostile = fc.constantFrom<unknown>(
      new Proxy(new Error('x'), { get: throwing, getPrototypeOf: throwing, ownKeys: throwing }),
      Object.freeze(new Error('x')),
      Object.defineProperty(new Error('x'), 'message', { get: throwing }),
      Object.assign(new Error('x'), { name: 7, stack: {}, cause: null, errors: [1, null] }),
    )
    const like = fc.record({ name: text, message: text, stack: text, code: text, cause: fc.anything() })
    fc.assert(
      fc.property(fc.oneof(fc.anything(), hostile, like), (thrown) => {
        const stored = JSON.stringify(failed(thrown))
        expect(Buffer.byteLength(stored)).toBeLessThan(128 * 1024)
        JSON.parse(stored, (name, item: unknown) => {
          expect(isStorableText(name) && (typeof item !== 'string' || isStorableText(item))).toBe(true)
          return item
        })
      }),
      { numRuns: 500 },
    )
  })
})
