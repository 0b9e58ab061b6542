import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { missingFlow } from '../../client/flows/flow-verbs.ts'
import type { Operator } from '../../client/operator/operator.ts'
import { isStintError } from '../../core/errors.ts'
import type { Flow } from '../../flows/graph/read.ts'
import { flowTypes } from '../../flows/graph/read.ts'
import { actingResources, visibleFlow, visibleFlows } from '../answers/flow-scope.ts'
import { toFlowDetail, toFlowGraph, toFlowItem } from '../answers/flow-item.ts'
import { visiblePage } from '../answers/visible-page.ts'
import { Id, Name } from '../api/common.ts'
import {
  CancelFlowBody,
  FlowDetail,
  FlowGraph,
  FlowList,
  ReplayedFlow,
  ReplayFlowBody,
  RerunFlowBody,
} from '../api/flow.ts'
import { requireOperator } from '../auth/operator.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { tooWide } from '../auth/scope.ts'
import type { Env, Routes } from '../context.ts'
import { isUnchanged } from '../http/etag.ts'
import { HttpProblem, toProblem } from '../http/problem.ts'
import { accepts, problems } from '../http/route-parts.ts'

const params = z.object({ id: Id })
const json = <Schema extends z.ZodType>(description: string, schema: Schema) =>
  ({ description, content: { 'application/json': { schema } } }) as const
const reads = problems(400, 401, 403, 404, 422, 503)
const acts = problems(400, 401, 403, 404, 409, 413, 415, 422, 503)
const unchanged = {
  304: { description: 'Nothing has changed since the `ETag` of `If-None-Match`.' },
} as const
const about = { tags: ['Flows'] }

const list = createRoute({
  method: 'get',
  path: '/v1/flows',
  ...about,
  'x-action': 'view',
  'x-cli': 'stint flow list',
  summary: 'Flows, newest first',
  description: 'A page may be short and still have a `next`: it looked through 50,000 flows.',
  request: {
    query: z.object({
      name: Name.optional(),
      open: z.enum(['true', 'false']).optional().describe('Only flows that have not ended.'),
      type: z.enum(flowTypes).optional().describe('By default `flow`.'),
      cursor: z.string().max(200).optional().describe('The `next` of the previous page.'),
      limit: z.coerce.number().int().min(1).max(200).optional(),
    }),
  },
  responses: { 200: json('A page of flows.', FlowList), ...reads },
})
const get = createRoute({
  method: 'get',
  path: '/v1/flows/{id}',
  ...about,
  'x-action': 'view',
  'x-cli': 'stint flow get {id}',
  summary: 'One flow with its nodes',
  request: { params },
  responses: { 200: json('The flow, with an `ETag`.', FlowDetail), ...unchanged, ...reads },
})
const graph = createRoute({
  method: 'get',
  path: '/v1/flows/{id}/graph',
  ...about,
  'x-action': 'view',
  'x-cli': 'stint flow graph {id}',
  summary: 'One flow with the jobs of its nodes; larger groups are one node with counts',
  request: { params },
  responses: { 200: json('The graph, with an `ETag`.', FlowGraph), ...unchanged, ...reads },
})
const cancel = createRoute({
  method: 'post',
  path: '/v1/flows/{id}/cancel',
  ...about,
  'x-action': 'flow',
  'x-cli': 'stint flow cancel {id}',
  summary: 'Cancel a flow: jobs that have not started end, running ones are asked to stop',
  request: { params, body: accepts(CancelFlowBody) },
  responses: { 200: json('The flow.', FlowDetail), ...acts },
})
const replay = createRoute({
  method: 'post',
  path: '/v1/flows/{id}/replay',
  ...about,
  'x-action': 'flow',
  'x-cli': 'stint flow replay {id}',
  summary: 'Replay the dead jobs of a flow, and of the flows that they made',
  request: { params, body: accepts(ReplayFlowBody) },
  responses: { 200: json('The flow.', ReplayedFlow), ...acts },
})
const rerun = createRoute({
  method: 'post',
  path: '/v1/flows/{id}/rerun',
  ...about,
  'x-action': 'flow',
  'x-cli': 'stint flow rerun {id} --from {from}',
  summary: 'Store a new flow that runs a node of this one again, and all nodes behind it',
  request: { params, body: accepts(RerunFlowBody) },
  responses: { 202: json('The new flow, with its `Location`.', FlowDetail), ...acts },
})

export const flowRoutes: Routes = (app, parts) => {
  const { stint } = parts

  app.openapi(list, async (c) => {
    const caller = requirePermission(c, 'view')
    const { name, open, type, cursor, limit = 50 } = c.req.valid('query')
    const page = await visiblePage({
      caller,
      cursors: parts.cursors,
      cursor,
      limit,
      most: 20,
      read: async (below, size) => {
        const { flows, next } = await stint.flows.list({
          ...{ name, type, cursor: below, limit: size },
          open: open === 'true',
        })
        return { items: flows, next }
      },
      visible: (flows) => visibleFlows(caller, parts, flows),
    })
    const items = page.items.map(toFlowItem)
    return c.json({ items, next: page.next ?? null, asOf: new Date().toISOString() }, 200)
  })

  app.openapi(get, async (c) => {
    const { id } = c.req.valid('param')
    const caller = requirePermission(c, 'view')
    const { asOf, ...flow } = toFlowDetail(await visibleFlow(caller, parts, id, await stint.flows.get(id)))
    if (isUnchanged(c, flow)) return c.body(null, 304)
    return c.json({ ...flow, asOf }, 200)
  })

  app.openapi(graph, async (c) => {
    const { id } = c.req.valid('param')
    const caller = requirePermission(c, 'view')
    const found = await visibleFlow(caller, parts, id, await stint.flows.graph(id))
    const { asOf, ...shown } = toFlowGraph(found, caller)
    if (isUnchanged(c, shown)) return c.body(null, 304)
    return c.json({ ...shown, asOf }, 200)
  })

  /** The operator, if the caller may act on every job that this concerns. */
  const acting = async (
    c: Context<Env>,
    { id, verb, reason }: { id: string; verb: 'cancel' | 'replay' | 'rerun'; reason: string | undefined },
  ): Promise<Operator['flows']> => {
    const caller = requirePermission(c, 'view')
    await visibleFlow(caller, parts, id, await stint.flows.get(id))
    const operator = await requireOperator(c, parts, {
      action: 'flow',
      act: `flow.${verb}`,
      target: id,
      reason,
    })
    const resources = await actingResources(caller, parts, { id, verb })
    if (resources.every((resource) => caller.can('flow', resource))) return operator.flows
    const problem = tooWide(
      'You may not act on all jobs of this flow.',
      'Act on the jobs that you may act on, one by one.',
    )
    await operator.refused({ action: `flow.${verb}`, target: id, why: problem.detail, reason })
    throw problem
  }

  app.openapi(cancel, async (c) => {
    const { id } = c.req.valid('param')
    const { expect, reason } = c.req.valid('json')
    const flows = await acting(c, { id, verb: 'cancel', reason })
    const flow = await withCurrentFlow(() => flows.cancel(id, { expect, reason }))
    return c.json(toFlowDetail(flow), 200)
  })

  app.openapi(replay, async (c) => {
    const { id } = c.req.valid('param')
    const { reason } = c.req.valid('json')
    const flows = await acting(c, { id, verb: 'replay', reason })
    const { flow, replayed } = await flows.replay(id, { reason })
    return c.json({ ...toFlowDetail(flow), replayed: replayed.length }, 200)
  })

  app.openapi(rerun, async (c) => {
    const { id } = c.req.valid('param')
    const { from, reason } = c.req.valid('json')
    const flows = await acting(c, { id, verb: 'rerun', reason })
    const { id: newer } = await flows.rerun(id, { from, reason })
    c.header('Location', `/v1/flows/${newer}`)
    return c.json(toFlowDetail((await stint.flows.get(newer)) ?? missingFlow(newer)), 202)
  })
}

/** Acts. If the flow has changed since the caller read it, the answer has the flow as it is now. */
async function withCurrentFlow(work: () => Promise<Flow>): Promise<Flow> {
  try {
    return await work()
  } catch (error) {
    if (!isStintError(error) || error.current === undefined) throw error
    const { status, code, title, detail, hint } = toProblem(error)
    const current = toFlowDetail(error.current as Flow)
    throw new HttpProblem({ status, code, title, detail, hint, current })
  }
}
