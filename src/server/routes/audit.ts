import { createRoute, z } from '@hono/zod-openapi'
import { AuditPage } from '../api/system.ts'
import type { Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { problems } from '../http/route-parts.ts'
import { mayAll, tooWide } from '../auth/scope.ts'

const list = createRoute({
  method: 'get',
  path: '/v1/audit',
  tags: ['Audit'],
  summary: 'Actions of people, and refused actions, newest first',
  'x-action': 'audit',
  'x-cli': 'stint audit list',
  request: {
    query: z.object({
      actor: z.string().max(512).optional(),
      target: z.string().max(2_000).optional().describe('A job, schedule, queue, error group or operation.'),
      action: z.string().max(100).optional().describe('`job.replay`, or all actions on jobs: `job`.'),
      cursor: z.string().max(200).optional(),
      limit: z.coerce.number().int().min(1).max(200).optional(),
    }),
  },
  responses: {
    200: { description: 'A page of the audit log.', content: { 'application/json': { schema: AuditPage } } },
    ...problems(401, 403, 422, 503),
  },
})

export const auditRoutes: Routes = (app, parts) => {
  const { stint } = parts
  app.openapi(list, async (c) => {
    const caller = requirePermission(c, 'audit')
    // An entry names its target, which may be deleted by now, so the console cannot tell which queue it belonged to.
    if (!mayAll(caller, 'audit'))
      throw tooWide(
        'The audit covers all queues, and you may see only some of them.',
        'Ask a person who may see all queues.',
      )
    const page = await stint.audit.list(c.req.valid('query'))
    return c.json(
      {
        items: page.entries.map((entry) => ({
          ...entry,
          at: entry.at.toISOString(),
          before: entry.before ?? null,
          after: entry.after ?? null,
        })),
        next: page.next ?? null,
        asOf: new Date().toISOString(),
      },
      200,
    )
  })
}
