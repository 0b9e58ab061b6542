import { expect, test } from 'vitest'
import { retryAfterMs } from './retry-after.ts'

const nowMs = Date.UTC(2026, 0, 1)

test.each<[string, unknown, number]>([
  ['a Headers', { headers: new Headers({ 'Retry-After': '120' }) }, 120_000],
  ['a Map', { headers: new Map([['retry-after', '2']]) }, 2_000],
  ['a plain object', { headers: { 'retry-after': '1.5' } }, 1_500],
  ['any case of letters', { headers: { 'RETRY-After': ' 3 ' } }, 3_000],
  ['a list', { headers: { 'retry-after': ['4', '5'] } }, 4_000],
  ['a number', { headers: { 'retry-after': 6 } }, 6_000],
  ['a response', { response: { headers: { 'Retry-After': '7' } } }, 7_000],
  [
    'a cause',
    new Error('x', { cause: { response: { headers: new Headers({ 'retry-after': '8' }) } } }),
    8_000,
  ],
  ['a property in seconds', { retryAfter: 9 }, 9_000],
  ['an HTTP date', { headers: { 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' } }, 60_000],
  ['an ISO date', { headers: { 'retry-after': '2026-01-01T00:00:30Z' } }, 30_000],
  ['a date that has passed', { headers: { 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' } }, 0],
  ['zero', { headers: { 'retry-after': '0' } }, 0],
  ['more than a day', { headers: { 'retry-after': '999999999' } }, 86_400_000],
])('Retry-After is read from %s', (_what, thrown, ms) => {
  expect(retryAfterMs(thrown, nowMs)).toBe(ms)
})

function throwing(): never {
  throw new Error('no')
}

test.each<[string, unknown]>([
  ['null', null],
  ['text', '120'],
  ['an ordinary error', new Error('retry-after: 3')],
  ['other headers', { headers: { 'content-type': 'x' } }],
  ['a negative number', { headers: { 'retry-after': '-5' }, retryAfter: -5 }],
  ['words', { headers: { 'retry-after': 'soon' } }],
  ['a date of nowhere', { headers: { 'retry-after': 'Foo, 99 Bar' } }],
  ['NaN', { retryAfter: Number.NaN }],
  ['a get() that throws', { headers: { get: throwing } }],
  ['headers that throw', { headers: new Proxy({}, { get: throwing, ownKeys: throwing }) }],
  [
    'a getter that throws',
    {
      get headers(): unknown {
        return throwing()
      },
    },
  ],
])('Retry-After is undefined for %s', (_what, thrown) => {
  expect(retryAfterMs(thrown, nowMs)).toBeUndefined()
})
