import { createRoute, z } from '@hono/zod-openapi'
import type { Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { openApiDocument } from '../http/openapi.ts'
import { problems } from '../http/route-parts.ts'

const openapi = createRoute({
  method: 'get',
  path: '/v1/openapi.json',
  tags: ['Console'],
  summary: 'This API as OpenAPI 3.1',
  'x-action': 'view',
  'x-cli': 'stint openapi',
  responses: {
    200: {
      description: 'The document.',
      content: { 'application/json': { schema: z.record(z.string(), z.unknown()) } },
    },
    ...problems(401, 403),
  },
})

export const openapiRoutes: Routes = (app, { basePath }) => {
  app.openapi(openapi, (c) => {
    requirePermission(c, 'view')
    return c.json({ ...openApiDocument(app, basePath) }, 200)
  })
}
