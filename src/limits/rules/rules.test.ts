import { describe, expect, test } from 'vitest'
import { resolveWorkerOptions } from '../../worker/options.ts'
import { defineBreaker } from './define-breaker.ts'
import { defineLimit } from './define-limit.ts'
import { defineQueue } from './define-queue.ts'
import { defineRate } from './define-rate.ts'

const covers = [{ queue: 'media' }]
const long = 'a'.repeat(129)

/** Each definition with one thing wrong, and the path that the error must name. */
const bad: [string, () => unknown, string][] = [
  ...['', 'nul\0', 'emoji 🎈', long, '-dash'].flatMap((name): [string, () => unknown, string][] => [
    [`a limit named ${JSON.stringify(name)}`, () => defineLimit({ name, covers, max: 1 }), 'name'],
    [`a rate named ${JSON.stringify(name)}`, () => defineRate({ name, tokens: 1, per: '1s' }), 'name'],
    [`a breaker named ${JSON.stringify(name)}`, () => defineBreaker({ name }), 'name'],
    [`a queue named ${JSON.stringify(name)}`, () => defineQueue({ name }), 'name'],
  ]),
  ['a limit with the name of an order', () => defineLimit({ name: 'q/order', covers, max: 1 }), 'name'],
  ['a limit that covers nothing', () => defineLimit({ name: 'l', covers: [], max: 1 }), 'covers'],
  [
    'a limit that covers a queue twice',
    () => defineLimit({ name: 'l', covers: [...covers, ...covers], max: 1 }),
    'covers[1].queue',
  ],
  [
    'a limit of no kinds',
    () => defineLimit({ name: 'l', covers: [{ queue: 'q', kinds: [] }], max: 1 }),
    'covers[0].kinds',
  ],
  ...['', 'nul\0', 'emoji 🎈', long].map((queue): [string, () => unknown, string] => [
    `a limit of the queue ${JSON.stringify(queue)}`,
    () => defineLimit({ name: 'l', covers: [{ queue }], max: 1 }),
    'covers[0].queue',
  ]),
  ['a negative maximum', () => defineLimit({ name: 'l', covers, max: -1 }), 'max'],
  ['a maximum that is no number', () => defineLimit({ name: 'l', covers, max: NaN }), 'max'],
  ['tiers without keys', () => defineLimit({ name: 'l', covers, max: 1, tiers: { gold: 2 } }), 'tiers'],
  [
    'a tier that is no number',
    () => defineLimit({ name: 'l', covers, by: 'key', max: 1, tiers: { gold: '2' as never } }),
    'tiers.gold',
  ],
  [
    'an unknown policy',
    () => defineLimit({ name: 'l', covers, max: 1, onLimit: 'panic' as never }),
    'onLimit',
  ],
  ['no tokens', () => defineRate({ name: 'r', tokens: 0, per: '1s' }), 'tokens'],
  ['tokens that are no number', () => defineRate({ name: 'r', tokens: NaN, per: '1s', burst: 5 }), 'tokens'],
  ['a period of nothing', () => defineRate({ name: 'r', tokens: 1, per: 0 }), 'per'],
  ['a burst below 1', () => defineRate({ name: 'r', tokens: 1, per: '1s', burst: 0 }), 'burst'],
  ['a keep that leaves nothing', () => defineRate({ name: 'r', tokens: 5, per: '1s', keep: 5 }), 'keep'],
  ['a share of 0', () => defineBreaker({ name: 'b', share: 0 }), 'share'],
  ['a share above 1', () => defineBreaker({ name: 'b', share: 1.1 }), 'share'],
  [
    'a most that is less than the first',
    () => defineBreaker({ name: 'b', open: '2m', mostOpen: '1m' }),
    'mostOpen',
  ],
  ['a share that is no number', () => defineBreaker({ name: 'b', share: NaN }), 'share'],
  ['no least outcomes', () => defineBreaker({ name: 'b', least: 0 }), 'least'],
  ['no probes', () => defineBreaker({ name: 'b', probes: 0 }), 'probes'],
  ['an unknown class', () => defineBreaker({ name: 'b', counts: ['bad' as never] }), 'counts[0]'],
  ['a depth of 0', () => defineQueue({ name: 'q', maxDepth: 0 }), 'maxDepth'],
  ['a depth per key of 0', () => defineQueue({ name: 'q', perKey: { maxDepth: 0 } }), 'perKey.maxDepth'],
  ['a budget above 1', () => defineQueue({ name: 'q', retryBudget: { share: 2 } }), 'retryBudget.share'],
]

describe('bad rules', () => {
  test.each(bad)('%s is refused, and the error names the field', (_what, define, path) => {
    expect(define).toThrow(
      expect.objectContaining({ code: 'invalid-option', issues: [expect.objectContaining({ path })] }),
    )
  })

  test('an option that does not exist is refused, and a likely one is suggested', () => {
    expect(() => defineLimit({ name: 'l', covers, maximum: 1 } as never)).toThrow(/Unknown option `maximum`/)
    expect(() => defineRate({ name: 'r', tokens: 1, per: '1s', brust: 3 } as never)).toThrow(
      /Did you mean `burst`\?/,
    )
  })
})

describe('the rules of a worker', () => {
  const limit = defineLimit({ name: 'same', covers, max: 1 })

  test('a worker refuses two rules of one name, also a limit and a rate', () => {
    const rate = defineRate({ name: 'same', tokens: 1, per: '1s' })
    for (const flow of [
      [limit, limit],
      [limit, rate],
    ])
      expect(() => resolveWorkerOptions({ flow })).toThrow(
        expect.objectContaining({ issues: [expect.objectContaining({ path: 'flow[1].name' })] }),
      )
  })

  test('a breaker and a queue may have the name of a limit', () => {
    const flow = [limit, defineBreaker({ name: 'same' }), defineQueue({ name: 'same', maxDepth: 5 })]
    expect(resolveWorkerOptions({ flow }).flow).toEqual(flow)
  })

  test.each([[{}], ['gpu'], [null]])('a worker refuses %j as a rule', (rule) => {
    expect(() => resolveWorkerOptions({ flow: [rule as never] })).toThrow(
      expect.objectContaining({ issues: [expect.objectContaining({ path: 'flow[0]' })] }),
    )
  })
})
