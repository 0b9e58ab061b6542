import { createRoute } from '@hono/zod-openapi'
import { stintVersion } from '../../node/version.ts'
import { KindList, SystemReport } from '../api/system.ts'
import type { Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { jsonSchemaOf } from '../http/json-schema.ts'
import { findingsFor } from '../answers/overview.ts'
import { problems } from '../http/route-parts.ts'
import { wire } from '../http/wire.ts'

const system = createRoute({
  method: 'get',
  path: '/v1/system',
  tags: ['Console'],
  summary: 'The database, the schema and the console, with the findings of the doctor',
  'x-action': 'view',
  'x-cli': 'stint doctor',
  responses: {
    200: { description: 'The report.', content: { 'application/json': { schema: SystemReport } } },
    ...problems(401, 403, 503),
  },
})

const kinds = createRoute({
  method: 'get',
  path: '/v1/kinds',
  tags: ['Console'],
  summary: 'The contracts that the console has',
  'x-action': 'view',
  responses: {
    200: {
      description: 'The contracts, sorted by kind.',
      content: { 'application/json': { schema: KindList } },
    },
    ...problems(401, 403),
  },
})

/** The doctor makes twenty checks, and some read the whole catalog. Findings that come later are in the next answer. */
const patienceMs = 50

export const systemRoutes: Routes = (app, { stint, reads, live, limits, contracts, connections }) => {
  app.openapi(system, async (c) => {
    const caller = requirePermission(c, 'view')
    const { version, applied, pending, asOf } = await stint.view.system()
    const facts = await reads.overview()
    const examined = await reads.findings.soon(patienceMs)
    const report = {
      stintVersion: stintVersion(),
      schemaVersion: applied,
      pendingMigrations: pending,
      postgresVersion: version,
      findings: findingsFor(caller, { ...facts, findings: examined?.findings ?? [] }),
      findingsAsOf: examined?.asOf ?? null,
      console: {
        connections: stint.view.connections + (live.isListening ? 1 : 0),
        maxConnections: connections,
        viewers: live.viewers,
        refusedByLimit: limits.refused,
      },
      asOf,
    }
    return c.json(wire(report), 200)
  })
  app.openapi(kinds, (c) => {
    const caller = requirePermission(c, 'view')
    const items = [...contracts.values()]
      .filter(({ kind, queue }) => caller.can('view', { kind, queue }))
      .map(({ kind, queue, version, inputSchema }) => ({
        kind,
        queue,
        version,
        jsonSchema: jsonSchemaOf(inputSchema),
      }))
      .sort((a, b) => (a.kind < b.kind ? -1 : 1))
    return c.json({ items, asOf: new Date().toISOString() }, 200)
  })
}
