import { createRoute, z } from '@hono/zod-openapi'
import type { Job } from '../../core/job.ts'
import { printWhere } from '../../core/filter/print-where.ts'
import type { FoundJob } from '../../jobs/search/search.ts'
import { Id, Time } from '../api/common.ts'
import { JobAttempt, JobDetail, JobFilter, JobLog, JobPage, Lineage } from '../api/job.ts'
import type { JobItem } from '../api/job.ts'
import type { Caller } from '../auth/caller.ts'
import type { ConsoleParts, Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { isUnchanged } from '../http/etag.ts'
import { findJob } from '../answers/find-job.ts'
import { toJobDetail } from '../answers/job-detail.ts'
import { resourceOf, shownText, timeOf, toJobItem, toStoredError } from '../answers/job-item.ts'
import { HttpProblem } from '../http/problem.ts'
import { redactFor } from '../auth/redact.ts'
import { problems } from '../http/route-parts.ts'
import { searchJobs } from '../answers/search-jobs.ts'
import { hidePasswords } from '../auth/secret-names.ts'

const params = z.object({ id: Id })
const json = <Schema extends z.ZodType>(description: string, schema: Schema) =>
  ({ description, content: { 'application/json': { schema } } }) as const

const JobAttempts = z.object({ items: z.array(JobAttempt), asOf: Time }).openapi('JobAttempts')
const JobLogs = z
  .object({
    items: z.array(JobLog),
    next: z
      .string()
      .nullable()
      .describe('The `after` of the next request, also if there are no more lines yet.'),
    asOf: Time,
  })
  .openapi('JobLogs')
const JobResult = z
  .object({ id: Id, state: z.string(), result: z.unknown(), redacted: z.boolean(), asOf: Time })
  .openapi('JobResult')

const listJobs = createRoute({
  method: 'get',
  path: '/v1/jobs',
  tags: ['Jobs'],
  summary: 'Jobs that match a filter, newest first',
  'x-action': 'view',
  'x-cli': 'stint job list --where {where}',
  request: { query: JobFilter },
  responses: { 200: json('A page of jobs.', JobPage), ...problems(401, 403, 422, 503) },
})

const getJob = createRoute({
  method: 'get',
  path: '/v1/jobs/{id}',
  tags: ['Jobs'],
  summary: 'One job in any state, with an ETag',
  'x-action': 'view',
  'x-cli': 'stint job get {id}',
  request: { params },
  responses: {
    200: json('The job.', JobDetail),
    304: { description: 'Unchanged.' },
    ...problems(401, 403, 404, 410, 422, 503),
  },
})

const getAttempts = createRoute({
  method: 'get',
  path: '/v1/jobs/{id}/attempts',
  tags: ['Jobs'],
  summary: 'The last 1,000 attempts of a job, oldest first',
  'x-action': 'view',
  'x-cli': 'stint job get {id}',
  request: { params },
  responses: { 200: json('The attempts.', JobAttempts), ...problems(401, 403, 404, 410, 422, 503) },
})

const getLogs = createRoute({
  method: 'get',
  path: '/v1/jobs/{id}/logs',
  tags: ['Jobs'],
  summary: 'The log lines of the handler, oldest first',
  'x-action': 'view',
  'x-cli': 'stint job get {id} --logs 200',
  request: {
    params,
    query: z.object({
      attempt: z.coerce
        .number()
        .int()
        .min(0)
        .max(2_147_483_647)
        .optional()
        .describe('Only lines of the attempt with this epoch.'),
      after: z
        .string()
        .regex(/^\d{1,9}\.\d{1,9}$/)
        .optional()
        .describe('The `next` of the previous answer.'),
      limit: z.coerce.number().int().min(1).max(1_000).optional(),
    }),
  },
  responses: { 200: json('The lines.', JobLogs), ...problems(401, 403, 404, 410, 422, 503) },
})

const getLineage = createRoute({
  method: 'get',
  path: '/v1/jobs/{id}/lineage',
  tags: ['Jobs'],
  summary: 'The parent, children, replays and correlated jobs of a job',
  'x-action': 'view',
  'x-cli': 'stint job get {id}',
  request: { params },
  responses: { 200: json('The related jobs.', Lineage), ...problems(401, 403, 404, 410, 422, 503) },
})

const getResult = createRoute({
  method: 'get',
  path: '/v1/jobs/{id}/result',
  tags: ['Jobs'],
  summary: 'The result of a job',
  'x-action': 'view.input',
  'x-cli': 'stint job get {id} -o json',
  request: { params },
  responses: {
    200: json('The job succeeded.', JobResult),
    202: json('The job has not ended yet; ask again.', JobResult),
    ...problems(401, 403, 404, 409, 410, 422, 503),
  },
})

export const jobRoutes: Routes = (app, parts) => {
  const { stint } = parts

  app.openapi(listJobs, async (c) => {
    const caller = requirePermission(c, 'view')
    const page = await searchJobs(caller, parts, c.req.valid('query'))
    return c.json(
      {
        items: page.jobs.map(toJobItem),
        next: page.next ?? null,
        looked: { rows: page.looked.rows, complete: page.looked.isComplete },
        asOf: page.asOf.toISOString(),
      },
      200,
    )
  })

  app.openapi(getJob, async (c) => {
    const { id } = c.req.valid('param')
    const job = await findJob(c, parts, id)
    const detail = toJobDetail(job, c.get('caller'), parts, new Date())
    if (isUnchanged(c, { ...detail, asOf: null })) return c.body(null, 304)
    return c.json(detail, 200)
  })

  app.openapi(getAttempts, async (c) => {
    const { id } = c.req.valid('param')
    const job = await findJob(c, parts, id)
    const noted = (await stint.attempts(id)).map((attempt) => ({
      ...attempt,
      startedAt: timeOf(attempt.startedAt),
      endedAt: timeOf(attempt.endedAt),
      error: toStoredError(attempt.error),
      reason: shownText(attempt.reason),
    }))
    return c.json({ items: [...noted, ...lastAttempt(job)], asOf: new Date().toISOString() }, 200)
  })

  app.openapi(getLogs, async (c) => {
    const { id } = c.req.valid('param')
    const { attempt, after, limit } = c.req.valid('query')
    const job = await findJob(c, parts, id)
    const [epoch = 0, line = 0] = (after ?? '').split('.').map(Number)
    const lines = await stint.logs(id, {
      epoch: attempt,
      limit,
      after: after === undefined ? undefined : { epoch, line },
    })
    const last = lines.at(-1)
    const items = lines.map((one) => ({
      epoch: one.epoch,
      line: one.line,
      at: one.at.toISOString(),
      level: one.level,
      message: hidePasswords(one.message),
      data: redactFor(c.get('caller'), parts, job, one.data).value ?? null,
    }))
    const next = last === undefined ? (after ?? null) : `${last.epoch}.${last.line}`
    return c.json({ items, next, asOf: new Date().toISOString() }, 200)
  })

  app.openapi(getLineage, async (c) => {
    const { id } = c.req.valid('param')
    const job = await findJob(c, parts, id)
    return c.json(await lineageOf(job, c.get('caller'), parts), 200)
  })

  app.openapi(getResult, async (c) => {
    const { id } = c.req.valid('param')
    const job = await findJob(c, parts, id, 'view.input')
    const { state } = job
    if (state === 'dead')
      throw ended('job-dead', `Job ${id} is dead${job.reason === null ? '' : `: ${job.reason}`}.`)
    if (state === 'cancelled') throw ended('job-cancelled', `Job ${id} was cancelled.`)
    const { value, isRedacted } = redactFor(c.get('caller'), parts, job, job.result)
    const body = { id, state, result: value ?? null, redacted: isRedacted, asOf: new Date().toISOString() }
    if (state === 'succeeded') return c.json(body, 200)
    c.header('Retry-After', '1')
    return c.json(body, 202)
  })
}

/** The last attempt, if it runs or succeeded: no row of `attempt` is stored for it. */
function lastAttempt(job: Job): z.infer<typeof JobAttempt>[] {
  if (job.state !== 'running' && job.state !== 'succeeded') return []
  return [
    {
      epoch: job.epoch,
      attempt: job.attempt,
      outcome: job.state,
      workerId: job.workerId,
      startedAt: timeOf(job.startedAt),
      endedAt: timeOf(job.finishedAt),
      error: null,
      reason: null,
    },
  ]
}

/** Up to 200 of each. A child inherits the correlation id, so children are found among the correlated jobs. */
async function lineageOf(
  job: Job,
  caller: Caller,
  { stint }: ConsoleParts,
): Promise<z.infer<typeof Lineage>> {
  const near = [job.parentId, job.replaces, job.replacedBy].filter((id) => id !== null)
  const named = near.length === 0 ? [] : (await stint.search({ where: `id:${near.join(',')}` })).jobs
  // A filter cannot contain a correlation id that is empty or too long: then only the job itself is found.
  const isNamed = !job.broken.some((one) => one.startsWith('correlationId:'))
  const chain = isNamed ? { correlations: [job.correlationId] } : { ids: [job.id] }
  const page = await stint.search({ where: printWhere(chain), limit: 200 })
  const shown = (jobs: readonly FoundJob[]): z.infer<typeof JobItem>[] =>
    jobs.filter((one) => caller.can('view', resourceOf(one))).map(toJobItem)
  const correlated = shown(page.jobs).filter(({ id }) => id !== job.id)
  const relatives = [...shown(named), ...correlated]
  const find = (id: string | null): z.infer<typeof JobItem> | null =>
    relatives.find((one) => one.id === id) ?? null
  return {
    parent: find(job.parentId),
    children: correlated.filter(({ parentId }) => parentId === job.id),
    replaces: find(job.replaces),
    replacedBy: find(job.replacedBy),
    correlated,
    asOf: page.asOf.toISOString(),
  }
}

function ended(code: string, detail: string): HttpProblem {
  return new HttpProblem({ status: 409, code, title: 'There is no result', detail })
}
