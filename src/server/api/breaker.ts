import { z } from '@hono/zod-openapi'
import { DurationText, pageOf, Reason, Time } from './common.ts'

const State = z.enum(['closed', 'open', 'half-open'])

export const BreakerCause = z
  .object({
    failed: z.number().optional().describe('Failures that count, `of` so many outcomes.'),
    of: z.number().optional(),
    error: z.string().optional().describe('One of the errors.'),
    fingerprint: z.string().optional().describe('The error group of that error.'),
    probed: z.number().optional().describe('Probes that succeeded.'),
    until: z.string().optional().describe('When a forced state ends.'),
  })
  .openapi('BreakerCause')

export const BreakerItem = z
  .object({
    name: z.string(),
    state: State,
    since: Time.nullable(),
    cause: BreakerCause.nullable().describe('Why it is not closed.'),
    probeAt: Time.nullable().describe('When it may be probed; null unless it is open.'),
    probed: z.int().describe('Probes that succeeded since it is half-open, of `probes`.'),
    opens: z.int().describe('How often it opened in a row.'),
    changes: z.number().describe('How often its state has changed.'),
    forced: z
      .object({ until: Time.nullable(), by: z.string().nullable(), reason: z.string().nullable() })
      .nullable()
      .describe('A person set the state until this time.'),
    seen: z.object({ ok: z.number(), failed: z.number() }).describe('The outcomes of its window.'),
    windowMs: z.number(),
    share: z.number().describe('It opens at this share of failures.'),
    least: z.int().describe('It opens after at least this many outcomes.'),
    openMs: z.number(),
    mostOpenMs: z.number(),
    probes: z.int(),
    counts: z.array(z.string()).describe('The classes of failures that count.'),
    covers: z
      .array(z.object({ queue: z.string(), kinds: z.array(z.string()) }))
      .describe('The kinds of jobs that wait while it is open.'),
    source: z.enum(['code', 'runtime']),
    updatedAt: Time.nullable(),
  })
  .openapi('BreakerItem')
export type BreakerItem = z.infer<typeof BreakerItem>

export const BreakerList = pageOf(BreakerItem).openapi('BreakerList')
export type BreakerList = z.infer<typeof BreakerList>

export const BreakerDetail = BreakerItem.extend({
  recent: z
    .array(
      z.object({
        at: Time.nullable(),
        was: State,
        state: State,
        cause: BreakerCause.nullable(),
        by: z.string().nullable(),
        reason: z.string().nullable(),
      }),
    )
    .describe('The last 200 changes of the last 30 days, newest first.'),
  asOf: Time,
}).openapi('BreakerDetail')
export type BreakerDetail = z.infer<typeof BreakerDetail>

export const ForceBreakerBody = z
  .strictObject({
    until: Time.optional().describe('When it ends by itself: this, or `for`.'),
    for: DurationText.optional(),
    reason: Reason.optional(),
  })
  .openapi('ForceBreaker')
export const BreakerActBody = z.strictObject({ reason: Reason.optional() }).openapi('BreakerAct')
