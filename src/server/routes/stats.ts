import { createRoute, z } from '@hono/zod-openapi'
import { DurationText, Name, Time } from '../api/common.ts'
import { StatSeries } from '../api/queue.ts'
import type { Duration } from '../../core/duration.ts'
import type { Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { problems } from '../http/route-parts.ts'
import { mayAll, tooWide } from '../auth/scope.ts'
import { wire } from '../http/wire.ts'
import { workersFor } from '../answers/worker-list.ts'

const stats = createRoute({
  method: 'get',
  path: '/v1/stats',
  tags: ['Queues'],
  summary: 'Counts over time, as one series of at most 1,000 points',
  'x-action': 'view',
  'x-cli': 'stint stats',
  request: {
    query: z.object({
      queue: Name.optional(),
      kind: Name.optional(),
      from: Time.optional().describe('15 minutes before `to` if left out; at most 92 days before it.'),
      to: Time.optional().describe('Now, if left out.'),
      step: DurationText.optional().describe('Whole minutes.'),
    }),
  },
  responses: {
    200: { description: 'The series.', content: { 'application/json': { schema: StatSeries } } },
    ...problems(400, 401, 403, 422, 503),
  },
})

export const statRoutes: Routes = (app, parts) => {
  const { stint, reads } = parts
  app.openapi(stats, async (c) => {
    const { queue, kind, from, to, step } = c.req.valid('query')
    const caller = requirePermission(
      c,
      'view',
      queue === undefined && kind === undefined ? undefined : { queue, kind },
    )
    const seesAll = mayAll(caller)
    // Without a queue the figures are those of all queues: not for callers who may see only some.
    if (queue === undefined && !seesAll)
      throw tooWide(
        'Without a queue these are the figures of all queues, and you may see only some of them.',
        '?queue=…',
      )
    const series = await stint.view.series({ queue, kind, from, to, step: step as Duration | undefined })
    if (seesAll) return c.json(wire({ ...series, asOf: new Date() }), 200)
    const { workers } = await reads.workers.get()
    const versions = new Set(workersFor(caller, workers).map(({ version }) => version))
    const deploys = series.deploys.filter(({ version }) => versions.has(version))
    return c.json(wire({ ...series, deploys, asOf: new Date() }), 200)
  })
}
