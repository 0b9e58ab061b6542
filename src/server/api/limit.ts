import { z } from '@hono/zod-openapi'
import { DurationText, Id, pageOf, Reason, Time } from './common.ts'

const Override = z.object({
  to: z.number().describe('Instead of `declared`.'),
  until: Time.nullable().describe('Null: until it is cleared.'),
  by: z.string().nullable(),
  reason: z.string().nullable(),
})

export const LimitItem = z
  .object({
    name: z.string(),
    type: z
      .enum(['concurrency', 'rate', 'missing'])
      .describe('`missing`: there are rules of keys, but no limit of this name.'),
    byKey: z.boolean().describe('Each key counts by itself.'),
    covers: z.array(z.object({ queue: z.string(), kinds: z.array(z.string()).nullable() })),
    max: z.number().nullable().describe('Jobs at once, as it holds now; null for a rate.'),
    tokens: z.number().nullable().describe('Tokens per period, as it holds now; null for a limit.'),
    declared: z.number().nullable().describe('`max` or `tokens` in code.'),
    tiers: z.record(z.string(), z.number()),
    onLimit: z.string().nullable(),
    periodMs: z.number().nullable(),
    burst: z.number().nullable(),
    keep: z.number().nullable(),
    override: Override.nullable(),
    used: z.int().nullable().describe('The running jobs that it counts, of all keys together.'),
    available: z.number().nullable().describe('Tokens in the bucket.'),
    nextTokenMs: z.number().nullable().describe('When a job of one token may start; 0: now.'),
    blockedUntil: Time.nullable().describe('It was penalised, and gives no token until then.'),
    keys: z
      .array(
        z.object({
          key: z.string(),
          used: z.int().nullable(),
          max: z.int().nullable(),
          available: z.number().nullable(),
          nextTokenMs: z.number().nullable(),
          ready: z.number().nullable(),
        }),
      )
      .describe('The keys that are nearest to their limit, up to 10.'),
    keysAtLimit: z.int(),
    readyBehind: z
      .number()
      .nullable()
      .describe('About how many ready jobs it keeps waiting; null if no worker counts them.'),
    keyRules: z.int().describe('Rules of single keys; counted up to 1,000.'),
    source: z.enum(['code', 'runtime']).nullable(),
    isOrphan: z.boolean().describe('No live worker has it in its code: it can be deleted.'),
    broken: z.string().nullable().describe('What is wrong with the stored row; such parts have no effect.'),
    updatedAt: Time.nullable(),
  })
  .openapi('LimitItem')
export type LimitItem = z.infer<typeof LimitItem>

export const LimitList = pageOf(LimitItem).openapi('LimitList')
export type LimitList = z.infer<typeof LimitList>

export const LimitDetail = LimitItem.extend({
  holders: z
    .array(
      z.object({
        id: Id,
        queue: z.string(),
        kind: z.string(),
        key: z.string().nullable(),
        workerId: Id.nullable(),
        startedAt: Time.nullable(),
      }),
    )
    .describe('The running jobs that it counts, the longest first; at most 10.'),
  version: z.string().describe('Also the `ETag`: send it as `If-Match` with a change.'),
  asOf: Time,
}).openapi('LimitDetail')
export type LimitDetail = z.infer<typeof LimitDetail>

export const KeyRule = z
  .object({
    key: z.string(),
    max: z.int().nullable(),
    weight: z.int().nullable(),
    tier: z.string().nullable(),
    until: Time.nullable().describe('Null: until it is cleared.'),
    isActive: z.boolean().describe('False once its end has come.'),
    by: z.string().nullable(),
    reason: z.string().nullable(),
    updatedAt: Time.nullable(),
  })
  .openapi('KeyRule')
export type KeyRule = z.infer<typeof KeyRule>

export const KeyRuleList = pageOf(KeyRule).openapi('KeyRuleList')
export type KeyRuleList = z.infer<typeof KeyRuleList>

const Until = z
  .union([z.literal('cleared'), Time])
  .describe('A time in the future, or `cleared`: until a person ends it.')

export const OverrideBody = z
  .strictObject({
    max: z.int().optional().describe('Jobs at once, for a concurrency limit; 0: none starts.'),
    tokens: z.int().optional().describe('Tokens per period, for a rate.'),
    until: Until.optional(),
    for: DurationText.optional().describe('Instead of `until`.'),
    reason: Reason.optional(),
  })
  .openapi('OverrideBody')

export const SetKeyBody = z
  .strictObject({
    max: z.int().optional().describe('Jobs of this key at once; 0: none starts.'),
    weight: z.int().optional().describe('Its share of the slots among the keys of its queues; 1 to 1,000.'),
    tier: z.string().min(1).max(128).optional().describe('A tier of the limit.'),
    until: Until.optional().describe('By default until it is cleared.'),
    for: DurationText.optional().describe('Instead of `until`.'),
    reason: Reason.optional(),
  })
  .openapi('SetKeyBody')

export const PenaliseBody = z
  .strictObject({
    key: z.string().min(1).max(512).optional().describe('The bucket, of a rate by key.'),
    until: Time.optional(),
    for: DurationText.optional().describe('Instead of `until`.'),
    reason: Reason.optional(),
  })
  .openapi('PenaliseBody')
