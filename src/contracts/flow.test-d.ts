import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineJob, typed } from './define-job.ts'
import { anyOf, flow } from './flow.ts'
import type { Ended, Reference } from './flow-references.ts'

const reserve = defineJob({
  kind: 'stock.reserve',
  input: z.object({ orderId: z.string() }),
  output: z.object({
    holdId: z.string(),
    items: z.array(z.object({ sku: z.string(), cents: z.number() })),
    at: z.date(),
  }),
})
const tax = defineJob({
  kind: 'tax',
  input: z.object({
    orderId: z.string(),
    items: z.array(z.object({ cents: z.number() })),
    note: z.string().optional(),
  }),
  output: z.object({ total: z.number() }),
})
const capture = defineJob({ kind: 'capture', input: z.object({ holdId: z.string(), cents: z.number() }) })
const release = defineJob({ kind: 'release', input: z.object({ holdId: z.string() }) })
const row = defineJob({ kind: 'row', input: typed<{ line: string }>(), output: typed<{ id: number }>() })
const report = defineJob({ kind: 'report', input: typed<{ rows: { id: number }[] }>() })
const anything = defineJob({ kind: 'anything' })

const reserved = flow('checkout').job('reserve', reserve, { orderId: 'a' })

test('an input refers to what the nodes in `after` return, whole or in part', () => {
  reserved
    .job('tax', tax, ({ reserve }) => ({ orderId: 'a', items: reserve.items }), { after: ['reserve'] })
    .job('capture', capture, ({ reserve, tax }) => ({ holdId: reserve.holdId, cents: tax.total }), {
      after: ['reserve', 'tax'],
      priority: 3,
    })
    .job('release', release, ({ reserve }) => ({ holdId: reserve.holdId }), {
      after: { reserve: 'succeeded', capture: 'dead' },
    })
    .job('all', anything, ({ reserve }) => ({ whole: reserve }), { after: { reserve: 'succeeded' } })
    .job('none', anything, null)
  reserved.job(
    'item',
    capture,
    ({ reserve }) => ({ holdId: reserve.holdId, cents: reserve.items[0]?.cents ?? 0 }),
    {
      after: ['reserve'],
    },
  )
})

test('what a node returns is read as JSON gives it back', () => {
  reserved.job(
    'x',
    anything,
    ({ reserve }) => {
      expectTypeOf(reserve.at).toEqualTypeOf<Reference<string>>()
      return reserve
    },
    { after: ['reserve'] },
  )
})

test('a group is a list of outputs, and one that only has to end is a list of endings', () => {
  const rows = flow('import').jobs('rows', row, [{ line: 'a' }])
  rows.job('done', report, ({ rows }) => ({ rows }), { after: ['rows'] })
  rows.job(
    'seen',
    anything,
    ({ rows }) => {
      expectTypeOf(rows).toEqualTypeOf<Reference<Ended<{ id: number }>[]>>()
      return { rows }
    },
    { after: { rows: 'ended' } },
  )
  // @ts-expect-error some of them may have died
  rows.job('done', report, ({ rows }) => ({ rows }), { after: { rows: 'ended' } })
  rows.jobs('again', row, () => [{ line: 'a' }, { line: 'b' }], { after: { rows: 'ended' } })
  // @ts-expect-error a list of wrong inputs
  flow('import').jobs('rows', row, [{ line: 1 }])
})

test('a node in `after` exists', () => {
  // @ts-expect-error no such node
  reserved.job('x', anything, null, { after: ['reserved'] })
  // @ts-expect-error no such node, beside one that exists
  reserved.job('x', anything, null, { after: { reserve: 'succeeded', other: 'dead' } })
  // @ts-expect-error no such node
  reserved.job('x', anything, null, { after: anyOf({ reserve: 'succeeded', other: 'dead' }) })
  // @ts-expect-error no such ending
  reserved.job('x', anything, null, { after: { reserve: 'done' } })
  reserved.job('x', anything, null, { after: anyOf({ reserve: 'succeeded' }) })
})

test('a name is used once', () => {
  // @ts-expect-error the name is taken
  reserved.job('reserve', anything, null)
  // @ts-expect-error the name is taken
  reserved.jobs('reserve', row, [])
})

const holdOf = ({ reserve }: { reserve: { holdId: Reference<string> } }) => ({ holdId: reserve.holdId })
const idOf = ({ reserve }: { reserve: { id: Reference<string> } }) => ({ holdId: reserve.id })

test('a reference is to a node in `after` that leaves something to read', () => {
  reserved.job('x', release, holdOf, { after: ['reserve'] })
  // @ts-expect-error it is not in `after`
  reserved.job('x', release, holdOf)
  // @ts-expect-error a dead node has no output
  reserved.job('x', release, holdOf, { after: { reserve: 'dead' } })
  // @ts-expect-error one of several may not have ended
  reserved.job('x', release, holdOf, { after: anyOf({ reserve: 'succeeded' }) })
})

test('a reference has the fields and the types of the output', () => {
  // @ts-expect-error the output has no such field
  reserved.job('x', release, idOf, { after: ['reserve'] })
  // @ts-expect-error text where a number is expected
  reserved.job('x', capture, ({ reserve }) => ({ holdId: reserve.holdId, cents: reserve.holdId }), {
    after: ['reserve'],
  })
  // @ts-expect-error a part is missing
  reserved.job('x', capture, ({ reserve }) => ({ holdId: reserve.holdId }), { after: ['reserve'] })
})

test('an input has the type of its contract', () => {
  // @ts-expect-error a number where text is expected
  flow('x').job('reserve', reserve, { orderId: 1 })
  // @ts-expect-error no such option
  flow('x').job('reserve', reserve, { orderId: 'a' }, { prioritty: 3 })
  // @ts-expect-error no such policy
  flow('x', { onDead: 'wait' })
})
