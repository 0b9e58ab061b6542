import { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { Assets } from '../assets.ts'
import { malformed, takeBody } from './body.ts'
import type { App, ConsoleParts, Env, Routes } from '../context.ts'
import { showDashboard } from '../dashboard.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import { signInPages } from '../auth/sign-in.ts'
import { guard, notFound } from '../auth/gate.ts'
import { frameAnswers } from './headers.ts'
import type { Frame } from './headers.ts'
import { answerOnce } from './idempotency.ts'
import { invalidRequest } from './invalid-request.ts'
import { demandKnownHost } from './known-host.ts'
import { pathBelow } from './path.ts'
import { noteRefused } from '../auth/operator.ts'
import { HttpProblem, problemResponse, toProblem } from './problem.ts'
import { eventRoutes } from '../routes/events.ts'
import { healthRoutes } from '../routes/health.ts'
import { meRoutes } from '../routes/me.ts'
import { metricRoutes } from '../routes/metrics.ts'
import { openapiRoutes } from '../routes/openapi.ts'
import { overviewRoutes } from '../routes/overview.ts'
import { producerRoutes } from '../routes/producers.ts'
import { queueRoutes } from '../routes/queues.ts'
import { statRoutes } from '../routes/stats.ts'
import { systemRoutes } from '../routes/system.ts'
import { workerRoutes } from '../routes/workers.ts'
import { auditRoutes } from '../routes/audit.ts'
import { errorGroupRoutes } from '../routes/error-groups.ts'
import { jobRoutes } from '../routes/jobs.ts'
import { jobVerbRoutes } from '../routes/job-verbs.ts'
import { operationRoutes } from '../routes/operations.ts'
import { scheduleRoutes } from '../routes/schedules.ts'
import { isSafe } from './same-origin.ts'

/** Everything under /v1: a resource's routes are a line here. */
const allRoutes: readonly Routes[] = [
  ...[healthRoutes, meRoutes, openapiRoutes, producerRoutes],
  ...[jobRoutes, jobVerbRoutes, operationRoutes, errorGroupRoutes, scheduleRoutes, auditRoutes],
  ...[overviewRoutes, queueRoutes, statRoutes, workerRoutes, systemRoutes, metricRoutes, eventRoutes],
]

export interface AppOptions {
  authenticator: Authenticator
  assets: Assets
  frame: Frame
  publicOrigin: string | undefined
  /** The only names it answers to, beside those of this machine; undefined: to any. */
  hosts: ReadonlySet<string> | undefined
  /** Told of what no problem explains: a failure of ours. */
  onError: (error: unknown, requestId: string) => void
}

/** What a request passes, from the outside in: headers, whether it is for us, who may write, who comes in, its body, repeats, its route. */
export function createApp(parts: ConsoleParts, options: AppOptions): App {
  const { authenticator, assets, frame, publicOrigin, hosts, onError } = options
  const app: App = new OpenAPIHono<Env>({
    getPath: (request) => pathBelow(request.url, parts.basePath) ?? '/outside',
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(result.target, result.error.issues)
    },
  })
  app.notFound((c) => problemResponse(notFound(), { instance: c.req.path, requestId: c.get('requestId') }))
  app.onError((error, c) => {
    const problem = error instanceof HTTPException && error.status === 400 ? malformed() : toProblem(error)
    if (problem.code === 'busy') parts.limits.refused++
    if (problem.status === 500) onError(error, c.get('requestId'))
    return problemResponse(problem, { instance: c.req.path, requestId: c.get('requestId') })
  })
  app.use(frameAnswers(frame))
  if (hosts !== undefined) app.use(demandKnownHost(hosts))
  if (parts.about.readOnly) {
    app.use(async (c, next) => {
      if (!isSafe(c.req.method) && c.req.path.startsWith('/v1/')) throw readOnly()
      await next()
    })
  }
  const onRefused = (c: Context<Env>): Promise<void> => noteRefused(c, parts)
  const gate = guard({ app, identify: authenticator.identify, publicOrigin, onRefused })
  app.use('/v1/*', gate, takeBody(), answerOnce(parts))
  app.use('/metrics', gate)
  for (const routes of allRoutes) routes(app, parts)
  signInPages(app, authenticator, { basePath: parts.basePath, publicOrigin })
  showDashboard(app, { authenticator, assets, basePath: parts.basePath })
  return app
}

function readOnly(): HttpProblem {
  return new HttpProblem({
    status: 403,
    code: 'read-only',
    title: 'This console is read-only',
    detail: 'The console was started read-only and refuses every request that changes data.',
  })
}
