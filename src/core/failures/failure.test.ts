import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StintError } from '../errors.ts'
import { classifyFailure, failureClasses } from './failure.ts'
import type { FailureClass } from './failure.ts'
import { PermanentError, RetryAfter } from './verdict.ts'

const coded = (code: unknown): Error => Object.assign(new Error('x'), { code })
const status = (of: object): Error => Object.assign(new Error('x'), of)
const abort = (cause?: unknown): Error =>
  Object.assign(new Error('This operation was aborted', { cause }), { name: 'AbortError', code: 'ABORT_ERR' })

describe('classifyFailure', () => {
  test.each<[string, unknown, FailureClass]>([
    ['the reason of AbortSignal.timeout()', new DOMException('x', 'TimeoutError'), 'timeout'],
    ['an abort about a deadline', abort(new DOMException('x', 'TimeoutError')), 'timeout'],
    ['an abort about anything else', abort(), 'unknown'],
    ['ETIMEDOUT', coded('ETIMEDOUT'), 'timeout'],
    [
      'a timeout of undici',
      new TypeError('fetch failed', { cause: coded('UND_ERR_HEADERS_TIMEOUT') }),
      'timeout',
    ],
    ['statement_timeout', coded('57014'), 'timeout'],
    ['a gateway that gave up', status({ status: 504 }), 'timeout'],
    ['a server that gave up', status({ response: { status: 408 } }), 'timeout'],
    ['ECONNRESET', coded('ECONNRESET'), 'connection'],
    [
      'fetch that did not connect',
      new TypeError('fetch failed', { cause: coded('ECONNREFUSED') }),
      'connection',
    ],
    ['all addresses refused', new AggregateError([coded('ECONNREFUSED'), coded('ETIMEDOUT')]), 'connection'],
    ['a socket that closed under undici', coded('UND_ERR_SOCKET'), 'connection'],
    ['a wrong argument to undici', coded('UND_ERR_INVALID_ARG'), 'unknown'],
    ['a lost connection to Postgres', coded('08006'), 'connection'],
    ['a Postgres that shuts down', coded('57P01'), 'connection'],
    ['a Postgres without connections', coded('53300'), 'connection'],
    ['our own database away', new StintError('database-unavailable', 'x'), 'connection'],
    ['a bad gateway', status({ statusCode: 502 }), 'connection'],
    ['a service away', status({ status: 503 }), 'connection'],
    ['a service that says when', status({ status: 503, headers: { 'Retry-After': '5' } }), 'rate-limited'],
    ['too many requests', status({ response: { status: 429 } }), 'rate-limited'],
    ['serialization', coded('40001'), 'conflict'],
    ['deadlock', new Error('query failed', { cause: coded('40P01') }), 'conflict'],
    ['lock not available', coded('55P03'), 'conflict'],
    ['a conflict of Prisma', coded('P2034'), 'conflict'],
    ['an input that does not pass', new StintError('invalid-input', 'x'), 'invalid'],
    ['an input of another version', new StintError('contract-mismatch', 'x'), 'contract'],
    ['a missing blob', new StintError('blob-missing', 'x'), 'unknown'],
    ['a PermanentError', new PermanentError('x'), 'permanent'],
    ['a PermanentError about a connection', new PermanentError('x', { cause: coded('EPIPE') }), 'permanent'],
    ['a RetryAfter', new RetryAfter('5s'), 'unknown'],
    ['unauthorized', status({ status: 401 }), 'unknown'],
    ['not found', status({ status: 404 }), 'unknown'],
    ['a failure of theirs', status({ status: 500 }), 'unknown'],
    ['unique violation', coded('23505'), 'unknown'],
    ['a number for a code', coded(40001), 'unknown'],
    ['an ordinary error', new Error('connect ECONNREFUSED 10.0.0.1'), 'unknown'],
    ['text', 'ETIMEDOUT', 'unknown'],
    ['null', null, 'unknown'],
    ['an object', { code: 'EPIPE' }, 'connection'],
  ])('classifyFailure knows %s', (_what, thrown, expected) => {
    expect(classifyFailure(thrown)).toBe(expected)
  })

  test("classifyFailure does not call a job's input invalid because of a cause that refused another input", () => {
    const cause = new StintError('invalid-input', 'x')
    expect(classifyFailure(new Error('could not enqueue the mail', { cause }))).toBe('unknown')
  })

  test('classifyFailure asks the contract first', () => {
    const classify = (error: unknown): FailureClass | undefined =>
      error instanceof TypeError ? 'permanent' : undefined
    expect(classifyFailure(new TypeError('x'), classify)).toBe('permanent')
    expect(classifyFailure(coded('EPIPE'), classify)).toBe('connection')
  })

  test('classifyFailure decides by itself where the contract’s function throws or returns no class', () => {
    const throws = (): never => {
      throw new Error('bug')
    }
    expect(classifyFailure(coded('EPIPE'), throws)).toBe('connection')
    expect(classifyFailure(coded('EPIPE'), () => 'flaky' as FailureClass)).toBe('connection')
  })

  test('classifyFailure follows a few causes, and stops in a cycle', () => {
    const cycle = new Error('a')
    cycle.cause = new Error('b', { cause: cycle })
    expect(classifyFailure(cycle)).toBe('unknown')
    let deep: Error = coded('EPIPE')
    for (let level = 0; level < 4; level++) deep = new Error('x', { cause: deep })
    expect(classifyFailure(deep)).toBe('connection')
    expect(classifyFailure(new Error('x', { cause: deep }))).toBe('unknown')
  })

  test('classifyFailure has a class for any thrown value', () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no')
        },
      },
    )
    expect(classifyFailure(hostile)).toBe('unknown')
    expect(classifyFailure({ cause: hostile, errors: hostile, code: 'EPIPE' })).toBe('connection')
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        expect(failureClasses).toContain(classifyFailure(thrown))
      }),
    )
  })
})
