import { createRoute } from '@hono/zod-openapi'
import { stintVersion } from '../../node/version.ts'
import { actions } from '../api/common.ts'
import { Me } from '../api/system.ts'
import type { Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { problems } from '../http/route-parts.ts'

const me = createRoute({
  method: 'get',
  path: '/v1/me',
  tags: ['Console'],
  summary: 'The caller, its permissions, and facts about this console',
  'x-action': 'view',
  responses: {
    200: { description: 'The caller.', content: { 'application/json': { schema: Me } } },
    ...problems(401, 403),
  },
})

export const meRoutes: Routes = (app, { basePath, about }) => {
  app.openapi(me, (c) => {
    const caller = requirePermission(c, 'view')
    return c.json(
      {
        actor: caller.actor,
        role: caller.role,
        can: actions.filter((action) => caller.can(action)),
        ...about,
        basePath,
        stintVersion: stintVersion(),
        asOf: new Date().toISOString(),
      },
      200,
    )
  })
}
