import { expect, test } from 'vitest'
import { StintError } from '../core/errors.ts'
import type { JobContract } from './contract.ts'
import { defineJob, typed } from './define-job.ts'
import { anyOf, flow } from './flow.ts'
import type { FlowBuilder } from './flow.ts'
import { isReferring } from './flow-references.ts'

const make = defineJob({ kind: 'make', output: typed<{ id: string; parts: { size: number }[] }>() })
const anything: JobContract = defineJob({ kind: 'anything' })
const made = flow('f').job('made', make, {}).jobs('many', make, [1, 2])

/** A flow whose nodes the compiler does not know, as in JavaScript. */
const untyped = made as unknown as FlowBuilder<
  Record<string, { input: unknown; output: unknown; isGroup: boolean }>
>

function inputOf({ nodes }: { nodes: FlowBuilder['nodes'] }): unknown {
  const input = nodes.at(-1)?.inputs[0]
  return isReferring(input) ? input.value : input
}

function refusal(call: () => unknown): StintError {
  try {
    call()
  } catch (error) {
    if (error instanceof StintError) return error
    throw error
  }
  throw new Error('It was not refused')
}

test('a flow is a value: each call returns a new one', () => {
  const one = flow('f').job('a', anything, 1)
  one.job('b', anything, 2)
  expect(one.nodes.map(({ name }) => name)).toEqual(['a'])
})

test('a reference is stored as the name of a node and the way to a part of its output', () => {
  const next = made.job(
    'next',
    anything,
    ({ made, many }) => ({ id: made.id, size: made.parts[0]?.size, list: [made, many[1]?.id], plain: 7 }),
    { after: ['made', 'many'] },
  )
  expect(inputOf(next)).toEqual({
    id: { 'stint:from': ['made', 'id'] },
    size: { 'stint:from': ['made', 'parts', '0', 'size'] },
    list: [{ 'stint:from': ['made'] }, { 'stint:from': ['many', '1', 'id'], as: 'outputs' }],
    plain: 7,
  })
  const seen = made.job('seen', anything, ({ made, many }) => [made, many], {
    after: { made: 'ended', many: 'ended' },
  })
  expect(inputOf(seen)).toEqual([
    { 'stint:from': ['made'], as: 'end' },
    { 'stint:from': ['many'], as: 'ends' },
  ])
})

test('a function without references gives a plain input, whatever that holds', () => {
  const own = { 'stint:from': ['made'], at: new Date(0) }
  expect(made.job('next', anything, () => own, { after: ['made'] }).nodes.at(-1)?.inputs).toEqual([own])
})

test('an input with references cannot have a name that stands for one', () => {
  const call = (): unknown =>
    made.job('next', anything, ({ made }) => ({ made, deep: [{ 'stint:from': ['made'] }] }), {
      after: ['made'],
    })
  expect(refusal(call)).toMatchObject({ code: 'invalid-input', issues: [{ path: 'input.deep[0]' }] })
})

test('a reference cannot be used as a value', () => {
  const use = (read: (made: never) => unknown) => () =>
    made.job('next', anything, ({ made }) => ({ text: read(made as never) }), { after: ['made'] })
  for (const read of [
    (made: { id: string }) => `id ${made.id}`,
    (made: { n: number }) => made.n + 1,
    (made: object) => ({ ...made }),
    (made: { parts: number[] }) => [...made.parts],
    (made: object) => JSON.stringify(made),
    (made: object) => Object.keys(made),
  ])
    expect(refusal(use(read as never)).code).toBe('invalid-input')
})

test('a reference to a node that is not in `after`, or is only there as dead, is refused', () => {
  const read = (from: { made?: unknown }): unknown => ({ made: from.made })
  for (const after of [[], { made: 'dead' }, anyOf({ made: 'succeeded' }), ['many']])
    expect(refusal(() => untyped.job('next', anything, read, { after: after as [] }))).toMatchObject({
      code: 'invalid-input',
      issues: [{ path: 'input' }],
    })
})

test('wrong nodes and options are refused, with what is known', () => {
  expect(refusal(() => untyped.job('made', anything, null))).toMatchObject({ code: 'invalid-input' })
  expect(refusal(() => untyped.job('next', anything, null, { after: ['nope'] }))).toMatchObject({
    code: 'invalid-option',
    message: "Expected `after[0]` to be the name of an earlier node ('made', 'many'), got 'nope'.",
  })
  const options: [object, string][] = [
    [{ after: { made: 'done' } }, 'after.made'],
    [{ after: 'made' }, 'after'],
    [{ after: anyOf({}) }, 'after'],
    [{ prioritty: 1 }, 'prioritty'],
  ]
  for (const [option, path] of options)
    expect(refusal(() => untyped.job('next', anything, null, option))).toMatchObject({ issues: [{ path }] })
  for (const name of ['', 'a b', 'a\0', '🐎', 'n'.repeat(129), 7, undefined])
    expect(refusal(() => untyped.job(name as string, anything, null)).code).toBe('invalid-option')
  for (const inputs of ['text', 7, null, {}])
    expect(refusal(() => untyped.jobs('next', anything, inputs as [])).code).toBe('invalid-option')
  expect(refusal(() => untyped.job('next', undefined as never, null as never)).code).toBe('invalid-option')
  expect(refusal(() => flow('a b')).code).toBe('invalid-option')
  expect(refusal(() => flow('a', { onDead: 'wait' as 'hold' })).code).toBe('invalid-option')
  const endless = function* (): Generator<number> {
    for (;;) yield 1
  }
  expect(refusal(() => untyped.jobs('next', anything, endless()))).toMatchObject({
    issues: [{ path: 'inputs' }],
  })
})
