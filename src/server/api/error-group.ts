import { z } from '@hono/zod-openapi'
import { errorStatuses } from '../../core/failures/error-status.ts'
import { DurationText, pageOf, Reason, Time } from './common.ts'

export const ErrorGroupItem = z
  .object({
    group: z.string(),
    kind: z.string(),
    class: z.string(),
    name: z.string(),
    title: z.string().describe('The error message without the parts that differ between failures.'),
    status: z.enum(errorStatuses),
    firstSeen: Time,
    lastSeen: Time,
    versions: z.array(z.string()),
    sampleJob: z.string().nullable(),
    resolvedAt: Time.nullable(),
    resolvedIn: z.string().nullable(),
    ignoredUntil: Time.nullable(),
    regressedAt: Time.nullable(),
    failures: z.int().describe('Attempts of the last 24 hours that failed with this error and are retried.'),
    deaths: z.int().describe('Jobs of the last 24 hours that died of this error.'),
    dead: z
      .object({ count: z.int(), exact: z.boolean() })
      .describe('Dead letters with this error now; the count stops at 1,000.'),
    trend: z
      .array(z.object({ at: Time, failures: z.int(), deaths: z.int() }))
      .describe('One item for each of the last 24 hours.'),
  })
  .openapi('ErrorGroupItem')
export type ErrorGroupItem = z.infer<typeof ErrorGroupItem>

export const ErrorGroupPage = pageOf(ErrorGroupItem)
  .extend({ trash: z.object({ count: z.int(), exact: z.boolean() }), oldestDiedAt: Time.nullable() })
  .openapi('ErrorGroupPage')
export type ErrorGroupPage = z.infer<typeof ErrorGroupPage>

export const ErrorGroupDetail = ErrorGroupItem.extend({
  message: z.string().describe('The message of the last failure.'),
  stack: z.string().nullable().describe('The stack of the sample job.'),
  hours: z
    .array(z.object({ at: Time, failures: z.int(), deaths: z.int() }))
    .describe('One item per hour, for up to 30 days.'),
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
