import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { missingLimit } from '../../client/limits.ts'
import type { Operator } from '../../client/operator/operator.ts'
import type { LimitDetails } from '../../limits/manage/read.ts'
import { Name, OfQueue, Reason, Time } from '../api/common.ts'
import {
  KeyRule,
  KeyRuleList,
  LimitDetail,
  LimitList,
  OverrideBody,
  PenaliseBody,
  SetKeyBody,
} from '../api/limit.ts'
import { limitResources, mayKnowKey, maySeeLimit, shownLimit } from '../answers/limit-item.ts'
import { requireOperator } from '../auth/operator.ts'
import { requirePermission } from '../auth/require-permission.ts'
import type { Caller } from '../auth/caller.ts'
import type { ConsoleParts, Env, Routes } from '../context.ts'
import { HttpProblem } from '../http/problem.ts'
import { accepts, problems } from '../http/route-parts.ts'
import { wire } from '../http/wire.ts'

const params = z.object({ name: Name })
const keyParams = z.object({ name: Name, key: z.string().min(1).max(1_000) })
const ifMatch = z.object({
  'if-match': z.string().max(200).optional().describe('The `ETag` of the limit. Required.'),
})
const because = z.object({ reason: Reason.optional() })
const page = z.object({
  cursor: z.string().max(1_000).optional().describe('The `next` of the previous page.'),
  limit: z.coerce.number().int().min(1).max(200).optional(),
})
const json = <Schema extends z.ZodType>(description: string, schema: Schema) =>
  ({ description, content: { 'application/json': { schema } } }) as const
const reads = problems(400, 401, 403, 404, 422, 503)
const acts = problems(400, 401, 403, 404, 409, 413, 415, 422, 503)
const about = { tags: ['Limits'] }

const list = createRoute({
  method: 'get',
  path: '/v1/limits',
  ...about,
  'x-action': 'view',
  'x-cli': 'stint limit list',
  summary: 'Concurrency limits and rates by name, with their use',
  request: { query: page.extend({ queue: OfQueue }) },
  responses: { 200: json('A page of limits.', LimitList), ...reads },
})
const get = createRoute({
  method: 'get',
  path: '/v1/limits/{name}',
  ...about,
  'x-action': 'view',
  'x-cli': 'stint limit get {name}',
  summary: 'One limit or rate, with the jobs that hold it',
  request: { params },
  responses: { 200: json('The limit, with an `ETag`.', LimitDetail), ...reads },
})
const override = createRoute({
  method: 'put',
  path: '/v1/limits/{name}',
  ...about,
  'x-action': 'limit',
  'x-cli': 'stint limit set {name} --max {max} --for {for}',
  summary: 'Override a limit or a rate until a time',
  description:
    'Needs `until` or `for`. Running jobs are not stopped. What the code says holds again when the override ends.',
  request: { params, headers: ifMatch, body: accepts(OverrideBody) },
  responses: { 200: json('The limit.', LimitDetail), ...acts, ...problems(412, 428) },
})
const clear = createRoute({
  method: 'delete',
  path: '/v1/limits/{name}',
  ...about,
  'x-action': 'limit',
  'x-cli': 'stint limit clear {name}',
  summary: 'End the override of a limit or a rate',
  request: { params, headers: ifMatch, query: because },
  responses: { 200: json('The limit.', LimitDetail), ...acts, ...problems(412, 428) },
})
const remove = createRoute({
  method: 'post',
  path: '/v1/limits/{name}/delete',
  ...about,
  'x-action': 'limit',
  'x-cli': 'stint limit delete {name}',
  summary: 'Delete a limit or a rate that no live worker has in its code',
  request: { params, body: accepts(z.strictObject({ reason: Reason.optional() })) },
  responses: { 204: { description: 'The limit is deleted.' }, ...acts },
})
const keys = createRoute({
  method: 'get',
  path: '/v1/limits/{name}/keys',
  ...about,
  'x-action': 'view',
  'x-cli': 'stint limit keys {name}',
  summary: 'The rules of single keys of a limit, by key',
  request: { params, query: page },
  responses: { 200: json('A page of rules.', KeyRuleList), ...reads },
})
const setKey = createRoute({
  method: 'put',
  path: '/v1/limits/{name}/keys/{key}',
  ...about,
  'x-action': 'limit',
  'x-cli': 'stint limit key {name} {key} --max {max}',
  summary: 'Give one key of a limit a maximum, a weight or a tier of its own',
  request: { params: keyParams, body: accepts(SetKeyBody) },
  responses: { 200: json('The rule.', KeyRule.extend({ asOf: Time })), ...acts },
})
const clearKey = createRoute({
  method: 'delete',
  path: '/v1/limits/{name}/keys/{key}',
  ...about,
  'x-action': 'limit',
  'x-cli': 'stint limit key {name} {key} --clear',
  summary: 'Remove the rule of one key',
  request: { params: keyParams, query: because },
  responses: { 204: { description: 'The key has no rule of its own.' }, ...acts },
})
const penalise = createRoute({
  method: 'post',
  path: '/v1/limits/{name}/penalise',
  ...about,
  'x-action': 'limit',
  'x-cli': 'stint limit penalise {name} --for {for}',
  summary: 'Give no token of a rate until a time',
  request: { params, body: accepts(PenaliseBody) },
  responses: { 200: json('The rate.', LimitDetail), ...acts },
})

export const limitRoutes: Routes = (app, parts) => {
  const { stint } = parts

  app.openapi(list, async (c) => {
    const caller = requirePermission(c, 'view')
    const { cursor, limit = 50, queue } = c.req.valid('query')
    const { found, next } = await listFor(caller, parts, { after: cursor, limit, queue })
    return c.json(wire({ items: found.map((one) => shownLimit(caller, one)), next, asOf: new Date() }), 200)
  })

  app.openapi(get, async (c) => {
    const caller = requirePermission(c, 'view')
    return c.json(answer(c, await findFor(caller, parts, c.req.valid('param').name)), 200)
  })

  const acting = async (
    c: Context<Env>,
    { act, name, key, reason }: { act: string; name: string; key?: string; reason: string | undefined },
  ): Promise<{ as: Operator['limits']; found: LimitDetails }> => {
    const caller = requirePermission(c, 'view')
    const found = await findFor(caller, parts, name)
    if (key !== undefined && !mayKnowKey(caller, found, key)) return missingLimit(name)
    const doing = { action: 'limit', act, target: name, reason } as const
    const [first, ...others] = limitResources(found)
    for (const resource of others) await requireOperator(c, parts, { ...doing, resource })
    const { limits } = await requireOperator(c, parts, { ...doing, resource: first })
    return { as: limits, found }
  }

  app.openapi(override, async (c) => {
    const { name } = c.req.valid('param')
    const body = c.req.valid('json')
    const { as, found } = await acting(c, { act: 'limit.override', name, reason: body.reason })
    const version = matched(c, found)
    return c.json(answer(c, await as.override(name, { ...body, version })), 200)
  })
  app.openapi(clear, async (c) => {
    const { name } = c.req.valid('param')
    const { reason } = c.req.valid('query')
    const { as, found } = await acting(c, { act: 'limit.clear', name, reason })
    const version = matched(c, found)
    return c.json(answer(c, await as.clear(name, { version, reason })), 200)
  })
  app.openapi(remove, async (c) => {
    const { name } = c.req.valid('param')
    const { reason } = c.req.valid('json')
    const { as } = await acting(c, { act: 'limit.delete', name, reason })
    await as.delete(name, { reason })
    return c.body(null, 204)
  })
  app.openapi(keys, async (c) => {
    const { name } = c.req.valid('param')
    const { cursor, limit = 50 } = c.req.valid('query')
    const caller = requirePermission(c, 'view')
    const found = await findFor(caller, parts, name)
    const rules = await stint.limits.keys(name, { after: cursor, limit })
    const items = rules.filter(({ key }) => mayKnowKey(caller, found, key))
    const next = rules.length === limit ? (rules.at(-1)?.key ?? null) : null
    return c.json(wire({ items, next, asOf: new Date() }), 200)
  })
  app.openapi(setKey, async (c) => {
    const { name, key } = c.req.valid('param')
    const body = c.req.valid('json')
    const { as } = await acting(c, { act: 'limit.set-key', name, key, reason: body.reason })
    return c.json(wire({ ...(await as.setKey(name, key, body)), asOf: new Date() }), 200)
  })
  app.openapi(clearKey, async (c) => {
    const { name, key } = c.req.valid('param')
    const { reason } = c.req.valid('query')
    const { as } = await acting(c, { act: 'limit.clear-key', name, key, reason })
    await as.clearKey(name, key, { reason })
    return c.body(null, 204)
  })
  app.openapi(penalise, async (c) => {
    const { name } = c.req.valid('param')
    const body = c.req.valid('json')
    const { as } = await acting(c, { act: 'limit.penalise', name, reason: body.reason })
    return c.json(answer(c, await as.penalise(name, body)), 200)
  })
}

/** The answer is the same for a missing limit and for one that the caller may not see. */
async function findFor(caller: Caller, { stint }: ConsoleParts, name: string): Promise<LimitDetails> {
  const found = await stint.limits.get(name)
  return found === undefined || !maySeeLimit(caller, found) ? missingLimit(name) : found
}

/** A page of the limits that this caller may see. The cursor is always the name of a visible limit. */
async function listFor(
  caller: Caller,
  { stint }: ConsoleParts,
  { after, limit, queue }: { after: string | undefined; limit: number; queue: string | undefined },
) {
  const found: Awaited<ReturnType<typeof stint.limits.list>> = []
  let last = after
  for (const size = Math.max(limit, 200); ;) {
    const rows = await stint.limits.list({ after: last, limit: size, queue })
    found.push(...rows.filter((one) => maySeeLimit(caller, one)))
    last = rows.at(-1)?.name
    if (found.length > limit) return { found: found.slice(0, limit), next: found[limit - 1]?.name ?? null }
    if (rows.length < size) return { found, next: null }
  }
}

function answer(c: Context<Env>, found: LimitDetails): z.infer<typeof LimitDetail> {
  c.header('ETag', `"${found.version}"`)
  return wire({ ...shownLimit(c.get('caller'), found), asOf: new Date() })
}

/** The version that the caller has read: 428 without one, 412 if the limit has changed since. */
function matched(c: Context<Env>, { name, version }: LimitDetails): string {
  const given = c.req.header('If-Match')
  if (given === undefined)
    throw new HttpProblem({
      status: 428,
      code: 'if-match-required',
      title: 'If-Match is required',
      detail: `A change of the limit '${name}' must name the ETag that it is based on.`,
      hint: 'GET the limit, and send its ETag as If-Match.',
    })
  if (given.trim() !== '*' && !given.split(',').some((one) => one.trim() === `"${version}"`))
    throw changed(name)
  return version
}

function changed(name: string): HttpProblem {
  return new HttpProblem({
    status: 412,
    code: 'changed-since',
    title: 'The limit has changed',
    detail: `The limit '${name}' has changed since you read it.`,
    hint: 'GET the limit again, and repeat the change with its new ETag.',
  })
}
