import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isStorableText } from './json.ts'
import { cleanText, toStorable, toStorableText } from './storable.ts'

const limits = { maxBytes: 64 * 1024 }
const stored = (value: unknown): unknown => JSON.parse(toStorable(value, limits).text)
const changes = (value: unknown): readonly string[] => toStorable(value, limits).changed

const cycle: Record<string, unknown> = { name: 'a' }
cycle['self'] = { back: cycle }

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

function throwing(): never {
  throw new Error('no')
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

class Order {
  readonly id = 7
}

class Self {
  readonly id = 8
  toJSON(): this {
    return this
  }
}

describe('toStorable', () => {
  test('toStorable stores JSON as JSON.stringify does, and reports no change', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        expect(toStorable(value, { maxBytes: 1_000_000 })).toEqual({
          text: JSON.stringify(value),
          changed: [],
        })
      }),
    )
  })

  test.each<[string, unknown]>([
    ['a Date', { at: new Date(0) }],
    ['an invalid Date, as null', new Date(Number.NaN)],
    ['undefined properties and items', { a: undefined, list: [undefined, 1] }],
    [
      'toJSON, which gets its name',
      { it: { toJSON: (name: string) => ({ name }) }, list: [{ toJSON: String }] },
    ],
    ['toJSON that gives itself', new Self()],
    ['a class instance', new Order()],
    ['boxed values', [Object('x'), Object(1), Object(true)]],
    ['an object without a prototype', Object.assign(Object.create(null) as object, { a: 1 })],
    ['__proto__ as data', JSON.parse('{"__proto__":{"a":1}}')],
    ['an empty slot', Array(2)],
    ['minus zero and exponents', [-0, 1e21, 5e-324]],
    ['a URL', new URL('https://example.com/a')],
    ['text that only looks escaped', ['\\u0000', '\\ud800']],
  ])('toStorable stores %s as JSON.stringify does', (_what, value) => {
    expect(toStorable(value, limits)).toEqual({ text: JSON.stringify(value), changed: [] })
  })

  test('toStorable stores undefined as null', () => {
    expect(toStorable(undefined, limits)).toEqual({ text: 'null', changed: [] })
    expect(toStorable(null, limits)).toEqual({ text: 'null', changed: [] })
  })

  test.each<[string, unknown, unknown, string]>([
    ['NUL', 'a\0b', 'a\ufffdb', 'NUL or half'],
    ['half a surrogate pair in a name', { 'x\ud83d': 1 }, { 'x\ufffd': 1 }, 'NUL or half'],
    ['bigint', { n: 10n ** 20n }, { n: '100000000000000000000' }, 'bigint'],
    ['NaN', [Number.NaN], ['NaN'], 'NaN became text'],
    ['Infinity', -Infinity, '-Infinity', '-Infinity became text'],
    ['a function', { f: throwing, a: 1 }, { a: 1 }, 'a function was left out'],
    ['a function alone', throwing, null, 'a function was left out'],
    ['a symbol in a list', [Symbol('x')], [null], 'a symbol was left out'],
    ['a Map of text', new Map([['a', new Map()]]), { a: {} }, 'a Map'],
    ['a Map of anything', new Map([[1, 'x']]), [[1, 'x']], 'a Map'],
    ['a Set', new Set(['a', 'a']), ['a'], 'a Set'],
    ['an Error', { e: new TypeError('bad') }, { e: { name: 'TypeError', message: 'bad' } }, 'an Error'],
    [
      'an Error with a toJSON that tells too much',
      Object.assign(new Error('401'), { toJSON: () => ({ authorization: 'secret' }) }),
      { name: 'Error', message: '401' },
      'an Error',
    ],
    ['a Buffer', { b: Buffer.from('xyz') }, { b: '<3 bytes>' }, 'binary'],
    ['an ArrayBuffer', new ArrayBuffer(8), '<8 bytes>', 'binary'],
    ['a cycle', cycle, { name: 'a', self: { back: '[circular]' } }, 'a cycle'],
    ['a toJSON that throws', { toJSON: throwing, a: 1 }, { a: 1 }, 'toJSON() threw'],
    [
      'a getter that throws',
      {
        a: 1,
        get b(): unknown {
          return throwing()
        },
      },
      { a: 1, b: '[unreadable]' },
      'could not be read',
    ],
    ['a revoked proxy', { a: 1, p: revoked() }, { a: 1, p: '[unreadable]' }, 'could not be read'],
    ['a proxy that throws', new Proxy({}, { ownKeys: throwing }), '[unreadable]', 'could not be read'],
  ])(
    'toStorable changes %s into what Postgres can store, and reports it',
    (_what, value, expected, reason) => {
      expect(stored(value)).toEqual(expected)
      expect(changes(value)).toContainEqual(expect.stringContaining(reason))
    },
  )

  test('toStorable keeps a shared value that is not cyclic', () => {
    const shared = { a: 1 }
    expect(toStorable([shared, shared], limits)).toEqual({ text: '[{"a":1},{"a":1}]', changed: [] })
  })

  test('toStorable cuts off values nested deeper than 100 levels', () => {
    expect(changes(nested(100))).toEqual([])
    expect(changes(nested(101))).toEqual(['deeper than 100 levels'])
    expect(stored(nested(5_000))).toEqual(JSON.parse(`${'['.repeat(100)}"[too deep]"${']'.repeat(100)}`))
    expect(toStorable(nested(3), { ...limits, maxDepth: 2 }).text).toBe('[["[too deep]"]]')
  })

  test('toStorable cuts a too large value to its beginning, with its size', () => {
    const { text, changed } = toStorable({ rows: 'x"y'.repeat(1_000) }, { maxBytes: 200 })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(200)
    expect(Buffer.byteLength(text)).toBeGreaterThan(190)
    expect(JSON.parse(text)).toEqual({
      'stint:cut': true,
      bytes: JSON.stringify({ rows: 'x"y'.repeat(1_000) }).length,
      start: expect.stringMatching(/^\{"rows":"x\\"yx.*…$/) as string,
    })
    expect(changed).toEqual(['4011 bytes were cut to 200'])
  })

  test('toStorable stops at a value that expands without end, and reports no size', () => {
    let laughs: unknown = ['x']
    for (let level = 0; level < 90; level++) laughs = [laughs, laughs]
    const endless = new Map<string, unknown>()
    endless[Symbol.iterator] = function* () {
      for (let n = 0; ; n++) yield [`${n}`, n] as [string, unknown]
    }
    for (const value of [laughs, endless, Array(2 ** 32 - 1), 'x'.repeat(20_000_000)]) {
      const { text, changed } = toStorable(value, { maxBytes: 1_000 })
      expect(JSON.parse(text)).toEqual({ 'stint:cut': true, start: expect.any(String) as string })
      expect(changed).toContain('far more than 1000 bytes were cut')
    }
  })

  test('toStorable gives at most ten reasons, each once', () => {
    const everything = [
      ...['\0', 1n, 2n, Number.NaN, Infinity, -Infinity, throwing, Symbol('x'), new Map(), new Set()],
      ...[new Error('x'), Buffer.alloc(1), cycle, revoked(), { toJSON: throwing }],
    ]
    expect(changes(everything)).toHaveLength(10)
    expect(new Set(changes(everything)).size).toBe(10)
  })

  test('toStorable reads each property once, so that a value cannot change between check and text', () => {
    let reads = 0
    const sly = {
      get n() {
        return ++reads === 1 ? 1 : nested(5_000)
      },
    }
    expect(toStorable(sly, limits).text).toBe('{"n":1}')
  })

  test('toStorable gives storable JSON within the size and depth limits for any value', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withNullPrototype: true,
      withObjectString: true,
      withBoxedValues: true,
      withSparseArray: true,
      stringUnit: 'binary',
    })
    const broken = fc.string({ unit: fc.constantFrom('\0', '\ud800', '\udc00', 'é', '😀', '"', '\\', 'a') })
    fc.assert(
      fc.property(
        fc.oneof(anything, broken, fc.dictionary(broken, broken)),
        fc.integer({ min: 4, max: 300 }),
        (value, maxBytes) => {
          const { text } = toStorable(value, { maxBytes })
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes)
          // jsonb refuses the escapes as well as the characters.
          expect(isStorableText(text)).toBe(true)
          JSON.parse(text, (name, item: unknown) => {
            expect(isStorableText(name) && (typeof item !== 'string' || isStorableText(item))).toBe(true)
            return item
          })
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('cleanText', () => {
  test.each([
    ['short', 10, 'short'],
    ['exactly ten', 11, 'exactly ten'],
    ['exactly ten', 10, 'exactly…'],
    ['a\0b', 10, 'a\ufffdb'],
    ['\ud83dx', 10, '\ufffdx'],
    ['😀😀😀', 12, '😀😀😀'],
    ['😀😀😀', 11, '😀😀…'],
    ['\0\0\0\0', 4, '…'],
    ['abc', 2, ''],
  ])('cleanText turns %j within %d bytes into %j', (text, maxBytes, expected) => {
    expect(cleanText(text, maxBytes)).toBe(expected)
  })

  test('cleanText gives storable text within the limit, and changes no text that fits', () => {
    const unit = fc.constantFrom('\0', '\ud800', '\udc00', 'é', '€', '😀', 'a')
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), fc.integer({ min: 0, max: 80 }), (text, maxBytes) => {
        const clean = cleanText(text, maxBytes)
        expect(Buffer.byteLength(clean)).toBeLessThanOrEqual(maxBytes)
        expect(isStorableText(clean)).toBe(true)
        if (isStorableText(text) && Buffer.byteLength(text) <= maxBytes) expect(clean).toBe(text)
      }),
      { numRuns: 500 },
    )
  })
})

describe('toStorableText', () => {
  const replaced = 'NUL or half a surrogate pair was replaced'
  test.each<[text: string, maxBytes: number, changed: string[]]>([
    ['short', 10, []],
    ['a\0b', 10, [replaced]],
    ['exactly ten', 10, ['cut to 10 bytes']],
    ['\ud800xactly ten', 10, [replaced, 'cut to 10 bytes']],
    // Text that was cut off is not checked.
    [`${'x'.repeat(20)}\0`, 10, ['cut to 10 bytes']],
    ['abc', 2, ['cut to 2 bytes']],
  ])('toStorableText of %j within %d bytes reports the changes %j', (text, maxBytes, changed) => {
    expect(toStorableText(text, maxBytes)).toEqual({ text: cleanText(text, maxBytes), changed })
  })

  test('toStorableText reports a change exactly where it made one', () => {
    const unit = fc.constantFrom('\0', '\ud800', '\udc00', 'é', '€', '😀', 'a')
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), fc.integer({ min: 0, max: 80 }), (given, maxBytes) => {
        const { text, changed } = toStorableText(given, maxBytes)
        expect(changed.length > 0).toBe(text !== given)
        expect(changed.includes(`cut to ${maxBytes} bytes`)).toBe(text.length < given.length)
      }),
      { numRuns: 500 },
    )
  })
})
