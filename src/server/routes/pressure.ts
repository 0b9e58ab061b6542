import { createRoute, z } from '@hono/zod-openapi'
import { Name } from '../api/common.ts'
import { QueuePressure, QueueReasonBody } from '../api/pressure.ts'
import type { Routes } from '../context.ts'
import { requireOperator } from '../auth/operator.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { accepts, problems } from '../http/route-parts.ts'
import { wire } from '../http/wire.ts'

const params = z.object({ queue: Name })

const read = createRoute({
  method: 'get',
  path: '/v1/queues/{queue}/pressure',
  tags: ['Queues'],
  summary: 'How full a queue is, or one key of it, and whether it takes jobs',
  'x-action': 'view',
  'x-cli': 'stint queue pressure {queue}',
  request: { params, query: z.object({ key: z.string().min(1).max(512).optional() }) },
  responses: {
    200: { description: 'The pressure.', content: { 'application/json': { schema: QueuePressure } } },
    ...problems(400, 401, 403, 404, 422, 503),
  },
})

function change(verb: 'drain' | 'open', summary: string) {
  return createRoute({
    method: 'post',
    path: `/v1/queues/{queue}/${verb}`,
    tags: ['Queues'],
    summary,
    'x-action': 'queue.edit',
    'x-cli': `stint queue ${verb} {queue}`,
    request: { params, body: accepts(QueueReasonBody) },
    responses: {
      200: { description: 'The queue now.', content: { 'application/json': { schema: QueuePressure } } },
      ...problems(400, 401, 403, 404, 413, 415, 422, 503),
    },
  })
}

const drain = change('drain', 'Close a queue for new jobs and let it run empty')
const open = change('open', 'Let a closed queue take jobs again')

export const pressureRoutes: Routes = (app, parts) => {
  const { stint } = parts
  app.openapi(read, async (c) => {
    const { queue } = c.req.valid('param')
    const { key } = c.req.valid('query')
    requirePermission(c, 'view', key === undefined ? { queue } : { queue, key })
    return c.json(wire(await stint.pressure(queue, { key })), 200)
  })
  app.openapi(drain, async (c) => {
    const { queue } = c.req.valid('param')
    const { reason } = c.req.valid('json')
    const doing = {
      action: 'queue.edit',
      act: 'queue.drain',
      target: queue,
      resource: { queue },
      reason,
    } as const
    const operator = await requireOperator(c, parts, doing)
    return c.json(wire(await operator.drainQueue(queue, { reason })), 200)
  })
  app.openapi(open, async (c) => {
    const { queue } = c.req.valid('param')
    const { reason } = c.req.valid('json')
    const doing = {
      action: 'queue.edit',
      act: 'queue.open',
      target: queue,
      resource: { queue },
      reason,
    } as const
    const operator = await requireOperator(c, parts, doing)
    return c.json(wire(await operator.openQueue(queue, { reason })), 200)
  })
}
