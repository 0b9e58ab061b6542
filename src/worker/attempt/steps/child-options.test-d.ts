import { expectTypeOf } from 'vitest'
import { defineJob, typed } from '../../../contracts/define-job.ts'
import type { HandlerContext } from '../handler-context.ts'
import type { Ended, OnDead } from './child-options.ts'

const draft = defineJob({
  kind: 'draft',
  input: typed<{ segment: string }>(),
  output: typed<{ text: string; at: Date }>(),
})
const count = defineJob({ kind: 'count', output: typed<number>() })

/** A result as JSON gives it back. */
interface Draft {
  text: string
  at: string
}

export async function handler(ctx: HandlerContext, policy: OnDead): Promise<void> {
  const inputs = [{ segment: 'a' }]
  // The result of each policy.
  expectTypeOf(await ctx.all(draft, inputs)).toEqualTypeOf<Draft[]>()
  expectTypeOf(await ctx.all(draft, inputs, { onDead: 'fail' })).toEqualTypeOf<Draft[]>()
  expectTypeOf(await ctx.all(draft, inputs, { onDead: 'cancel' })).toEqualTypeOf<Draft[]>()
  expectTypeOf(await ctx.all(draft, inputs, { onDead: 'ignore' })).toEqualTypeOf<Draft[]>()
  expectTypeOf(await ctx.all(draft, inputs, { onDead: 'collect' })).toEqualTypeOf<Ended<Draft>[]>()
  expectTypeOf(await ctx.all(draft, inputs, { onDead: policy })).toEqualTypeOf<Draft[] | Ended<Draft>[]>()

  // Children of different kinds keep their own types, in their order.
  const one = await ctx.spawn(draft, { segment: 'a' })
  const two = await ctx.spawn(count, null)
  expectTypeOf(await ctx.all([one, two])).toEqualTypeOf<[Draft, number]>()
  expectTypeOf(await ctx.all([one, two], { onDead: 'collect' })).toEqualTypeOf<
    [Ended<Draft>, Ended<number>]
  >()
  expectTypeOf(await ctx.all([one, two], { onDead: 'ignore' })).toEqualTypeOf<(Draft | number)[]>()

  for await (const ended of (await ctx.spawnAll(draft, inputs)).results()) {
    // @ts-expect-error Only a child that succeeded has a result.
    expectTypeOf(ended.result)
    if (ended.state === 'succeeded') expectTypeOf(ended.result).toEqualTypeOf<Draft>()
    if (ended.state === 'dead') expectTypeOf(ended.error.message).toEqualTypeOf<string>()
  }

  // Only a wait with a timeout can time out.
  expectTypeOf(await ctx.waitForJob(draft, 'id')).toEqualTypeOf<Ended<Draft>[]>()
  const late = await ctx.waitForJob(draft, ['id'], { timeout: '1h' })
  if ('timedOut' in late) expectTypeOf(late.timedOut).toEqualTypeOf<true>()

  // @ts-expect-error The input is not that of the contract.
  await ctx.spawn(draft, { segment: 1 })
  // @ts-expect-error One of the inputs is not that of the contract.
  await ctx.all(draft, [{ segment: 'a' }, { text: 'b' }])
  // @ts-expect-error There is no such policy.
  await ctx.all(draft, inputs, { onDead: 'explode' })
  // @ts-expect-error A child is a job of its own.
  await ctx.spawn(draft, { segment: 'a' }, { idempotencyKey: 'k' })
}
