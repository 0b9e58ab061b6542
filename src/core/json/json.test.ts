import { describe, expect, test } from 'vitest'
import { copyJson } from './json.ts'

const limits = { maxDepth: 100, maxCharacters: 10_000, maxIssues: 20 }
const copy = (value: unknown): ReturnType<typeof copyJson> => copyJson(value, 'input', limits)
const issuesOf = (value: unknown): string[] => {
  const copied = copy(value)
  return copied.ok ? [] : copied.issues.map(({ path, message }) => `${path} ${message}`)
}

describe('copyJson', () => {
  test('copyJson copies plain JSON unchanged', () => {
    const value = { a: [1, 'x', null, true, { b: -0.5 }], 'odd name': {} }
    expect(copy(value)).toEqual({ ok: true, value })
  })

  test('copyJson leaves out undefined properties and converts a Date by its toJSON', () => {
    expect(copy({ a: undefined, at: new Date(0) })).toEqual({
      ok: true,
      value: { at: '1970-01-01T00:00:00.000Z' },
    })
  })

  test('copyJson keeps __proto__ as data', () => {
    const copied = copy(JSON.parse('{"__proto__": {"polluted": true}}'))
    expect(copied.ok && JSON.stringify(copied.value)).toBe('{"__proto__":{"polluted":true}}')
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  const cycle: Record<string, unknown> = { name: 'a' }
  cycle['self'] = { back: cycle }
  let deep: unknown = 1
  for (let level = 0; level < 101; level++) deep = [deep]

  test.each<[string, unknown, string]>([
    ['bigint', { n: 10n ** 30n }, 'input.n is a bigint'],
    ['NaN', [Number.NaN], 'input[0] is NaN'],
    ['Infinity', { a: -Infinity }, 'input.a is -Infinity'],
    ['undefined in a list', [undefined], 'input[0] is undefined'],
    ['undefined', undefined, 'input is undefined'],
    ['a function', { f: () => 1 }, 'input.f is a function'],
    ['a symbol', { s: Symbol('x') }, 'input.s is a symbol'],
    ['a cycle', cycle, 'input.self.back refers back'],
    ['depth', deep, 'is nested deeper than 100 levels'],
    ['NUL', { 'a b': 'x\0y' }, 'input["a b"] has a NUL'],
    ['half a surrogate pair', ['\ud83d'], 'input[0] has a NUL character or half'],
    ['NUL in a name', { 'x\0': 1 }, 'has a name that Postgres cannot store'],
    ['a Map', { m: new Map() }, 'input.m is a Map'],
    [
      'a class instance',
      new (class Order {
        readonly id = 1
      })(),
      'input is a Order',
    ],
    ['bytes', { b: Buffer.from('x') }, 'input.b is binary'],
    ['too large a whole', 'x'.repeat(20_000), 'makes the whole too large'],
    [
      'a getter that throws',
      {
        get a() {
          throw new Error('no')
        },
      },
      'cannot be read: no',
    ],
    ['a revoked proxy', revoked(), 'cannot be read'],
  ])('copyJson refuses %s with its path', (_what, value, message) => {
    expect(issuesOf(value)).toEqual([expect.stringContaining(message)])
  })

  test('copyJson stops after twenty issues', () => {
    let reads = 0
    const list = new Proxy(
      Array.from({ length: 100_000 }, () => Number.NaN),
      {
        get: (target, name) => {
          if (typeof name === 'string' && /^\d+$/.test(name)) reads++
          return Reflect.get(target, name) as unknown
        },
      },
    )
    expect(issuesOf(list)).toHaveLength(20)
    expect(reads).toBeLessThan(50)
  })

  test('copyJson reads each property once, so that a value cannot change between check and copy', () => {
    let reads = 0
    const sly = {
      get n() {
        return ++reads === 1 ? 1 : 10n
      },
    }
    expect(copy(sly)).toEqual({ ok: true, value: { n: 1 } })
  })
})

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
