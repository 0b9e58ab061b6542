import { createRoute, z } from '@hono/zod-openapi'
import { findJob } from '../answers/find-job.ts'
import { stepsFor } from '../answers/job-steps.ts'
import { Id } from '../api/common.ts'
import { JobSteps } from '../api/step.ts'
import type { Routes } from '../context.ts'
import { problems } from '../http/route-parts.ts'

const getSteps = createRoute({
  method: 'get',
  path: '/v1/jobs/{id}/steps',
  tags: ['Jobs'],
  summary: 'The steps of a job, in the order in which they were recorded',
  description: 'The results need the permission `view.input`, and are redacted like inputs.',
  'x-action': 'view',
  'x-cli': 'stint job steps {id}',
  request: { params: z.object({ id: Id }) },
  responses: {
    200: { description: 'The steps.', content: { 'application/json': { schema: JobSteps } } },
    ...problems(401, 403, 404, 410, 422, 503),
  },
})

export const stepRoutes: Routes = (app, parts) => {
  app.openapi(getSteps, async (c) => {
    const { id } = c.req.valid('param')
    const job = await findJob(c, parts, id)
    return c.json(await stepsFor(job, c.get('caller'), parts), 200)
  })
}
