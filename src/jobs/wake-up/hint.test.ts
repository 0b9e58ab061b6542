import { expect, test } from 'vitest'
import { farthestHintMs, hintsIn, payloadsOf, saysCancel } from './hint.ts'

const serves = (queue: string): boolean => queue === 'alpha'

test('a payload that Stint wrote is read back unchanged', () => {
  const hints = [
    { queue: 'alpha', priority: -100, keyed: false, inMs: 0 },
    { queue: 'alpha', priority: 100, keyed: true, inMs: farthestHintMs },
  ]
  expect(payloadsOf(hints).flatMap((payload) => hintsIn(payload, serves))).toEqual(hints)
})

test.each([
  ['no JSON', 'alpha'],
  ['no list', '{"0":["alpha",0,0,0]}'],
  ['no entries', '["alpha",0,0,0]'],
  ['another queue', '[["beta",0,0,0]]'],
  ['a queue that is no text', '[[["alpha"],0,0,0]]'],
  ['a priority that no smallint holds', '[["alpha",1e300,0,0]]'],
  ['a priority that no producer has', '[["alpha",101,0,0],["alpha",-101,0,0]]'],
  ['a priority between two', '[["alpha",0.5,0,0]]'],
  ['a priority that is no number', '[["alpha","0",0,0],["alpha",null,0,0]]'],
  ['keyed that is neither 0 nor 1', '[["alpha",0,2,0],["alpha",0,true,0],["alpha",0,"1",0]]'],
  ['a time before now', '[["alpha",0,0,-1]]'],
  ['a time too far ahead', '[["alpha",0,0,60001],["alpha",0,0,1e400]]'],
  ['a time that is none', '[["alpha",0,0,null],["alpha",0,0]]'],
])('a hint with %s is ignored', (_, payload) => {
  expect(hintsIn(payload, serves)).toEqual([])
})

test('a worker looks for cancellations only if the list names it', () => {
  expect(saysCancel('{"cancel":["w1","w2"]}', 'w2')).toBe(true)
  for (const payload of ['{"cancel":["w1"]}', '{"cancel":"w2"}', '["w2"]', 'null', 'w2'])
    expect(saysCancel(payload, 'w2')).toBe(false)
})
