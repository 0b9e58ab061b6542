import { z } from '@hono/zod-openapi'
import { DurationText, Reason, Time } from './common.ts'

const Percentiles = z.object({
  p50: z.number().nullable(),
  p95: z.number().nullable(),
  p99: z.number().nullable(),
})

/** What a queue has and how it fares; from gauges and stat_minute, never counted on request. */
export const QueueItem = z
  .object({
    queue: z.string(),
    scheduled: z.int(),
    waiting: z.int(),
    ready: z.int(),
    running: z.int(),
    retrying: z.int(),
    dead: z.object({ count: z.int(), exact: z.boolean() }),
    estimated: z.array(z.string()).describe('The states whose figure is an estimate.'),
    oldestReadyMs: z.number().nullable(),
    slots: z.int().describe('Of live workers together.'),
    workers: z.int(),
    inPerSecond: z.number().describe('Enqueued, over the last 5 minutes.'),
    outPerSecond: z.number().describe('Left for good, over the last 5 minutes.'),
    emptyInMs: z.number().nullable(),
    failureRate: z.number().nullable().describe('Over the last hour, 0 to 1.'),
    wait: Percentiles.describe('Milliseconds, over the last hour.'),
    run: Percentiles,
    spark: z.array(z.number()).describe('Jobs ended in each of the last 60 minutes, the current one last.'),
    gaugesAt: Time.nullable().describe('When it was counted; null where no worker does.'),
  })
  .openapi('QueueItem')
export type QueueItem = z.infer<typeof QueueItem>

export const QueueList = z.object({ items: z.array(QueueItem), asOf: Time }).openapi('QueueList')
export type QueueList = z.infer<typeof QueueList>

export const QueueDetail = QueueItem.extend({
  kinds: z.array(
    z.object({
      kind: z.string(),
      ready: z.int(),
      running: z.int(),
      retrying: z.int(),
      scheduled: z.int(),
      waiting: z.int(),
      perSecond: z.number().describe('Over the same minutes as `outPerSecond` of the queue.'),
      failureRate: z.number().nullable().describe('Over the last hour, 0 to 1.'),
      run: Percentiles,
      handled: z.boolean().describe('A live worker handles it.'),
    }),
  ),
  priorities: z.array(z.object({ priority: z.int(), ready: z.int() })),
  topKeys: z.array(z.object({ key: z.string(), ready: z.int() })),
  settings: z.object({ keepMs: z.number().nullable(), keepDeadMs: z.number().nullable() }),
  asOf: Time,
}).openapi('QueueDetail')
export type QueueDetail = z.infer<typeof QueueDetail>

export const QueueSettingsBody = z.strictObject({
  keep: z.union([DurationText, z.literal('default'), z.literal('0')]).optional(),
  keepDead: z.union([DurationText, z.literal('forever')]).optional(),
  reason: Reason.optional(),
})

/** What is set for a queue; null: the default. */
export const QueueSettings = z
  .object({
    queue: z.string(),
    keepMs: z.number().nullable(),
    keepDeadMs: z.number().nullable(),
    updatedAt: Time.nullable(),
    asOf: Time,
  })
  .openapi('QueueSettings')
export type QueueSettings = z.infer<typeof QueueSettings>

export const StatPoint = z.object({
  at: Time,
  enqueued: z.int(),
  started: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  dead: z.int(),
  leaseExpired: z.int(),
  refused: z.int(),
  waitP50: z.number().nullable(),
  waitP95: z.number().nullable(),
  runP50: z.number().nullable(),
  runP95: z.number().nullable(),
})

/** All that happened to what was asked for, as one series. */
export const StatSeries = z
  .object({
    from: Time,
    to: Time,
    since: Time.nullable().describe('Since when something could be counted at all.'),
    stepMs: z.number(),
    points: z
      .array(StatPoint)
      .describe('At most 1,000; steps in which nothing happened are there, with zeros.'),
    total: StatPoint.omit({ at: true }).extend({ failureRate: z.number().nullable(), perSecond: z.number() }),
    sampled: z
      .number()
      .describe('The share of what was measured that the percentiles are made of; 1: all of it.'),
    deploys: z.array(z.object({ at: Time, version: z.string() })).describe('First boots of a version.'),
    asOf: Time,
  })
  .openapi('StatSeries')
export type StatSeries = z.infer<typeof StatSeries>
