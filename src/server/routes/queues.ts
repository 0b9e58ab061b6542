import { createRoute, z } from '@hono/zod-openapi'
import { Name } from '../api/common.ts'
import { QueueDetails, QueueList, QueueSettings, QueueSettingsBody } from '../api/queue.ts'
import type { Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { requireOperator } from '../auth/operator.ts'
import { HttpProblem } from '../http/problem.ts'
import { accepts, problems } from '../http/route-parts.ts'
import { wire } from '../http/wire.ts'

const list = createRoute({
  method: 'get',
  path: '/v1/queues',
  tags: ['Queues'],
  summary: 'Every queue that has jobs, had some within the last hour, or is served by a worker',
  'x-action': 'view',
  'x-cli': 'stint status',
  responses: {
    200: { description: 'By name.', content: { 'application/json': { schema: QueueList } } },
    ...problems(401, 403, 503),
  },
})

const one = createRoute({
  method: 'get',
  path: '/v1/queues/{queue}',
  tags: ['Queues'],
  summary: 'A queue with its kinds, priorities, busiest keys and settings',
  'x-action': 'view',
  'x-cli': 'stint queue get {queue}',
  request: { params: z.object({ queue: Name }) },
  responses: {
    200: { description: 'The queue.', content: { 'application/json': { schema: QueueDetails } } },
    ...problems(400, 401, 403, 404, 422, 503),
  },
})

const set = createRoute({
  method: 'patch',
  path: '/v1/queues/{queue}',
  tags: ['Queues'],
  summary: 'Set how long a queue keeps its jobs; fields that are left out stay unchanged',
  'x-action': 'queue.edit',
  'x-cli': 'stint queue set {queue} --keep {keep} --keep-dead {keepDead}',
  request: { params: z.object({ queue: Name }), body: accepts(QueueSettingsBody) },
  responses: {
    200: { description: 'The new settings.', content: { 'application/json': { schema: QueueSettings } } },
    ...problems(400, 401, 403, 404, 413, 415, 422, 503),
  },
})

export const queueRoutes: Routes = (app, parts) => {
  const { reads, stint } = parts
  app.openapi(list, async (c) => {
    const caller = requirePermission(c, 'view')
    const { queues, asOf } = await reads.queues.get()
    const items = queues.filter(({ queue }) => caller.can('view', { queue }))
    return c.json(wire({ items, asOf }), 200)
  })
  app.openapi(one, async (c) => {
    const { queue } = c.req.valid('param')
    const caller = requirePermission(c, 'view', { queue })
    const found = await stint.view.queue(queue)
    if (found === undefined) throw unknownQueue(queue)
    const kinds = found.kinds.filter(({ kind }) => caller.can('view', { queue, kind }))
    const topKeys = found.topKeys.filter(({ key }) => caller.can('view', { queue, key }))
    return c.json(wire({ ...found, kinds, topKeys }), 200)
  })
  app.openapi(set, async (c) => {
    const { queue } = c.req.valid('param')
    const { keep, keepDead, reason } = c.req.valid('json')
    const operator = await requireOperator(c, parts, {
      action: 'queue.edit',
      act: 'queue.set',
      target: queue,
      resource: { queue },
      reason,
    })
    const settings = await operator.setQueue(queue, {
      keep: keep === '0' ? 0 : keep,
      keepDead,
      reason,
    })
    return c.json(wire({ ...settings, asOf: new Date() }), 200)
  })
}

function unknownQueue(queue: string): HttpProblem {
  return new HttpProblem({
    status: 404,
    code: 'queue-not-found',
    title: 'No such queue',
    detail: `Queue '${queue}' has no jobs, had none in the last hour, and no worker serves it.`,
  })
}
