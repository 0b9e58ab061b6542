import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { Stint } from '../client/stint.ts'
import type { ClassRule } from '../core/failures/retry-policy.ts'
import type { FailureClass, InputOf, OutputOf, ParsedInputOf } from './contract.ts'
import { defineJob, typed } from './define-job.ts'

const stint = new Stint()

test('zod types the input before and after its transformations, the output and the kind', () => {
  const resize = defineJob({
    kind: 'image.resize',
    input: z.object({
      imageId: z.string(),
      width: z.number().default(400),
      at: z.string().transform(Number),
    }),
    output: z.object({ url: z.string() }),
    key: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ imageId: string; width: number; at: number }>()
      return input.imageId
    },
  })
  expectTypeOf<InputOf<typeof resize>>().toEqualTypeOf<{
    imageId: string
    width?: number | undefined
    at: string
  }>()
  expectTypeOf<ParsedInputOf<typeof resize>>().toEqualTypeOf<{ imageId: string; width: number; at: number }>()
  expectTypeOf<OutputOf<typeof resize>>().toEqualTypeOf<{ url: string }>()
  expectTypeOf(resize.kind).toEqualTypeOf<'image.resize'>()
  void stint.enqueue(resize, { imageId: 'a', at: '3' })
  // @ts-expect-error a number where text is expected
  void stint.enqueue(resize, { imageId: 1, at: '3' })
  // @ts-expect-error the input is required
  void stint.enqueue(resize)
  // @ts-expect-error no such option
  void stint.enqueue(resize, { imageId: 'a', at: '3' }, { prioritty: 3 })
})

test('valibot and arktype are inferred like zod', () => {
  const valibotJob = defineJob({ kind: 'a', input: v.object({ id: v.pipe(v.string(), v.toNumber()) }) })
  void stint.enqueue(valibotJob, { id: '1' })
  expectTypeOf<InputOf<typeof valibotJob>>().toEqualTypeOf<{ id: string }>()
  expectTypeOf<ParsedInputOf<typeof valibotJob>>().toEqualTypeOf<{ id: number }>()
  const arktypeJob = defineJob({ kind: 'b', input: type({ id: 'string', 'n?': 'number' }) })
  void stint.enqueue(arktypeJob, { id: '1' })
  expectTypeOf<InputOf<typeof arktypeJob>>().toEqualTypeOf<{ id: string; n?: number }>()
})

test('a contract without a schema accepts any JSON, or no input', () => {
  const noop = defineJob({ kind: 'noop', output: typed<number>() })
  expectTypeOf<OutputOf<typeof noop>>().toEqualTypeOf<number>()
  void stint.enqueue(noop)
  void stint.enqueue(noop, { any: ['thing'] }, { priority: 3 })
})

test('an input is required even where the schema has a default for all of it', () => {
  const withDefault = defineJob({ kind: 'd', input: z.object({ n: z.number() }).default({ n: 1 }) })
  // @ts-expect-error an absent input cannot be stored
  void stint.enqueue(withDefault)
  // @ts-expect-error undefined cannot be stored either
  void stint.enqueue(withDefault, undefined)
  void stint.enqueue(withDefault, { n: 2 })
})

test('the transaction has the type of the adapter', () => {
  interface MyTransaction {
    send(text: string): Promise<unknown[]>
  }
  const mine = new Stint({ adapter: (tx: MyTransaction) => (text) => tx.send(text) })
  const noop = defineJob({ kind: 'noop' })
  void mine.enqueue(noop, {}, { tx: { send: () => Promise.resolve([]) } })
  // @ts-expect-error not a transaction of that library
  void mine.enqueue(noop, {}, { tx: { query: () => Promise.resolve([]) } })
})

test('a retry rule accepts only known failure classes', () => {
  const job = defineJob({
    kind: 'mail.send',
    retry: {
      classes: {
        timeout: 'dead',
        'rate-limited': { attempts: 100, backoff: { base: '5s' } },
        crash: undefined,
      },
      classify: (error) => {
        expectTypeOf(error).toEqualTypeOf<unknown>()
        return error instanceof TypeError ? 'permanent' : undefined
      },
    },
  })
  expectTypeOf(job.retry.rules).toEqualTypeOf<Readonly<Record<FailureClass, ClassRule>>>()
  // @ts-expect-error no such class
  defineJob({ kind: 'a', retry: { classes: { timeouts: 'dead' } } })
  // @ts-expect-error no such action
  defineJob({ kind: 'a', retry: { classes: { timeout: 'later' } } })
  // @ts-expect-error no such class
  defineJob({ kind: 'a', retry: { classify: () => 'flaky' } })
})
