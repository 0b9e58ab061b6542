import { createRoute, z } from '@hono/zod-openapi'
import type { Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { metricsText } from '../answers/metrics.ts'
import { problems } from '../http/route-parts.ts'

/** Under the API, and at the path that Prometheus scrapes by default. */
const paths = ['/v1/metrics', '/metrics'] as const

function metricsAt(path: (typeof paths)[number]) {
  return createRoute({
    method: 'get',
    path,
    tags: ['Console'],
    summary: 'Figures in the text format of Prometheus',
    'x-action': 'view',
    responses: {
      200: { description: 'Version 0.0.4 of the format.', content: { 'text/plain': { schema: z.string() } } },
      ...problems(401, 403, 503),
    },
  })
}

export const metricRoutes: Routes = (app, parts) => {
  for (const path of paths) {
    app.openapi(metricsAt(path), async (c) => {
      const caller = requirePermission(c, 'view')
      const { reads, live, limits, waiting } = parts
      const [queues, totals, pressures, rules, rateTotals, breakers] = await Promise.all([
        reads.queues.get(),
        reads.totals.get(),
        reads.pressures.get(),
        reads.limits.get(),
        reads.rateTotals.get(),
        reads.breakers.get(),
      ])
      const { viewers, dropped } = live
      const console = { viewers, waits: waiting.requests, dropped, refused: limits.refused }
      const facts = { queues, totals, pressures, limits: rules, rateTotals, breakers, console }
      const text = metricsText(facts, caller)
      return c.text(text, 200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
    })
  }
}
