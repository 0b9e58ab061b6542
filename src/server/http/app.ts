import { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { Assets } from '../assets.ts'
import { malformed, takeBody } from './body.ts'
import type { App, ConsoleParts, Env, Routes } from '../context.ts'
import { showDashboard } from '../dashboard.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import { signInPages } from '../auth/sign-in.ts'
import { authorize, notFound } from '../auth/authorize.ts'
import { frameAnswers } from './headers.ts'
import type { Frame } from './headers.ts'
import { answerOnce } from './idempotency.ts'
import { invalidRequest } from './invalid-request.ts'
import { requireKnownHost } from './known-host.ts'
import { pathBelow } from './path.ts'
import { noteRefused } from '../auth/operator.ts'
import { HttpProblem, problemResponse, toProblem } from './problem.ts'
import { eventRoutes } from '../routes/events.ts'
import { flowRoutes } from '../routes/flows.ts'
import { healthRoutes } from '../routes/health.ts'
import { meRoutes } from '../routes/me.ts'
import { metricRoutes } from '../routes/metrics.ts'
import { openapiRoutes } from '../routes/openapi.ts'
import { overviewRoutes } from '../routes/overview.ts'
import { producerRoutes } from '../routes/producers.ts'
import { pressureRoutes } from '../routes/pressure.ts'
import { queueRoutes } from '../routes/queues.ts'
import { statRoutes } from '../routes/stats.ts'
import { signalRoutes } from '../routes/signals.ts'
import { stepRoutes } from '../routes/steps.ts'
import { systemRoutes } from '../routes/system.ts'
import { workerRoutes } from '../routes/workers.ts'
import { approvalRoutes } from '../routes/approvals.ts'
import { auditRoutes } from '../routes/audit.ts'
import { errorGroupRoutes } from '../routes/error-groups.ts'
import { jobRoutes } from '../routes/jobs.ts'
import { jobVerbRoutes } from '../routes/job-verbs.ts'
import { limitRoutes } from '../routes/limits.ts'
import { operationRoutes } from '../routes/operations.ts'
import { scheduleRoutes } from '../routes/schedules.ts'
import { whyRoutes } from '../routes/why.ts'
import { breakerRoutes } from '../routes/breakers.ts'
import { isSafe } from './same-origin.ts'

/** All routes under /v1, /metrics and /approvals; each resource has one entry. */
const allRoutes: readonly Routes[] = [
  ...[healthRoutes, meRoutes, openapiRoutes, producerRoutes],
  ...[
    jobRoutes,
    whyRoutes,
    stepRoutes,
    signalRoutes,
    approvalRoutes,
    jobVerbRoutes,
    operationRoutes,
    errorGroupRoutes,
    scheduleRoutes,
    limitRoutes,
    breakerRoutes,
    flowRoutes,
    auditRoutes,
  ],
  ...[
    overviewRoutes,
    queueRoutes,
    pressureRoutes,
    statRoutes,
    workerRoutes,
    systemRoutes,
    metricRoutes,
    eventRoutes,
  ],
]

export interface AppOptions {
  authenticator: Authenticator
  assets: Assets
  frame: Frame
  publicOrigin: string | undefined
  /** The host names that the console answers to, besides those of this machine; undefined: any name. */
  hosts: ReadonlySet<string> | undefined
  /** Called with every error that is answered with status 500. */
  onError: (error: unknown, requestId: string) => void
}

/** Builds the app. A request passes, in this order: headers, host check, read-only check, authorization, body, idempotency, route. */
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
  if (hosts !== undefined) app.use(requireKnownHost(hosts))
  if (parts.about.readOnly) {
    app.use(async (c, next) => {
      if (!isSafe(c.req.method) && /^\/(?:v1|approvals)\//.test(c.req.path)) throw readOnly()
      await next()
    })
  }
  const onRefused = (c: Context<Env>): Promise<void> => noteRefused(c, parts)
  const authorization = authorize({ app, identify: authenticator.identify, publicOrigin, onRefused })
  app.use('/v1/*', authorization, takeBody(), answerOnce(parts))
  app.use('/metrics', authorization)
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
