import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Operator } from '../../client/operator/operator.ts'
import { Id } from '../api/common.ts'
import { LeaseList, WorkerList, WorkerOrderBody } from '../api/system.ts'
import type { Env, Routes } from '../context.ts'
import { requireOperator } from '../auth/operator.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { HttpProblem } from '../http/problem.ts'
import { accepts, problems } from '../http/route-parts.ts'
import { wire } from '../http/wire.ts'
import { workerList, workersFor } from '../answers/worker-list.ts'

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

const verbs = ['pause', 'resume', 'drain'] as const
type Verb = (typeof verbs)[number]
const summaries: Readonly<Record<Verb, string>> = {
  pause: 'Pause a worker: it claims nothing and finishes the jobs that run',
  resume: 'Resume a paused worker',
  drain: 'Stop a worker in order; this cannot be undone',
}

function order(verb: Verb) {
  return createRoute({
    method: 'post',
    path: `/v1/workers/{worker}/${verb}`,
    tags: ['Workers'],
    summary: summaries[verb],
    description: 'The caller needs this permission for every queue that the worker serves.',
    'x-action': 'queue.edit',
    'x-cli': `stint worker ${verb} {worker}`,
    request: { params: z.object({ worker: Id }), body: accepts(WorkerOrderBody) },
    responses: {
      204: { description: 'The worker is told with its next survey, within its `pollFloor`.' },
      ...problems(400, 401, 403, 404, 413, 415, 422, 503),
    },
  })
}

export const workerRoutes: Routes = (app, parts) => {
  const { reads } = parts
  const acting = async (
    c: Context<Env>,
    id: string,
    { verb, reason }: { verb: Verb; reason: string | undefined },
  ): Promise<Operator> => {
    const caller = requirePermission(c, 'view')
    const { workers: all } = await reads.workers.get()
    const [seen] = workersFor(
      caller,
      all.filter((worker) => worker.id === id),
    )
    if (seen === undefined) throw unknownWorker(id)
    const queues = Object.keys(all.find((worker) => worker.id === id)?.queues ?? {})
    const denied = queues.find((queue) => !caller.can('queue.edit', { queue }))
    const resource = { queue: denied ?? queues[0] ?? '' }
    return requireOperator(c, parts, {
      action: 'queue.edit',
      act: `worker.${verb}`,
      target: id,
      resource,
      reason,
    })
  }
  for (const verb of verbs) {
    app.openapi(order(verb), async (c) => {
      const { worker } = c.req.valid('param')
      const { reason } = c.req.valid('json')
      const operator = await acting(c, worker, { verb, reason })
      await operator.workers[verb](worker, { reason })
      return c.body(null, 204)
    })
  }
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

function unknownWorker(id: string): HttpProblem {
  return new HttpProblem({
    status: 404,
    code: 'worker-not-found',
    title: 'No such worker',
    detail: `No live worker has the id ${id}.`,
  })
}
