import { describe, expect, test } from 'vitest'
import { CancelJob, PermanentError, RetryAfter, Snooze, verdictOf } from './verdict.ts'

const nowMs = Date.UTC(2026, 0, 1)
const brand = Symbol.for('stint.verdict')

describe('a verdict', () => {
  test.each<[string, unknown, unknown]>([
    ['permanent', new PermanentError('no such customer'), { type: 'permanent' }],
    ['retry-after a duration', new RetryAfter('90s'), { type: 'retry-after', delayMs: 90_000 }],
    [
      'retry-after a moment',
      new RetryAfter(new Date(nowMs + 5_000)),
      { type: 'retry-after', delayMs: 5_000 },
    ],
    [
      'retry-after a moment that has passed',
      new RetryAfter(new Date(nowMs - 1)),
      { type: 'retry-after', delayMs: 0 },
    ],
    ['snooze', new Snooze('1h'), { type: 'snooze', delayMs: 3_600_000, reason: null }],
    [
      'snooze with a reason',
      new Snooze(50, 'market closed'),
      { type: 'snooze', delayMs: 50, reason: 'market closed' },
    ],
    ['cancel', new CancelJob('order withdrawn'), { type: 'cancel', reason: 'order withdrawn' }],
  ])('a verdict is recognized: %s', (_what, thrown, verdict) => {
    expect(verdictOf(thrown, nowMs)).toEqual(verdict)
  })

  test('a Snooze until a past time waits for a second, so that it does not spin', () => {
    expect(verdictOf(new Snooze(new Date(0)), nowMs)).toMatchObject({ delayMs: 1_000 })
  })

  test('a verdict for a time in the next century waits for at most ten years', () => {
    expect(verdictOf(new RetryAfter(new Date(8e15)), nowMs)).toMatchObject({
      delayMs: 10 * 365.25 * 86_400_000,
    })
  })

  test('a verdict is an Error with a name, a message and a cause', () => {
    const cause = new Error('404')
    expect(new PermanentError('gone', { cause })).toMatchObject({
      name: 'PermanentError',
      message: 'gone',
      cause,
    })
    expect(new RetryAfter('90s')).toMatchObject({ name: 'RetryAfter', message: 'Retry in 90s' })
    expect(new Snooze(new Date(0)).message).toBe('Snooze at 1970-01-01T00:00:00.000Z')
    expect(new CancelJob('x')).toBeInstanceOf(Error)
  })

  test('a verdict of another copy of the package is recognized by its brand', () => {
    expect(verdictOf({ [brand]: { type: 'permanent' } }, nowMs)).toEqual({ type: 'permanent' })
    expect(verdictOf(Object.freeze(new CancelJob('x')), nowMs)).toEqual({ type: 'cancel', reason: 'x' })
  })

  test('a verdict has a reason that Postgres can store, cut to 1,024 bytes', () => {
    expect(verdictOf(new CancelJob('a\0b\ud800'), nowMs)).toEqual({
      type: 'cancel',
      reason: 'a\ufffdb\ufffd',
    })
    const long = verdictOf(new Snooze('1s', 'ü'.repeat(5_000)), nowMs)
    expect(Buffer.byteLength((long as { reason: string }).reason)).toBeLessThanOrEqual(1_024)
  })

  test.each<[() => unknown, string]>([
    [() => new RetryAfter('soon'), "got 'soon'"],
    [() => new RetryAfter(-1), 'got -1'],
    [() => new RetryAfter(new Date(Number.NaN)), 'got Date(NaN)'],
    [() => new RetryAfter(undefined as never), 'got undefined'],
    [() => new Snooze(0), 'from 1 ms up'],
    [() => new Snooze({} as never), 'got {}'],
  ])('a verdict with an invalid time is refused: %s', (make, message) => {
    expect(make).toThrow(expect.objectContaining({ code: 'invalid-option' }))
    expect(make).toThrow(message)
  })
})

describe('verdictOf', () => {
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error('no')
      },
    },
  )
  const { proxy: revoked, revoke } = Proxy.revocable({}, {})
  revoke()

  test.each<[string, unknown]>([
    ['null', null],
    ['undefined', undefined],
    ['text', 'permanent'],
    ['an ordinary error', new Error('x')],
    ['a proxy that throws', hostile],
    ['a revoked proxy', revoked],
    ['a brand of something else', { [brand]: 'permanent' }],
    ['a brand that throws', { [brand]: hostile }],
    ['an unknown verdict', { [brand]: { type: 'promote' } }],
    ['a delay that is no number', { [brand]: { type: 'snooze', when: { type: 'delay', ms: 'x' } } }],
    ['a delay that is NaN', { [brand]: { type: 'retry-after', when: { type: 'delay', ms: Number.NaN } } }],
    ['a cancel without a reason', { [brand]: { type: 'cancel' } }],
  ])('verdictOf finds no verdict in %s', (_what, thrown) => {
    expect(verdictOf(thrown, nowMs)).toBeUndefined()
  })
})
