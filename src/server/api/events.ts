import { z } from '@hono/zod-openapi'

/** The topics of a stream: `overview`, `workers`, `queue:<name>`, `job:<id>`, `operation:<id>`. */
export const Topics = z
  .string()
  .min(1)
  .max(8_000)
  .describe('Separated by commas, up to 50: overview, workers, queue:<name>, job:<id>, operation:<id>.')
  .openapi({ example: 'overview,queue:mail' })

/** `event: snapshot`: the whole state of a topic. */
export const LiveSnapshot = z
  .object({
    topic: z.string(),
    data: z
      .unknown()
      .describe(
        'overview: Overview. workers: WorkerList. queue: QueueFigures. job: JobBrief. operation: OperationBrief. Null if it does not exist, or this caller may not see it.',
      ),
  })
  .openapi('LiveSnapshot')
export type LiveSnapshot = z.infer<typeof LiveSnapshot>

/** `event: delta`: what changed in a topic since its last event. */
export const LiveDelta = z
  .object({
    topic: z.string(),
    set: z.record(z.string(), z.unknown()).describe('The changed fields with their new values.'),
    lists: z
      .record(z.string(), z.object({ changed: z.array(z.unknown()), gone: z.array(z.string()) }))
      .describe(
        'Changes of lists with named items (queues by queue, items by id, services by name). `changed` has the new and changed items, `gone` the names of removed items.',
      ),
  })
  .openapi('LiveDelta')
export type LiveDelta = z.infer<typeof LiveDelta>

/** `event: activity`: jobs were stored in these queues. */
export const LiveActivity = z
  .object({ topic: z.string(), queues: z.array(z.string()) })
  .openapi('LiveActivity')
export type LiveActivity = z.infer<typeof LiveActivity>

/** `event: trouble`: the database does not answer, and the shown data stays as old as it is until `event: healed`. */
export const LiveTrouble = z.object({ detail: z.string(), since: z.string() }).openapi('LiveTrouble')
export type LiveTrouble = z.infer<typeof LiveTrouble>
