import { createRoute } from '@hono/zod-openapi'
import { Overview } from '../api/overview.ts'
import type { Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { overviewFor } from '../answers/overview.ts'
import { problems } from '../http/route-parts.ts'

const overview = createRoute({
  method: 'get',
  path: '/v1/overview',
  tags: ['Queues'],
  summary: 'Problems, the worst first; the figures of all queues; sums',
  'x-action': 'view',
  'x-cli': 'stint status',
  responses: {
    200: { description: 'The overview.', content: { 'application/json': { schema: Overview } } },
    ...problems(401, 403, 503),
  },
})

export const overviewRoutes: Routes = (app, { reads }) => {
  app.openapi(overview, async (c) => {
    const caller = requirePermission(c, 'view')
    return c.json(overviewFor(caller, await reads.overview()), 200)
  })
}
