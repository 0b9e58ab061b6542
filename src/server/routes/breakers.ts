import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Operator } from '../../client/operator/operator.ts'
import { missingBreaker } from '../../limits/breakers/breaker.ts'
import type { BreakerCause, BreakerDetails, BreakerInfo } from '../../limits/breakers/breaker.ts'
import { maySeeBreaker, resourcesOf } from '../answers/breaker-scope.ts'
import { shownText } from '../answers/job-item.ts'
import { BreakerActBody, BreakerDetail, BreakerList, ForceBreakerBody } from '../api/breaker.ts'
import type { BreakerItem } from '../api/breaker.ts'
import { Name, OfQueue } from '../api/common.ts'
import type { Caller } from '../auth/caller.ts'
import { requireOperator } from '../auth/operator.ts'
import { requirePermission } from '../auth/require-permission.ts'
import type { ConsoleParts, Env, Routes } from '../context.ts'
import { accepts, problems } from '../http/route-parts.ts'
import { wire } from '../http/wire.ts'

const params = z.object({ name: Name })
const json = <Schema extends z.ZodType>(description: string, schema: Schema) =>
  ({ description, content: { 'application/json': { schema } } }) as const
const reads = problems(401, 403, 404, 422, 503)
const acts = problems(400, 401, 403, 404, 409, 413, 415, 422, 503)
const about = { tags: ['Breakers'] }

const list = createRoute({
  method: 'get',
  path: '/v1/breakers',
  ...about,
  'x-action': 'view',
  'x-cli': 'stint breaker list',
  summary: 'Breakers by name, with their state and the outcomes of their window',
  request: {
    query: z.object({
      cursor: z.string().min(1).max(200).optional().describe('The `next` of the previous page.'),
      limit: z.coerce.number().int().min(1).max(200).optional(),
      queue: OfQueue,
    }),
  },
  responses: { 200: json('A page of breakers.', BreakerList), ...reads },
})
const get = createRoute({
  method: 'get',
  path: '/v1/breakers/{name}',
  ...about,
  'x-action': 'view',
  'x-cli': 'stint breaker get {name}',
  summary: 'One breaker, with its changes of the last 30 days',
  request: { params },
  responses: { 200: json('The breaker.', BreakerDetail), ...reads },
})
const probe = createRoute({
  method: 'post',
  path: '/v1/breakers/{name}/probe',
  ...about,
  'x-action': 'probe',
  'x-cli': 'stint breaker probe {name}',
  summary: 'Probe an open breaker now',
  request: { params, body: accepts(BreakerActBody) },
  responses: { 200: json('The breaker.', BreakerDetail), ...acts },
})
const open = createRoute({
  method: 'post',
  path: '/v1/breakers/{name}/open',
  ...about,
  'x-action': 'breaker',
  'x-cli': 'stint breaker open {name} --for {for}',
  summary: 'Hold the jobs of a breaker back until a time; then it is probed',
  request: { params, body: accepts(ForceBreakerBody) },
  responses: { 200: json('The breaker.', BreakerDetail), ...acts },
})
const close = createRoute({
  method: 'post',
  path: '/v1/breakers/{name}/close',
  ...about,
  'x-action': 'breaker',
  'x-cli': 'stint breaker close {name} --for {for}',
  summary: 'Let the jobs of a breaker run until a time, however many fail; then it counts again',
  request: { params, body: accepts(ForceBreakerBody) },
  responses: { 200: json('The breaker.', BreakerDetail), ...acts },
})
const reset = createRoute({
  method: 'post',
  path: '/v1/breakers/{name}/reset',
  ...about,
  'x-action': 'breaker',
  'x-cli': 'stint breaker reset {name}',
  summary: 'Close a breaker, end a forced state, and begin to count anew',
  request: { params, body: accepts(BreakerActBody) },
  responses: { 200: json('The breaker.', BreakerDetail), ...acts },
})

export const breakerRoutes: Routes = (app, parts) => {
  app.openapi(list, async (c) => {
    const caller = requirePermission(c, 'view')
    const { cursor, limit = 50, queue } = c.req.valid('query')
    const { found, next } = await listFor(caller, parts, { after: cursor, limit, queue })
    return c.json(wire({ items: found.map(toItem), next, asOf: new Date() }), 200)
  })
  app.openapi(get, async (c) => {
    const { name } = c.req.valid('param')
    return c.json(toDetail(await findFor(requirePermission(c, 'view'), parts, name)), 200)
  })
  const acting = async (
    c: Context<Env>,
    doing: { action: 'probe' | 'breaker'; act: string; name: string; reason: string | undefined },
  ): Promise<Operator['breakers']> => {
    const { action, act, name, reason } = doing
    const found = await findFor(requirePermission(c, 'view'), parts, name)
    const [first, ...others] = resourcesOf(found)
    for (const resource of others)
      await requireOperator(c, parts, { action, act, target: name, resource, reason })
    return (await requireOperator(c, parts, { action, act, target: name, resource: first, reason })).breakers
  }
  app.openapi(probe, async (c) => {
    const { name } = c.req.valid('param')
    const { reason } = c.req.valid('json')
    const as = await acting(c, { action: 'probe', act: 'breaker.probe', name, reason })
    return c.json(toDetail(await as.probe(name, { reason })), 200)
  })
  app.openapi(open, async (c) => {
    const { name } = c.req.valid('param')
    const body = c.req.valid('json')
    const as = await acting(c, { action: 'breaker', act: 'breaker.open', name, reason: body.reason })
    return c.json(toDetail(await as.open(name, body)), 200)
  })
  app.openapi(close, async (c) => {
    const { name } = c.req.valid('param')
    const body = c.req.valid('json')
    const as = await acting(c, { action: 'breaker', act: 'breaker.close', name, reason: body.reason })
    return c.json(toDetail(await as.close(name, body)), 200)
  })
  app.openapi(reset, async (c) => {
    const { name } = c.req.valid('param')
    const { reason } = c.req.valid('json')
    const as = await acting(c, { action: 'breaker', act: 'breaker.reset', name, reason })
    return c.json(toDetail(await as.reset(name, { reason })), 200)
  })
}

/** The answer is the same for a missing breaker and for one that the caller may not see. */
async function findFor(caller: Caller, { stint }: ConsoleParts, name: string): Promise<BreakerDetails> {
  const found = await stint.breakers.get(name)
  return found === undefined || !maySeeBreaker(caller, found) ? missingBreaker(name) : found
}

/** A page of the breakers that this caller may see. The cursor is always the name of a visible breaker. */
async function listFor(
  caller: Caller,
  { stint }: ConsoleParts,
  { after, limit, queue }: { after: string | undefined; limit: number; queue: string | undefined },
): Promise<{ found: BreakerInfo[]; next: string | null }> {
  const found: BreakerInfo[] = []
  let last = after
  for (const size = Math.max(limit, 200); ;) {
    const page = await stint.breakers.list({ after: last, limit: size, queue })
    found.push(...page.filter((one) => maySeeBreaker(caller, one)))
    last = page.at(-1)?.name
    if (found.length > limit) return { found: found.slice(0, limit), next: found[limit - 1]?.name ?? null }
    if (page.length < size) return { found, next: null }
  }
}

function toItem(info: BreakerInfo): z.infer<typeof BreakerItem> {
  return wire({
    ...info,
    cause: shownCause(info.cause),
    forced: info.forced === null ? null : { ...info.forced, reason: shownText(info.forced.reason) },
  })
}

function toDetail({ recent, ...info }: BreakerDetails): z.infer<typeof BreakerDetail> {
  return wire({
    ...toItem(info),
    recent: recent.map((one) => ({ ...one, cause: shownCause(one.cause), reason: shownText(one.reason) })),
    asOf: new Date(),
  })
}

/** An error may quote a connection string. */
function shownCause(cause: BreakerCause | null): BreakerCause | null {
  return cause?.error === undefined ? cause : { ...cause, error: shownText(cause.error) }
}
