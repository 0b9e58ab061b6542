import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fingerprint, normalizeMessage } from './fingerprint.ts'

describe('normalizeMessage', () => {
  test.each([
    ['Order 77 not found', 'Order <n> not found'],
    ['took 1,234.5 ms, 3 left', 'took <n> ms, <n> left'],
    ['user 550e8400-e29b-41d4-a716-446655440000 is gone', 'user <uuid> is gone'],
    ['job_550E8400-E29B-41D4-A716-446655440000', 'job_<uuid>'],
    ['commit deadbeef01 of 0x7ffe12ab34', 'commit <n> of <n>'],
    ['commit 12345678 and 1234567', 'commit <n> and <n>'],
    ['the facade was defaced', 'the facade was defaced'],
    ['event 01ARZ3NDEKTSV4RRFFQ69G5FAV', 'event <n>'],
    ['until 2026-01-02T03:04:05.678Z or 2026-01-02', 'until <time> or <time>'],
    ['at 2026-01-02 03:04:05+01 again', 'at <time> again'],
    ['at 03:04:05.6', 'at <time>'],
    ['not before Fri, 02 Jan 2026 03:04:05 GMT', 'not before <time>'],
    ['since Fri Jan 02 2026 03:04:05 GMT+0000 (Coordinated Universal Time)', 'since <time>'],
    ['GET https://api.example.com/v1/x?id=3 failed', 'GET <url> failed'],
    ['cannot connect to postgres://me:pw@host:5432/db', 'cannot connect to <url>'],
    ['no mailbox for ann.lee+x@mail.example.com', 'no mailbox for <mail>'],
    ["ENOENT: open '/srv/app/uploads/a b.png'", "ENOENT: open '<path> b.png'"],
    ['cannot read C:\\Users\\ann\\x.txt', 'cannot read <path>'],
    ['cannot read tmp/uploads/x-1.png', 'cannot read <path>'],
    ['read and/or write', 'read and/or write'],
    ['Unexpected token in "the whole of a long document"', 'Unexpected token in <text>'],
    [
      "Cannot read properties of undefined (reading 'id')",
      "Cannot read properties of undefined (reading 'id')",
    ],
    ["it can't be that it isn't", "it can't be that it isn't"],
    ['connect ECONNREFUSED 10.0.0.1:5432', 'connect ECONNREFUSED <n>:<n>'],
    ['  two\n  lines ', 'two lines'],
  ])('normalizeMessage turns %j into %j', (message, normal) => {
    expect(normalizeMessage(message)).toBe(normal)
  })

  test('a normalized message has at most 500 characters', () => {
    expect(normalizeMessage('no such thing '.repeat(1_000))).toHaveLength(500)
  })

  test.each([499, 500])('a normalized message does not end inside a character: after %i', (before) => {
    const text = normalizeMessage(`${'x'.repeat(before)}${'😀'.repeat(10)}`)
    expect(text.length).toBeLessThanOrEqual(500)
    expect(text).not.toMatch(/\p{Surrogate}/u)
  })

  test('a hostile message is normalized in linear time', () => {
    const parts = [
      'a',
      '"',
      "'",
      '/',
      'a/',
      '.',
      '@',
      'a@',
      '0',
      'f',
      '0x',
      '1:',
      '::',
      ' ',
      'Mon ',
      '2024-',
      'a:\\',
    ]
    const message = fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(message, (units) => {
        const unit = units.join('')
        // CPU time and not elapsed time: this process may have stood still.
        const before = process.cpuUsage()
        normalizeMessage(unit.repeat(Math.floor(65_536 / unit.length)))
        // A few milliseconds; a pattern that backtracks from each character needs many seconds.
        expect(process.cpuUsage(before).user).toBeLessThan(2_000_000)
      }),
    )
  })
})

describe('fingerprint', () => {
  const source = {
    kind: 'mail.send',
    failureClass: 'unknown',
    name: 'TypeError',
    message: 'Order 77 has no address',
    stack: stackOf('Order 77 has no address', [
      'at Mailer.send (file:///srv/app/src/mailer.ts:12:3)',
      'at node:internal/process/task_queues:95:5',
      'at retry (/srv/app/node_modules/p-retry/index.js:1:2)',
      'at async Promise.all (index 0)',
      'at Array.map (<anonymous>)',
      'at async handle (file:///srv/app/src/handlers/order.ts?t=1:40:9)',
      'at /srv/app/src/worker.ts:9:1',
      'at main (/srv/app/src/main.ts:1:1)',
    ]),
  }

  function stackOf(message: string, frames: string[]): string {
    return [`TypeError: ${message}`, ...frames.map((frame) => `    ${frame}`)].join('\n')
  }

  test('a fingerprint has 16 hex characters', () => {
    expect(fingerprint(source)).toMatch(/^[0-9a-f]{16}$/)
    expect(fingerprint({ ...source, stack: undefined })).toMatch(/^[0-9a-f]{16}$/)
  })

  test('a fingerprint never changes for the same source, because stored groups depend on it', () => {
    expect(fingerprint({ kind: '', failureClass: '', name: '', message: '' })).toBe(
      // The FNV-1a hash of three line breaks.
      fnvByBigInt('\n\n\n'),
    )
    expect(fingerprint({ ...source, stack: '' })).toBe(
      fnvByBigInt('mail.send\nunknown\nTypeError\nOrder <n> has no address'),
    )
    expect(fingerprint(source)).toBe(
      fnvByBigInt(
        'mail.send\nunknown\nTypeError\nOrder <n> has no address\nMailer.send mailer.ts\nhandle order.ts\n worker.ts',
      ),
    )
  })

  test('a fingerprint is the FNV-1a hash for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '\0', 'é', '€', '😀') }), (kind) => {
        expect(fingerprint({ kind, failureClass: '', name: '', message: '' })).toBe(
          fnvByBigInt(`${kind}\n\n\n`),
        )
      }),
    )
  })

  test('a fingerprint is the same on another machine, in another build, for another order id', () => {
    const elsewhere = source.stack
      .replaceAll('/srv/app', '/home/ann/shop')
      .replaceAll(/:\d+:\d+/g, ':1:1')
      .replaceAll('77', '4711')
    expect(fingerprint({ ...source, message: 'Order 4711 has no address', stack: elsewhere })).toBe(
      fingerprint(source),
    )
  })

  test.each([
    ['kind', { kind: 'mail.forward' }],
    ['class', { failureClass: 'timeout' }],
    ['name', { name: 'RangeError' }],
    ['message', { message: 'Order 77 has no customer' }],
    ['function', { stack: source.stack.replace('Mailer.send', 'Mailer.open') }],
  ])('differs by %s', (_what, change) => {
    expect(fingerprint({ ...source, ...change })).not.toBe(fingerprint(source))
  })

  test('a fingerprint takes no stack frame from the message', () => {
    const message = 'Order 77 has no address\n    at remote (/other/host.ts:1:1)'
    expect(
      fingerprint({ ...source, message, stack: stackOf(message, ['at Mailer.send (/a/mailer.ts:1:1)']) }),
    ).toBe(fingerprint({ ...source, message, stack: stackOf('x', ['at Mailer.send (/b/mailer.ts:2:2)']) }))
  })
})

function fnvByBigInt(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  }
  return hash.toString(16).padStart(16, '0')
}
