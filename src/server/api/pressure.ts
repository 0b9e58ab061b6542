import { z } from '@hono/zod-openapi'
import { Reason, Time } from './common.ts'

/** How full a queue is, or one key of it, and whether it takes jobs. */
export const QueuePressure = z
  .object({
    queue: z.string(),
    key: z.string().nullable(),
    state: z
      .enum(['open', 'warn', 'full', 'closed'])
      .describe(
        'open: jobs are stored; warn: a maximum is reached and only reported, or jobs of low priority are refused; full: jobs are refused; closed: the queue drains and takes none.',
      ),
    depth: z
      .number()
      .nullable()
      .describe('Jobs that wait: ready, scheduled, retrying and waiting ones; null: not counted.'),
    maxDepth: z.number().nullable(),
    oldestMs: z.number().nullable().describe('The age of the oldest ready job of the queue.'),
    maxAgeMs: z.number().nullable(),
    whenFull: z.enum(['reject', 'shed', 'warn']).nullable().describe('Null: the queue has no rule.'),
    isBroken: z.boolean().describe('The stored rule cannot be read, and is ignored.'),
    isEstimate: z.boolean().describe('`depth` is an estimate.'),
    retryAfterMs: z.number().nullable(),
    share: z
      .number()
      .nullable()
      .describe('The share of the maximum that is reached, the largest of depth and age; 1: full.'),
    closedAt: Time.nullable(),
    closeReason: z.string().nullable(),
    refused: z.number().describe('Jobs that producers were refused, in all.'),
    asOf: Time.nullable().describe('When the jobs were counted; null: never.'),
  })
  .openapi('QueuePressure')
export type QueuePressure = z.infer<typeof QueuePressure>

export const QueueReasonBody = z.strictObject({ reason: Reason.optional() })
