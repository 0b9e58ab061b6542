import { z } from '@hono/zod-openapi'
import { Time } from './common.ts'
import { QueueFigures } from './queue.ts'

/** A problem that needs a person. */
export const OverviewProblem = z
  .object({
    level: z.enum(['fail', 'warn']),
    about: z.enum(['error-group', 'queue', 'worker', 'schedule', 'service', 'database', 'operation']),
    title: z.string(),
    detail: z.string(),
    link: z.string().describe('The path of its screen in the dashboard, from the base.'),
  })
  .openapi('OverviewProblem')
export type OverviewProblem = z.infer<typeof OverviewProblem>

export const Overview = z
  .object({
    problems: z.array(OverviewProblem).describe('The worst first.'),
    queues: z.array(QueueFigures),
    perSecond: z.number().describe('Jobs that left for good, over the last 5 minutes.'),
    failureRate: z.number().nullable().describe('Over the last hour, 0 to 1.'),
    waitP95: z.number().nullable().describe('Milliseconds, over the last hour.'),
    oldestReadyMs: z.number().nullable(),
    dead: z
      .object({ count: z.int(), exact: z.boolean() })
      .describe('Of all queues; not exact if the counting stopped at a limit.'),
    workers: z.int().describe('Live workers that run jobs; not those that only execute operations.'),
    slots: z.int(),
    running: z.int(),
    asOf: Time,
  })
  .openapi('Overview')
export type Overview = z.infer<typeof Overview>
