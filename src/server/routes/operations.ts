import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Operator } from '../../client/operator/operator.ts'
import { parseWhere } from '../../core/filter/where.ts'
import { missingOperation } from '../../operations/operation.ts'
import { Id } from '../api/common.ts'
import {
  NewOperation,
  Operation as OperationItem,
  OperationDetail,
  OperationJobPage,
  OperationPage,
  PaceBody,
  Preview,
} from '../api/operation.ts'
import { isUnderWay, jobOutcomes, operationStates } from '../../core/operation.ts'
import type { Operation } from '../../core/operation.ts'
import type { Env, Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { resourceOf, toJobItem } from '../answers/job-item.ts'
import { isWithin, mayActOn, mayGoOn, scopeTarget, takesFor } from '../answers/operation-scope.ts'
import { requireOperator, operatorOf } from '../auth/operator.ts'
import { HttpProblem } from '../http/problem.ts'
import { accepts, problems } from '../http/route-parts.ts'
import { wire } from '../http/wire.ts'
import { tooWide } from '../auth/scope.ts'
import { Reason } from '../api/common.ts'
import { visiblePage } from '../answers/visible-page.ts'

const params = z.object({ id: Id })
const json = <Schema extends z.ZodType>(description: string, schema: Schema) =>
  ({ description, content: { 'application/json': { schema } } }) as const
const failures = problems(400, 401, 403, 404, 409, 413, 415, 422, 503)
const Why = z.strictObject({ reason: Reason.optional() })

const start = createRoute({
  method: 'post',
  path: '/v1/operations',
  tags: ['Operations'],
  summary: 'Act on many jobs, or preview the action with `dryRun`',
  description: 'Requires an Idempotency-Key, except for a dry run.',
  'x-action': 'operation',
  'x-cli': 'stint dead replay --where {where} --reason {reason}',
  request: { body: accepts(NewOperation) },
  responses: {
    200: json('What it would do.', Preview),
    202: json('It is started.', OperationDetail),
    ...failures,
  },
})

const list = createRoute({
  method: 'get',
  path: '/v1/operations',
  tags: ['Operations'],
  summary: 'Operations, newest first',
  'x-action': 'view',
  'x-cli': 'stint op list',
  request: {
    query: z.object({
      state: z.enum(operationStates).optional(),
      cursor: z.string().max(200).optional(),
      limit: z.coerce.number().int().min(1).max(200).optional(),
    }),
  },
  responses: { 200: json('A page of them.', OperationPage), ...problems(401, 403, 422, 503) },
})

const get = createRoute({
  method: 'get',
  path: '/v1/operations/{id}',
  tags: ['Operations'],
  summary: 'One operation with its progress',
  'x-action': 'view',
  'x-cli': 'stint op get {id}',
  request: { params },
  responses: { 200: json('The operation.', OperationDetail), ...problems(401, 403, 404, 422, 503) },
})

const jobs = createRoute({
  method: 'get',
  path: '/v1/operations/{id}/jobs',
  tags: ['Operations'],
  summary: 'The jobs of an operation with their outcomes, newest first',
  'x-action': 'view',
  'x-cli': 'stint op jobs {id}',
  request: {
    params,
    query: z.object({
      outcome: z.enum(jobOutcomes).optional(),
      cursor: z.string().max(200).optional(),
      limit: z.coerce.number().int().min(1).max(1_000).optional(),
    }),
  },
  responses: { 200: json('A page of them.', OperationJobPage), ...problems(401, 403, 404, 422, 503) },
})

function steering<Body extends z.ZodType>(verb: string, summary: string, body: Body, more = '') {
  return createRoute({
    method: 'post',
    path: `/v1/operations/{id}/${verb}`,
    tags: ['Operations'],
    summary,
    'x-action': 'operation',
    'x-cli': `stint op ${verb} {id}${more}`,
    request: { params, body: accepts(body) },
    responses: { 200: json('The operation.', OperationDetail), ...failures },
  })
}

const abort = steering('abort', 'End the operation for good; its changes so far stay', Why)
const pause = steering('pause', 'Pause the operation after the current batch', Why)
const resume = steering('resume', 'Let it go on', Why)
const pace = steering('pace', 'Change how many jobs a second the operation acts on', PaceBody, ' {pace}')

export const operationRoutes: Routes = (app, parts) => {
  const { stint } = parts

  app.openapi(start, async (c) => {
    const { dryRun = false, reason, asOf: looked, ...given } = c.req.valid('json')
    const { action } = given
    // An operation needs permission for its verb and for operations, for each queue that its filter names.
    const queues = given.where === undefined ? undefined : parseWhere(given.where).queues
    const target = given.where ?? `${given.ids?.length ?? 0} jobs`
    const act = `operation.${action}`
    for (const resource of queues?.map((queue) => ({ queue })) ?? [undefined]) {
      await requireOperator(c, parts, { action: 'operation', act, target, resource, reason })
      await requireOperator(c, parts, { action, act, target, resource, reason })
    }
    const scoped = await scopeTarget(c.get('caller'), parts, { where: given.where, ids: given.ids })
    if (scoped === undefined) throw noneOfThem()
    const asOf = looked === undefined ? undefined : new Date(looked)
    const request = { ...given, asOf, where: undefined, ids: undefined, ...scoped.target }
    for (const right of ['operation', action] as const)
      if (!mayActOn(c.get('caller'), { action: right, about: scoped.about }))
        throw await refused(operatorOf(c, parts), { act, target, reason })
    const takes = takesFor(c.get('caller'), action)
    if (dryRun) {
      const preview = await stint.operations.preview(request, takes)
      const { matched, samples, ...rest } = preview
      return c.json(
        {
          action: rest.action,
          excluded: rest.excluded,
          canary: rest.canary,
          pace: rest.pace,
          stopIf: rest.stopIf,
          crashed: rest.crashed,
          cli: rest.cli,
          matched: { count: matched.count, exact: matched.isExact },
          samples: samples.map(toJobItem),
          asOf: rest.asOf.toISOString(),
        },
        200,
      )
    }
    if (reason === undefined) throw missingReason()
    const intentId = c.get('intentId')
    if (intentId === undefined) throw missingKey()
    const operator = await requireOperator(c, parts, { action: 'operation', act, target, reason })
    const started = await operator.operations.start({ ...request, reason, intentId }, takes)
    parts.executor?.wake()
    c.header('Location', `${parts.basePath}/v1/operations/${started.id}`)
    return c.json(toDetail(started), 202)
  })

  app.openapi(list, async (c) => {
    const caller = requirePermission(c, 'view')
    const { state, cursor, limit = 50 } = c.req.valid('query')
    const page = await visiblePage({
      caller,
      cursors: parts.cursors,
      cursor,
      limit,
      most: 200,
      read: async (below, size) => {
        const { operations, next } = await stint.operations.list({ state, cursor: below, limit: size })
        // Also continues an operation whose executor is gone.
        if (operations.some((one) => isUnderWay(one.state))) parts.executor?.wake()
        return { items: operations, next }
      },
      visible: (operations) => operations.filter((one) => isWithin(caller, one)),
    })
    const items = page.items.map(toItem)
    return c.json({ items, next: page.next ?? null, asOf: new Date().toISOString() }, 200)
  })

  app.openapi(get, async (c) => {
    const caller = requirePermission(c, 'view')
    const { id } = c.req.valid('param')
    const found = await stint.operations.get(id)
    if (found === undefined || !isWithin(caller, found)) return missingOperation(id)
    if (isUnderWay(found.state)) parts.executor?.wake()
    return c.json(toDetail(found), 200)
  })

  app.openapi(jobs, async (c) => {
    const caller = requirePermission(c, 'view')
    const { id } = c.req.valid('param')
    const found = await stint.operations.get(id)
    if (found === undefined || !isWithin(caller, found)) return missingOperation(id)
    const { outcome, cursor, limit = 200 } = c.req.valid('query')
    const { items, next } = await visiblePage({
      caller,
      cursors: parts.cursors,
      cursor,
      limit,
      most: 1_000,
      read: async (below, size) => {
        const page = await stint.operations.jobs(id, { outcome, cursor: below, limit: size })
        return { items: page.jobs, next: page.next }
      },
      visible: async (noted) => {
        const there = await stint.view.jobs(noted.map((one) => one.id))
        const seen = new Set(there.filter((job) => caller.can('view', resourceOf(job))).map((job) => job.id))
        return noted.filter((one) => seen.has(one.id))
      },
    })
    return c.json({ items, next: next ?? null, asOf: new Date().toISOString() }, 200)
  })

  const steer = async (c: Context<Env>, id: string, verb: string, reason?: string): Promise<Operator> => {
    const doing = { action: 'operation', act: `operation.${verb}`, target: id, reason } as const
    const operator = await requireOperator(c, parts, doing)
    const caller = c.get('caller')
    const found = caller.isNarrowed === false ? undefined : await stint.operations.get(id)
    if (found === undefined) return operator
    if (!isWithin(caller, found)) return missingOperation(id)
    const mayDo =
      isWithin(caller, found, 'operation') && (verb !== 'resume' || (await mayGoOn(caller, parts, found)))
    if (!mayDo) throw await refused(operator, doing)
    return operator
  }

  app.openapi(abort, async (c) => {
    const { id } = c.req.valid('param')
    const { reason } = c.req.valid('json')
    const as = await steer(c, id, 'abort', reason)
    return c.json(toDetail(await as.operations.abort(id, { reason })), 200)
  })
  app.openapi(pause, async (c) => {
    const { id } = c.req.valid('param')
    const { reason } = c.req.valid('json')
    const as = await steer(c, id, 'pause', reason)
    return c.json(toDetail(await as.operations.pause(id, { reason })), 200)
  })
  app.openapi(resume, async (c) => {
    const { id } = c.req.valid('param')
    const { reason } = c.req.valid('json')
    const as = await steer(c, id, 'resume', reason)
    const resumed = await as.operations.resume(id, { reason })
    parts.executor?.wake()
    return c.json(toDetail(resumed), 200)
  })
  app.openapi(pace, async (c) => {
    const { id } = c.req.valid('param')
    const { pace: wanted } = c.req.valid('json')
    const as = await steer(c, id, 'pace')
    return c.json(toDetail(await as.operations.setPace(id, wanted)), 200)
  })
}

/** Refuses the request and records the refusal. */
async function refused(
  operator: Operator,
  { act, target, reason }: { act: string; target: string; reason?: string | undefined },
): Promise<HttpProblem> {
  const problem = tooWide(
    'You may not do this to all of these jobs.',
    'Narrow the filter to queues you may act on (queue:…), and to kinds or keys if you may act on only some.',
  )
  await operator.refused({ action: act, target, why: problem.detail, reason })
  return problem
}

function noneOfThem(): HttpProblem {
  return new HttpProblem({
    status: 404,
    code: 'not-found',
    title: 'Not found',
    detail: 'None of these jobs exists.',
  })
}

function toDetail(operation: Operation): OperationDetail {
  return { ...toItem(operation), asOf: new Date().toISOString() }
}

/** The fields of the schema; the compiler compares them with those of the library. */
function toItem(operation: Operation): OperationItem {
  const shown = Object.entries(operation).filter(([name]) => name in OperationItem.shape)
  return wire(Object.fromEntries(shown)) as OperationItem
}

function missingReason(): HttpProblem {
  return new HttpProblem({
    status: 422,
    code: 'invalid-option',
    title: 'Invalid value',
    detail: 'An operation needs a reason for the audit.',
    errors: [{ pointer: '/reason', message: 'is required' }],
  })
}

function missingKey(): HttpProblem {
  return new HttpProblem({
    status: 400,
    code: 'idempotency-key-missing',
    title: 'An Idempotency-Key is required',
    detail: 'The key identifies repeats of this request, so that the operation is started once.',
    hint: 'Idempotency-Key: any text of your own, such as a UUID',
  })
}
