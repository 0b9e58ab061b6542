import { z } from '@hono/zod-openapi'

/** What a stream can be about: `overview`, `workers`, `queue:<name>`, `job:<id>`, `operation:<id>`. */
export const Topics = z
  .string()
  .min(1)
  .max(8_000)
  .describe('Separated by commas, up to 50: overview, workers, queue:<name>, job:<id>, operation:<id>.')
  .openapi({ example: 'overview,queue:mail' })

/** `event: snapshot`: all there is to know of a topic. */
export const LiveSnapshot = z
  .object({
    topic: z.string(),
    data: z
      .unknown()
      .describe(
        'overview: Overview. workers: WorkerList. queue: QueueItem. job: JobBrief. operation: OperationBrief. Null where it is not there, or not for this caller.',
      ),
  })
  .openapi('LiveSnapshot')
export type LiveSnapshot = z.infer<typeof LiveSnapshot>

/** `event: delta`: what has changed of a topic since the event before it. */
export const LiveDelta = z
  .object({
    topic: z.string(),
    set: z.record(z.string(), z.unknown()).describe('Fields that have another value now.'),
    lists: z
      .record(z.string(), z.object({ changed: z.array(z.unknown()), gone: z.array(z.string()) }))
      .describe(
        'Of lists with named items (queues by queue, items by id, services by name): those that are new or other, whole; and the names of those that are gone.',
      ),
  })
  .openapi('LiveDelta')
export type LiveDelta = z.infer<typeof LiveDelta>

/** `event: activity`: something was stored in these queues. */
export const LiveActivity = z
  .object({ topic: z.string(), queues: z.array(z.string()) })
  .openapi('LiveActivity')
export type LiveActivity = z.infer<typeof LiveActivity>

/** `event: trouble`: the database does not answer. What was shown is as old as that; `event: healed` ends it. */
export const LiveTrouble = z.object({ detail: z.string(), since: z.string() }).openapi('LiveTrouble')
export type LiveTrouble = z.infer<typeof LiveTrouble>
