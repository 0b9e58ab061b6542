import { createRoute, z } from '@hono/zod-openapi'
import { DurationText, Name, Time } from '../api/common.ts'
import { StatSeries } from '../api/queue.ts'
import type { Duration } from '../../core/duration.ts'
import type { Routes } from '../context.ts'
import { demand } from '../demand.ts'
import { problems } from '../route-parts.ts'
import { wire } from '../wire.ts'

const stats = createRoute({
  method: 'get',
  path: '/v1/stats',
  tags: ['Queues'],
  summary: 'What happened, as one line of at most 1,000 points',
  'x-action': 'view',
  'x-cli': 'stint stats',
  request: {
    query: z.object({
      queue: Name.optional(),
      kind: Name.optional(),
      from: Time.optional().describe('15 minutes before `to` where it is not said; within 31 days of it.'),
      to: Time.optional().describe('Now, where it is not said.'),
      step: DurationText.optional().describe('Whole minutes.'),
    }),
  },
  responses: {
    200: { description: 'The series.', content: { 'application/json': { schema: StatSeries } } },
    ...problems(400, 401, 403, 422, 503),
  },
})

export const statRoutes: Routes = (app, { stint }) => {
  app.openapi(stats, async (c) => {
    const { queue, kind, from, to, step } = c.req.valid('query')
    // Without a queue it is of all of them: not for those who may see only some.
    demand(c, 'view', queue === undefined && kind === undefined ? undefined : { queue, kind })
    const series = await stint.view.series({ queue, kind, from, to, step: step as Duration | undefined })
    return c.json(wire({ ...series, asOf: new Date() }), 200)
  })
}
