import { createRoute } from '@hono/zod-openapi'
import { LeaseList, WorkerList } from '../api/system.ts'
import type { Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { problems } from '../http/route-parts.ts'
import { wire } from '../http/wire.ts'
import { workerList } from '../answers/worker-list.ts'

const workers = createRoute({
  method: 'get',
  path: '/v1/workers',
  tags: ['Workers'],
  summary: 'Live workers, and workers lost in the last hour',
  'x-action': 'view',
  'x-cli': 'stint status',
  responses: {
    200: {
      description: 'The workers, live ones first.',
      content: { 'application/json': { schema: WorkerList } },
    },
    ...problems(401, 403, 503),
  },
})

const leases = createRoute({
  method: 'get',
  path: '/v1/leases',
  tags: ['Workers'],
  summary: 'Running jobs, sorted by the end of their lease',
  'x-action': 'view',
  'x-cli': 'stint job list --state running',
  responses: {
    200: { description: 'Up to 200 running jobs.', content: { 'application/json': { schema: LeaseList } } },
    ...problems(401, 403, 503),
  },
})

export const workerRoutes: Routes = (app, { reads }) => {
  app.openapi(workers, async (c) => {
    const caller = requirePermission(c, 'view')
    return c.json(workerList(caller, await reads.workers.get()), 200)
  })
  app.openapi(leases, async (c) => {
    const caller = requirePermission(c, 'view')
    const { items, more } = await reads.leases.get()
    const visible = items.filter(({ queue, kind, key }) => caller.can('view', { queue, kind, key }))
    return c.json(wire({ items: visible, more, asOf: new Date() }), 200)
  })
}
