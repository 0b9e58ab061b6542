import { z } from '@hono/zod-openapi'
import { errorStatuses } from '../../core/failures/error-status.ts'
import { DurationText, pageOf, Reason, Time } from './common.ts'

export const ErrorGroupItem = z
  .object({
    group: z.string(),
    kind: z.string(),
    class: z.string(),
    name: z.string(),
    title: z.string().describe('Its message without what differs from one failure to the next.'),
    status: z.enum(errorStatuses),
    firstSeen: Time,
    lastSeen: Time,
    versions: z.array(z.string()),
    sampleJob: z.string().nullable(),
    resolvedAt: Time.nullable(),
    resolvedIn: z.string().nullable(),
    ignoredUntil: Time.nullable(),
    regressedAt: Time.nullable(),
    failures: z.int().describe('Attempts that failed so within 24 hours, and were followed by another.'),
    deaths: z.int().describe('Jobs that died of it within 24 hours.'),
    dead: z
      .object({ count: z.int(), exact: z.boolean() })
      .describe('Dead letters of it now, counted up to 1,000.'),
    trend: z
      .array(z.object({ at: Time, failures: z.int(), deaths: z.int() }))
      .describe('24 hours, one each.'),
  })
  .openapi('ErrorGroupItem')
export type ErrorGroupItem = z.infer<typeof ErrorGroupItem>

export const ErrorGroupPage = pageOf(ErrorGroupItem)
  .extend({ trash: z.object({ count: z.int(), exact: z.boolean() }), oldestDiedAt: Time.nullable() })
  .openapi('ErrorGroupPage')
export type ErrorGroupPage = z.infer<typeof ErrorGroupPage>

export const ErrorGroupDetail = ErrorGroupItem.extend({
  message: z.string().describe('As it was said last.'),
  stack: z.string().nullable().describe('Of the sample job.'),
  hours: z.array(z.object({ at: Time, failures: z.int(), deaths: z.int() })).describe('Up to 30 days.'),
  asOf: Time,
}).openapi('ErrorGroupDetail')
export type ErrorGroupDetail = z.infer<typeof ErrorGroupDetail>

export const ResolveBody = z.strictObject({
  version: z.string().min(1).max(200).optional(),
  reason: Reason.optional(),
})
export const IgnoreBody = z.strictObject({
  until: Time.optional(),
  for: DurationText.optional(),
  reason: Reason.optional(),
})
export const ReopenBody = z.strictObject({ reason: Reason.optional() })
