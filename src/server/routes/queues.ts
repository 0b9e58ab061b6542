import { createRoute, z } from '@hono/zod-openapi'
import { Name, Reason } from '../api/common.ts'
import type { Context } from 'hono'
import type { Operator } from '../../client/operator/operator.ts'
import { withPausesFor } from '../answers/pauses.ts'
import {
  PauseQueueBody,
  QueueConcurrency,
  QueueConcurrencyBody,
  QueueDetails,
  QueueList,
  QueueSettings,
  QueueSettingsBody,
  ResumeQueueBody,
} from '../api/queue.ts'
import { AllOf, tooWide } from '../auth/scope.ts'
import type { ConsoleParts, Env, Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { requireOperator } from '../auth/operator.ts'
import { HttpProblem } from '../http/problem.ts'
import { accepts, problems } from '../http/route-parts.ts'
import { wire } from '../http/wire.ts'

const list = createRoute({
  method: 'get',
  path: '/v1/queues',
  tags: ['Queues'],
  summary: 'Every queue that has jobs, had some within the last hour, is served by a worker, or is paused',
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

const settings = {
  200: {
    description: 'The settings and pauses.',
    content: { 'application/json': { schema: QueueSettings } },
  },
  ...problems(400, 401, 403, 404, 413, 415, 422, 503),
}
const pause = createRoute({
  method: 'post',
  path: '/v1/queues/{queue}/pause',
  tags: ['Queues'],
  summary: 'Start no more jobs of a queue, or of one kind or key of it; the queue need not exist yet',
  'x-action': 'pause',
  'x-cli': 'stint queue pause {queue} --reason {reason}',
  request: { params: z.object({ queue: Name }), body: accepts(PauseQueueBody) },
  responses: settings,
})

const resume = createRoute({
  method: 'post',
  path: '/v1/queues/{queue}/resume',
  tags: ['Queues'],
  summary: 'End the pause of a queue, or of one kind or key of it',
  'x-action': 'pause',
  'x-cli': 'stint queue resume {queue}',
  request: { params: z.object({ queue: Name }), body: accepts(ResumeQueueBody) },
  responses: settings,
})

const concurrency = createRoute({
  method: 'get',
  path: '/v1/queues/{queue}/concurrency',
  tags: ['Queues'],
  summary: 'The concurrency that was set for a queue instead of that in the code of its workers',
  'x-action': 'view',
  'x-cli': 'stint queue concurrency {queue}',
  request: { params: z.object({ queue: Name }) },
  responses: {
    200: { description: 'What holds now.', content: { 'application/json': { schema: QueueConcurrency } } },
    ...problems(400, 401, 403, 422, 503),
  },
})

const setConcurrency = createRoute({
  method: 'put',
  path: '/v1/queues/{queue}/concurrency',
  tags: ['Queues'],
  summary: 'Set how many jobs of a queue each running worker runs at once, for a time or until it is cleared',
  'x-action': 'queue.edit',
  'x-cli': 'stint queue concurrency {queue} {concurrency}',
  request: { params: z.object({ queue: Name }), body: accepts(QueueConcurrencyBody) },
  responses: {
    200: { description: 'What holds now.', content: { 'application/json': { schema: QueueConcurrency } } },
    ...problems(400, 401, 403, 413, 415, 422, 503),
  },
})

const clearConcurrency = createRoute({
  method: 'delete',
  path: '/v1/queues/{queue}/concurrency',
  tags: ['Queues'],
  summary: 'Clear it: workers run as many jobs as their code says',
  'x-action': 'queue.edit',
  'x-cli': 'stint queue concurrency {queue} --clear',
  request: { params: z.object({ queue: Name }), query: z.object({ reason: Reason.optional() }) },
  responses: { 204: { description: 'Cleared.' }, ...problems(400, 401, 403, 422, 503) },
})

const notSet = { concurrency: null, until: null, reason: null }

export const queueRoutes: Routes = (app, parts) => {
  const { reads, stint } = parts
  app.openapi(list, async (c) => {
    const caller = requirePermission(c, 'view')
    const { queues, asOf } = await reads.queues.get()
    const items = queues
      .filter(({ queue }) => caller.can('view', { queue }))
      .map((one) => withPausesFor(caller, one))
    return c.json(wire({ items, asOf }), 200)
  })
  app.openapi(one, async (c) => {
    const { queue } = c.req.valid('param')
    const caller = requirePermission(c, 'view', { queue })
    const found = await stint.view.queue(queue)
    if (found === undefined) throw unknownQueue(queue)
    const kinds = found.kinds.filter(({ kind }) => caller.can('view', { queue, kind }))
    const topKeys = found.topKeys.filter(({ key }) => caller.can('view', { queue, key }))
    return c.json(wire({ ...withPausesFor(caller, found), kinds, topKeys }), 200)
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
    const after = await operator.setQueue(queue, { keep: keep === '0' ? 0 : keep, keepDead, reason })
    return c.json(wire({ ...withPausesFor(c.get('caller'), after), asOf: new Date() }), 200)
  })
  app.openapi(pause, async (c) => {
    const { queue } = c.req.valid('param')
    const body = c.req.valid('json')
    const operator = await requirePause(c, parts, { act: 'queue.pause', queue, ...body })
    const after = await operator.pauseQueue(queue, body)
    return c.json(wire({ ...withPausesFor(c.get('caller'), after), asOf: new Date() }), 200)
  })
  app.openapi(resume, async (c) => {
    const { queue } = c.req.valid('param')
    const body = c.req.valid('json')
    const operator = await requirePause(c, parts, { act: 'queue.resume', queue, ...body })
    const after = await operator.resumeQueue(queue, body)
    return c.json(wire({ ...withPausesFor(c.get('caller'), after), asOf: new Date() }), 200)
  })
  app.openapi(concurrency, async (c) => {
    const { queue } = c.req.valid('param')
    requirePermission(c, 'view', { queue })
    const found = await stint.queues.concurrency(queue)
    return c.json(wire({ ...(found ?? notSet), asOf: new Date() }), 200)
  })
  app.openapi(setConcurrency, async (c) => {
    const { queue } = c.req.valid('param')
    const { reason, ...wanted } = c.req.valid('json')
    const about = { action: 'queue.edit', act: 'queue.concurrency', target: queue, reason } as const
    const operator = await requireOperator(c, parts, { ...about, resource: { queue } })
    const found = await operator.setConcurrency(queue, { ...wanted, reason })
    return c.json(wire({ ...(found ?? notSet), asOf: new Date() }), 200)
  })
  app.openapi(clearConcurrency, async (c) => {
    const { queue } = c.req.valid('param')
    const { reason } = c.req.valid('query')
    const about = { action: 'queue.edit', act: 'queue.concurrency-clear', target: queue, reason } as const
    const operator = await requireOperator(c, parts, { ...about, resource: { queue } })
    await operator.clearConcurrency(queue, { reason })
    return c.body(null, 204)
  })
}

/** The operator, if the caller may pause all jobs that the pause is of. */
async function requirePause(
  c: Context<Env>,
  parts: ConsoleParts,
  {
    act,
    queue,
    kind,
    key,
    reason,
  }: {
    act: string
    queue: string
    kind?: string | undefined
    key?: string | undefined
    reason?: string | undefined
  },
): Promise<Operator> {
  const resource = { queue, ...(kind !== undefined && { kind }), ...(key !== undefined && { key }) }
  const operator = await requireOperator(c, parts, { action: 'pause', act, target: queue, resource, reason })
  if (c.get('caller').can('pause', new AllOf(resource))) return operator
  const why = `You may pause only some of these jobs of '${queue}'.`
  await operator.refused({ action: act, target: queue, why, reason })
  throw tooWide(why, 'Name a kind or key that you may pause.')
}

function unknownQueue(queue: string): HttpProblem {
  return new HttpProblem({
    status: 404,
    code: 'queue-not-found',
    title: 'No such queue',
    detail: `Queue '${queue}' has no jobs, had none in the last hour, and no worker serves it.`,
  })
}
