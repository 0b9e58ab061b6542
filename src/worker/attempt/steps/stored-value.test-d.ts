import { expectTypeOf } from 'vitest'
import { typed } from '../../../contracts/define-job.ts'
import { defineSignal } from '../../../contracts/signal.ts'
import type { HandlerContext } from '../handler-context.ts'
import type { Stored } from './stored-value.ts'

// A step returns what JSON gives back.
expectTypeOf<Stored<{ at: Date; tags: readonly string[]; note?: string }>>().toEqualTypeOf<{
  at: string
  tags: string[]
  note?: string
}>()
expectTypeOf<Stored<unknown>>().toEqualTypeOf<unknown>()
expectTypeOf<Stored<undefined>>().toEqualTypeOf<undefined>()
expectTypeOf<Stored<string | null>>().toEqualTypeOf<string | null>()

export async function handler(ctx: HandlerContext): Promise<void> {
  expectTypeOf(await ctx.step('date', () => new Date())).toEqualTypeOf<string>()
  expectTypeOf(await ctx.step('list', () => Promise.resolve([1, 2]))).toEqualTypeOf<number[]>()
  const approved = defineSignal({ name: 'approved', payload: typed<{ by: string }>() })
  // Only a wait with a timeout can time out.
  expectTypeOf((await ctx.waitForSignal(approved)).payload).toEqualTypeOf<{ by: string }>()
  const answer = await ctx.waitForSignal(approved, { timeout: '1d' })
  // @ts-expect-error There is no payload before `timedOut` is checked.
  expectTypeOf(answer.payload)
  if (!answer.timedOut) expectTypeOf(answer.payload.by).toEqualTypeOf<string>()
}
