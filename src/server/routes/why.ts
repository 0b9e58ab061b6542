import { createRoute, z } from '@hono/zod-openapi'
import { Id } from '../api/common.ts'
import { Why, WhyTwice } from '../api/why.ts'
import type { Routes } from '../context.ts'
import { mayAll } from '../auth/scope.ts'
import { findJob } from '../answers/find-job.ts'
import { shownText, timeOf } from '../answers/job-item.ts'
import { problems } from '../http/route-parts.ts'
import { wire } from '../http/wire.ts'

const params = z.object({ id: Id })

const getWhy = createRoute({
  method: 'get',
  path: '/v1/jobs/{id}/why',
  tags: ['Jobs'],
  summary: 'Why a job does not run: the conditions of a claim, in order',
  'x-action': 'view',
  'x-cli': 'stint job why {id}',
  request: { params },
  responses: {
    200: { description: 'The conditions.', content: { 'application/json': { schema: Why } } },
    ...problems(401, 403, 404, 410, 422, 503),
  },
})

const getWhyTwice = createRoute({
  method: 'get',
  path: '/v1/jobs/{id}/why-twice',
  tags: ['Jobs'],
  summary: 'Why a job ran more than once: the cause of each attempt',
  'x-action': 'view',
  'x-cli': 'stint job why-twice {id}',
  request: { params },
  responses: {
    200: { description: 'The attempts.', content: { 'application/json': { schema: WhyTwice } } },
    ...problems(401, 403, 404, 410, 422, 503),
  },
})

export const whyRoutes: Routes = (app, parts) => {
  const { stint } = parts

  app.openapi(getWhy, async (c) => {
    const { id } = c.req.valid('param')
    await findJob(c, parts, id)
    const caller = c.get('caller')
    // Without a narrowing the answer is the same as that of the library.
    const sees = mayAll(caller)
      ? undefined
      : (resource: { queue: string; kind?: string; key?: string | null }) => caller.can('view', resource)
    const { predicates, ...why } = await stint.why(id, { sees })
    const shown = predicates.map((one) => ({ ...one, says: shownText(one.says) }))
    return c.json(wire({ ...why, predicates: shown }), 200)
  })

  app.openapi(getWhyTwice, async (c) => {
    const { id } = c.req.valid('param')
    await findJob(c, parts, id)
    const { attempts } = await stint.whyTwice(id)
    const shown = attempts.map((one) => ({ ...one, at: timeOf(one.at), says: shownText(one.says) }))
    return c.json({ attempts: shown, asOf: new Date().toISOString() }, 200)
  })
}
