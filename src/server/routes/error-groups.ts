import { createRoute, z } from '@hono/zod-openapi'
import { missingGroup } from '../../client/dead/error-groups.ts'
import type { DeadCount } from '../../jobs/dead/dead-counts.ts'
import type { ErrorGroup, ErrorGroupSummary, ErrorHour } from '../../stats/errors/error-groups.ts'
import { ErrorGroupDetail, ErrorGroupPage, IgnoreBody, ReopenBody, ResolveBody } from '../api/error-group.ts'
import { errorStatuses } from '../../core/failures/error-status.ts'
import type { ErrorGroupItem } from '../api/error-group.ts'
import type { Caller, Resource } from '../auth/caller.ts'
import type { ConsoleParts, Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { resourceOf, timeOf, toStoredError } from '../answers/job-item.ts'
import { requireOperator } from '../auth/operator.ts'
import { accepts, problems } from '../http/route-parts.ts'
import { mayAll } from '../auth/scope.ts'
import { hidePasswords } from '../auth/secret-names.ts'

const params = z.object({ group: z.string().regex(/^[\da-f]{4,64}$/) })
const json = <Schema extends z.ZodType>(description: string, schema: Schema) =>
  ({ description, content: { 'application/json': { schema } } }) as const

const list = createRoute({
  method: 'get',
  path: '/v1/error-groups',
  tags: ['Error groups'],
  summary: 'Groups of similar errors, last seen first',
  'x-action': 'view',
  'x-cli': 'stint error list',
  request: {
    query: z.object({
      status: z.enum(errorStatuses).optional(),
      kind: z.string().max(200).optional(),
      deadly: z.enum(['true', 'false']).optional().describe('`true`: only groups that killed jobs.'),
      cursor: z.string().max(200).optional().describe('There is one page.'),
      limit: z.coerce.number().int().min(1).max(200).optional(),
    }),
  },
  responses: { 200: json('The groups.', ErrorGroupPage), ...problems(401, 403, 422, 503) },
})

const get = createRoute({
  method: 'get',
  path: '/v1/error-groups/{group}',
  tags: ['Error groups'],
  summary: 'One error group, with its counts per hour',
  'x-action': 'view',
  'x-cli': 'stint error get {group}',
  request: { params },
  responses: { 200: json('The group.', ErrorGroupDetail), ...problems(401, 403, 404, 422, 503) },
})

function triage<Body extends z.ZodType>(verb: string, summary: string, body: Body) {
  return createRoute({
    method: 'post',
    path: `/v1/error-groups/{group}/${verb}`,
    tags: ['Error groups'],
    summary,
    'x-action': 'triage',
    'x-cli': `stint error ${verb} {group}`,
    request: { params, body: accepts(body) },
    responses: {
      200: json('The group.', ErrorGroupDetail),
      ...problems(400, 401, 403, 404, 409, 413, 415, 422, 503),
    },
  })
}

const resolve = triage('resolve', 'Mark an error group as resolved, now or in a version', ResolveBody)
const ignore = triage('ignore', 'Ignore an error group', IgnoreBody)
const reopen = triage('reopen', 'Reopen an error group', ReopenBody)

export const errorGroupRoutes: Routes = (app, parts) => {
  const { stint } = parts

  app.openapi(list, async (c) => {
    const caller = requirePermission(c, 'view')
    const { status, kind, deadly, limit = 50 } = c.req.valid('query')
    const seesAll = mayAll(caller)
    const request = { status, kind, deadly: deadly === 'true' }
    // A caller who sees only some groups gets a page filtered from as many groups as one read returns.
    const found = await stint.errors.list({ ...request, limit: seesAll ? limit : mostAtOnce })
    const shown = seesAll ? found : (await visibleTo(caller, parts, found)).slice(0, limit)
    const counts = await stint.dead.counts(shown.map(({ fingerprint }) => fingerprint))
    const { trash, oldestDiedAt } = seesAll ? await stint.dead.overview() : notCounted
    return c.json(
      {
        items: shown.map((group) => toItem(group, counts.get(group.fingerprint))),
        next: null,
        trash: { count: trash.count, exact: trash.isExact },
        oldestDiedAt: timeOf(oldestDiedAt),
        asOf: new Date().toISOString(),
      },
      200,
    )
  })

  app.openapi(get, async (c) => {
    const { group } = await findFor(requirePermission(c, 'view'), parts, c.req.valid('param').group)
    return c.json(await toDetail(group, parts), 200)
  })

  const acting = async (
    c: Parameters<typeof requireOperator>[0],
    group: string,
    verb: string,
    reason?: string,
  ) => {
    const { resource } = await findFor(requirePermission(c, 'view'), parts, group)
    return requireOperator(c, parts, {
      action: 'triage',
      act: `error.${verb}`,
      target: group,
      resource,
      reason,
    })
  }

  app.openapi(resolve, async (c) => {
    const { group } = c.req.valid('param')
    const body = c.req.valid('json')
    const as = await acting(c, group, 'resolve', body.reason)
    return c.json(await toDetail(await as.errors.resolve(group, body), parts), 200)
  })
  app.openapi(ignore, async (c) => {
    const { group } = c.req.valid('param')
    const { until, ...rest } = c.req.valid('json')
    const as = await acting(c, group, 'ignore', rest.reason)
    const options = { ...rest, ...(until === undefined ? {} : { until: new Date(until) }) }
    return c.json(await toDetail(await as.errors.ignore(group, options), parts), 200)
  })
  app.openapi(reopen, async (c) => {
    const { group } = c.req.valid('param')
    const { reason } = c.req.valid('json')
    const as = await acting(c, group, 'reopen', reason)
    return c.json(await toDetail(await as.errors.reopen(group, { reason }), parts), 200)
  })
}

const mostAtOnce = 200

/** For a caller who may see only some dead letters: the total is not counted by queue. */
const notCounted = { trash: { count: 0, isExact: false }, oldestDiedAt: null }

/**
 * The group and the resource that decides who may see it. The answer is the same for a missing group and for one that the
 * caller may not see. A group shows the error of its sample job, so a caller who may see that job may see the group.
 */
async function findFor(
  caller: Caller,
  parts: ConsoleParts,
  fingerprint: string,
): Promise<{ group: ErrorGroup; resource: Resource }> {
  const group = (await parts.stint.errors.get(fingerprint)) ?? missingGroup(fingerprint)
  const { kind } = group
  if (mayAll(caller)) return { group, resource: { kind } }
  const [job] = await parts.stint.view.jobs([group.sampleJob])
  if (job === undefined || !caller.can('view', resourceOf(job))) return missingGroup(fingerprint)
  return { group, resource: resourceOf(job) }
}

async function visibleTo<Group extends ErrorGroupSummary>(
  caller: Caller,
  { stint }: ConsoleParts,
  groups: readonly Group[],
): Promise<Group[]> {
  const jobs = await stint.view.jobs(groups.map(({ sampleJob }) => sampleJob))
  const visible = new Set(jobs.filter((job) => caller.can('view', resourceOf(job))).map(({ id }) => id))
  return groups.filter(({ sampleJob }) => visible.has(sampleJob))
}

function toItem(group: ErrorGroupSummary, dead: DeadCount | undefined): z.infer<typeof ErrorGroupItem> {
  const { fingerprint, kind, name, title, status, versions, sampleJob, resolvedIn, failures, deaths } = group
  return {
    group: fingerprint,
    kind,
    class: group.class,
    name,
    status,
    versions,
    sampleJob,
    resolvedIn,
    failures,
    deaths,
    title: hidePasswords(title),
    firstSeen: group.firstSeen.toISOString(),
    lastSeen: group.lastSeen.toISOString(),
    resolvedAt: timeOf(group.resolvedAt),
    ignoredUntil: timeOf(group.ignoredUntil),
    regressedAt: timeOf(group.regressedAt),
    dead: { count: dead?.count ?? 0, exact: dead?.isExact ?? true },
    trend: group.trend.map(toHour),
  }
}

async function toDetail(
  group: ErrorGroup,
  { stint }: ConsoleParts,
): Promise<z.infer<typeof ErrorGroupDetail>> {
  const counts = await stint.dead.counts([group.fingerprint])
  const sample = await stint.get(group.sampleJob, { blob: false })
  return {
    ...toItem(group, counts.get(group.fingerprint)),
    message: hidePasswords(group.message),
    stack: toStoredError(sample?.error)?.stack ?? null,
    hours: group.hours.map(toHour),
    asOf: new Date().toISOString(),
  }
}

function toHour({ at, failures, deaths }: ErrorHour): { at: string; failures: number; deaths: number } {
  return { at: at.toISOString(), failures, deaths }
}
