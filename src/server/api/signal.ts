import { z } from '@hono/zod-openapi'
import { Id, Reason, Time } from './common.ts'

export const SignalBody = z
  .strictObject({
    payload: z.unknown().optional().describe('Any JSON, at most 64 KiB. By default an empty object.'),
    key: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe('A second signal of this name with the same key to the same job is a duplicate.'),
    reason: Reason.optional(),
  })
  .openapi('SignalBody')

export const SentSignal = z
  .object({
    id: Id.describe('Of the signal; of the earlier one if this is a duplicate.'),
    duplicate: z.boolean(),
    asOf: Time,
  })
  .openapi('SentSignal')
export type SentSignal = z.infer<typeof SentSignal>
