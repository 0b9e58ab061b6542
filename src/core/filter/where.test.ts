import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StintError } from '../errors.ts'
import { jobStates } from '../job.ts'
import { isEmptyWhere, printWhere } from './print-where.ts'
import { parseWhere, readWhere } from './where.ts'
import type { Where } from './where.ts'

const id = '019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f'

describe('a filter', () => {
  test('a filter is read token by token', () => {
    const text = `state:dead,ready queue:billing kind:charge.* key:"a, b" error:b02c age>1h age<7d priority:-5,5 input.country:BR,"New York" is:discarded`
    expect(parseWhere(text)).toEqual({
      states: ['dead', 'ready'],
      queues: ['billing'],
      kinds: ['charge.*'],
      keys: ['a, b'],
      errors: ['b02c'],
      olderMs: 3_600_000,
      youngerMs: 604_800_000,
      priorities: [-5, 5],
      search: { country: ['BR', 'New York'] },
      isDiscarded: true,
    })
  })

  test('a filter prints the same text for any order and spacing of its tokens', () => {
    expect(printWhere(parseWhere('  age>60m   queue:b,a state:dead,dead '))).toBe(
      'state:dead queue:b,a age>1h',
    )
    expect(printWhere(parseWhere(`id:${id.toUpperCase()} key:"say \\"so\\" \\\\"`))).toBe(
      `id:${id} key:"say \\"so\\" \\\\"`,
    )
  })

  test('a filter names a job by its id, or by the end of the id as screens show it', () => {
    expect(parseWhere(`id:${id},0C1D2E3F,…2e3f`)).toEqual({ ids: [id], idEnds: ['0c1d2e3f', '2e3f'] })
    expect(printWhere(parseWhere(`id:…2e3f,${id}`))).toBe(`id:${id},2e3f`)
  })

  test('a filter takes a quoted star literally', () => {
    expect(parseWhere('key:"img-*" input.country:"B*"')).toEqual({
      keys: ['img-*'],
      search: { country: ['B*'] },
    })
    expect(printWhere({ keys: ['img-*'] })).toBe('key:"img-*"')
  })

  test('a filter without tokens is empty', () => {
    expect(parseWhere('  ')).toEqual({})
    expect(isEmptyWhere(parseWhere(' \n'))).toBe(true)
    expect(isEmptyWhere(parseWhere('is:replaced'))).toBe(false)
  })

  test.each([
    ['stat:dead', 0, 'Unknown filter "stat:". Did you mean "state:"?'],
    ['prio:5', 0, 'Unknown filter "prio:". Did you mean "priority:"?'],
    ['agee>1h', 0, 'Did you mean "age>"?'],
    ['tenant:acme', 0, 'Known filters: id: state:'],
    ['daed', 0, '"daed" is not a filter. Did you mean "state:dead"?'],
    [id, 0, `Did you mean "id:${id}"?`],
    ['queue:a  inptu.country:BR', 9, 'Did you mean "input.<name>:"?'],
    ['state:daed', 0, 'Filter "state:" does not accept "daed"'],
    ['queue:a dead', 8, 'Did you mean "state:dead"?'],
    ['state:dead state:ready', 11, 'given twice'],
    ['queue:', 0, 'Filter "queue:" has an empty value.'],
    ['queue:a,,b', 0, 'Filter "queue:" has an empty value.'],
    ['error:b02', 0, '4 or more'],
    ['kind:*', 0, 'beginning and a star'],
    ['kind:a*b', 0, 'beginning and a star'],
    ['age:1h', 0, 'needs > or <'],
    ['queue>a', 0, 'needs a colon'],
    ['age>soon', 0, 'Expected a duration'],
    ['key:"open', 0, 'not closed'],
    ['key:"a"b', 0, 'space is missing'],
    ['id:123', 0, 'a job id, or its last 4 to 12 characters'],
    ['queue:a key:img-*', 8, 'Quote the value if the star is part of it: key:"img-*".'],
    ['correlation:a*', 0, '"correlation:" does not accept a star'],
    ['input.country:B*', 0, '"input.country:" does not accept a star'],
    ['priority:101', 0, '-100 to 100'],
    ['input.:x', 0, 'Unknown filter'],
    ['__proto__:x', 0, 'Unknown filter'],
    ['is:old', 0, 'discarded or replaced'],
  ])('%j is refused at its position', (text, position, message) => {
    expect(readWhere(text)).toMatchObject({
      problem: { position, message: expect.stringContaining(message) as string },
    })
    expect(() => parseWhere(text)).toThrow(StintError)
  })
})

const name = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.:/%-]{0,20}$/)
const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }).filter((one) => !one.includes('\0'))
const some = <Value>(one: fc.Arbitrary<Value>): fc.Arbitrary<Value[]> =>
  fc.uniqueArray(one, { minLength: 1, maxLength: 4 })
const filters: fc.Arbitrary<Where> = fc.record(
  {
    ids: some(fc.uuid()),
    idEnds: some(fc.stringMatching(/^[\da-f]{4,12}$/)),
    states: some(fc.constantFrom(...jobStates)),
    queues: some(name),
    kinds: some(fc.tuple(name, fc.constantFrom('', '*')).map((parts) => parts.join(''))),
    keys: some(text),
    errors: some(fc.stringMatching(/^[\da-f]{4,16}$/)),
    workers: some(fc.uuid()),
    correlations: some(text),
    reasons: some(text),
    priorities: some(fc.integer({ min: -100, max: 100 })),
    olderMs: fc.integer({ min: 0, max: 10_000_000_000 }),
    youngerMs: fc.integer({ min: 0, max: 10_000_000_000 }),
    search: fc
      .dictionary(fc.stringMatching(/^[a-z][A-Za-z0-9_.-]{0,10}$/), some(text), { minKeys: 1, maxKeys: 3 })
      .map((words) => ({ ...words })),
    isDiscarded: fc.constant(true as const),
    isReplaced: fc.constant(true as const),
  },
  { requiredKeys: [] },
)

test('a printed filter is read as the same filter, and prints the same', () => {
  fc.assert(
    fc.property(filters, (where) => {
      const printed = printWhere(where)
      expect(parseWhere(printed)).toEqual(where)
      expect(printWhere(parseWhere(printed))).toBe(printed)
    }),
    { numRuns: 500 },
  )
})

test('any text is a filter, or is refused with a position inside the text', () => {
  const tokens = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc
      .array(
        fc.oneof(
          fc.constantFrom('state:', 'age>', 'key:"', ',', ' ', '"', '\\', 'input.a:', 'dead'),
          fc.string({ maxLength: 4 }),
        ),
        { maxLength: 12 },
      )
      .map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(tokens, (typed) => {
      const read = readWhere(typed)
      if ('problem' in read) {
        expect(read.problem.position).toBeGreaterThanOrEqual(0)
        expect(read.problem.position).toBeLessThan(typed.length)
      } else expect(parseWhere(printWhere(read.where))).toEqual(read.where)
    }),
    { numRuns: 1_000 },
  )
})

const megabyte = 1_048_576

test.each<[about: string, text: string]>([
  ['search words', Array.from({ length: 80_000 }, (_, n) => `input.a${n}:b`).join(' ')],
  ['values', `key:${'a,'.repeat(megabyte / 2)}b`],
  ['quoted values', `key:${'"a",'.repeat(megabyte / 4)}"b"`],
  ['an escaped value', `key:"${'\\"'.repeat(megabyte / 2)}"`],
  ['a quote that is not closed', `key:"${'a'.repeat(megabyte)}`],
  ['backslashes', `key:"${'\\'.repeat(megabyte)}`],
  ['quotes', '"'.repeat(megabyte)],
  ['spaces', ' '.repeat(megabyte)],
  ['a name that is unknown', `${'x'.repeat(megabyte)}:b`],
  ['a state that is none', `state:${'x'.repeat(megabyte)}`],
])('a filter of a megabyte of %s is read quickly', (_about, text) => {
  const read = readWhere(text)
  if ('where' in read) expect(printWhere(read.where).length).toBeLessThanOrEqual(text.length)
  else expect(read.problem.message.length).toBeLessThan(500)
})

test('a filter can name a search word __proto__', () => {
  expect(printWhere(parseWhere('input.__proto__:a input.b:c'))).toBe('input.__proto__:a input.b:c')
})
