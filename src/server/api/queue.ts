import { z } from '@hono/zod-openapi'
import { countedStates } from '../../stats/read/queues/figures.ts'
import { DurationText, Name, Reason, Time } from './common.ts'

/** A pause that is in effect. */
export const Pause = z
  .object({
    kind: z.string().nullable().describe('Only jobs of this kind are paused; null: of any kind.'),
    key: z.string().nullable().describe('Only jobs with this key are paused; null: with any key, or none.'),
    since: Time.nullable(),
    until: Time.nullable().describe('Null: until it is resumed.'),
    by: z.string().nullable(),
    reason: z.string().nullable(),
  })
  .openapi('Pause')
export type Pause = z.infer<typeof Pause>

const Pauses = z
  .array(Pause)
  .describe('The pauses in effect: that of the queue itself first, then up to 20 of its kinds and keys.')

const Percentiles = z.object({
  p50: z.number().nullable(),
  p95: z.number().nullable(),
  p99: z.number().nullable(),
})

const States = z.array(z.enum(countedStates))

/** The figures of a queue. They come from gauges and stat_minute: a request counts no live job. */
export const QueueFigures = z
  .object({
    queue: z.string(),
    scheduled: z.int(),
    waiting: z.int(),
    ready: z.int(),
    running: z.int(),
    retrying: z.int(),
    dead: z.int().describe('Without those in the trash and those edited into another job.'),
    pauses: Pauses,
    estimated: States.describe('The states whose count is an estimate.'),
    atLeast: States.describe('The states whose counting stopped at a limit: there may be more.'),
    oldestReadyMs: z.number().nullable(),
    slots: z.int().describe('Of live workers together.'),
    workers: z.int().describe('Live workers that serve the queue.'),
    inPerSecond: z.number().describe('Enqueued, over the last 5 minutes.'),
    outPerSecond: z.number().describe('Left for good, over the last 5 minutes.'),
    emptyInMs: z
      .number()
      .nullable()
      .describe('Until no job is ready, at these rates; null if the queue does not get shorter.'),
    failureRate: z.number().nullable().describe('Over the last hour, 0 to 1.'),
    wait: Percentiles.describe('Milliseconds, over the last hour.'),
    run: Percentiles.describe('Milliseconds, over the last hour.'),
    spark: z.array(z.number()).describe('Jobs ended in each of the last 60 minutes, the current one last.'),
    countedAt: Time.nullable().describe('When the live jobs were counted; null if they never were.'),
  })
  .openapi('QueueFigures')
export type QueueFigures = z.infer<typeof QueueFigures>

/** How many jobs of a queue each worker runs at once, instead of what its code says. */
export const QueueConcurrency = z
  .object({
    concurrency: z.int().nullable().describe('Null: what the code of each worker says.'),
    until: Time.nullable().describe('Null: until it is cleared.'),
    reason: z.string().nullable(),
    asOf: Time,
  })
  .openapi('QueueConcurrency')
export type QueueConcurrency = z.infer<typeof QueueConcurrency>

export const QueueConcurrencyBody = z
  .strictObject({
    concurrency: z.int().min(1).max(10_000),
    until: Time.optional(),
    for: DurationText.optional().describe('Instead of `until`.'),
    reason: Reason.optional(),
  })
  .openapi('QueueConcurrencyBody')

export const QueueList = z.object({ items: z.array(QueueFigures), asOf: Time }).openapi('QueueList')
export type QueueList = z.infer<typeof QueueList>

export const QueueDetails = QueueFigures.extend({
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
  retryBudget: z
    .object({ share: z.number(), least: z.number(), windowMs: z.number() })
    .nullable()
    .describe('In each window, retries are at most `share` × the first attempts + `least`; null: no budget.'),
  asOf: Time,
}).openapi('QueueDetails')
export type QueueDetails = z.infer<typeof QueueDetails>

export const QueueSettingsBody = z.strictObject({
  keep: z.union([DurationText, z.literal('default'), z.literal('0')]).optional(),
  keepDead: z.union([DurationText, z.literal('forever')]).optional(),
  reason: Reason.optional(),
})

const Part = {
  kind: Name.optional().describe('Only jobs of this kind; not with `key`.'),
  key: z.string().min(1).max(512).optional().describe('Only jobs with this key; not with `kind`.'),
}
export const PauseQueueBody = z.strictObject({
  ...Part,
  until: Time.optional().describe('When the pause ends by itself; left out: when it is resumed.'),
  for: DurationText.optional().describe('How long it lasts, instead of `until`.'),
  reason: Reason,
})
export const ResumeQueueBody = z.strictObject({ ...Part, reason: Reason.optional() })

/** The settings of a queue; null: the default. */
export const QueueSettings = z
  .object({
    queue: z.string(),
    keepMs: z.number().nullable(),
    keepDeadMs: z.number().nullable(),
    updatedAt: Time.nullable(),
    pauses: z.array(Pause).describe('The pauses in effect.'),
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

/** The counts of a queue, a kind, both or everything, as one series. */
export const StatSeries = z
  .object({
    from: Time,
    to: Time,
    since: Time.nullable().describe(
      'When counting began: when the tables were made, or at the first counts if these are older.',
    ),
    stepMs: z.number(),
    points: z.array(StatPoint).describe('At most 1,000; steps without counts are included, with zeros.'),
    total: StatPoint.omit({ at: true }).extend({ failureRate: z.number().nullable(), perSecond: z.number() }),
    sampled: z
      .number()
      .describe('The share of the measured rows that the percentiles are computed from; 1: all of them.'),
    deploys: z
      .array(z.object({ at: Time, version: z.string() }))
      .describe('The first start of each version of the app.'),
    asOf: Time,
  })
  .openapi('StatSeries')
export type StatSeries = z.infer<typeof StatSeries>
