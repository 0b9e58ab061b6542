import { createRoute, z } from '@hono/zod-openapi'
import { firstForeign } from '../../schema/migrate.ts'
import { latestVersion } from '../../schema/migrations.ts'
import type { ConsoleParts, Routes } from '../context.ts'

/** Needs no sign-in, so it reveals only yes or no. */
const Health = z.object({ ok: z.boolean() }).openapi('Health')

const yes = { description: 'Yes.', content: { 'application/json': { schema: Health } } }

const live = createRoute({
  method: 'get',
  path: '/v1/health/live',
  tags: ['Console'],
  summary: 'Whether the process answers',
  security: [],
  responses: { 200: yes },
})

const ready = createRoute({
  method: 'get',
  path: '/v1/health/ready',
  tags: ['Console'],
  summary: 'Whether the database answers and its tables match this version',
  security: [],
  responses: { 200: yes, 503: { ...yes, description: 'No.' } },
})

/** The console asks its database at most this often, however many probes come. */
const askAgainMs = 1_000

export const healthRoutes: Routes = (app, { stint }) => {
  let asked: Promise<boolean> | undefined
  const isReady = (): Promise<boolean> => {
    if (asked === undefined) {
      asked = isFit(stint)
      setTimeout(() => (asked = undefined), askAgainMs).unref()
    }
    return asked
  }
  app.openapi(live, (c) => c.json({ ok: true }, 200))
  app.openapi(ready, async (c) =>
    (await isReady()) ? c.json({ ok: true }, 200) : c.json({ ok: false }, 503),
  )
}

async function isFit(stint: ConsoleParts['stint']): Promise<boolean> {
  try {
    const { pending, applied } = await stint.migrationStatus()
    return (
      pending.length === 0 &&
      applied.every(({ version }) => version <= latestVersion) &&
      firstForeign(applied) === undefined
    )
  } catch {
    return false
  }
}
