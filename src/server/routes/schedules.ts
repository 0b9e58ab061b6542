import { createRoute, z } from '@hono/zod-openapi'
import { missingSchedule } from '../../schedules/rules/stored.ts'
import type { Fire as StoredFire, ScheduleDetails, ScheduleInfo } from '../../schedules/read.ts'
import { Id, Name, Reason, Time } from '../api/common.ts'
import {
  BackfillBody,
  Fire,
  NextFire,
  PauseScheduleBody,
  RunScheduleBody,
  ScheduleDetail,
  ScheduleList,
  SetScheduleBody,
} from '../api/schedule.ts'
import type { ScheduleItem } from '../api/schedule.ts'
import type { Caller } from '../auth/caller.ts'
import type { ConsoleParts, Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { shownText, timeOf } from '../answers/job-item.ts'
import { requireOperator } from '../auth/operator.ts'
import { redactFor } from '../auth/redact.ts'
import { accepts, problems } from '../http/route-parts.ts'
import { wantedDefinition } from '../answers/schedule-definition.ts'

const params = z.object({ name: Name })
const json = <Schema extends z.ZodType>(description: string, schema: Schema) =>
  ({ description, content: { 'application/json': { schema } } }) as const
const reads = problems(401, 403, 404, 422, 503)
const acts = problems(400, 401, 403, 404, 409, 413, 415, 422, 503)
const about = { tags: ['Schedules'] }

const NextFires = z.object({ items: z.array(NextFire), asOf: Time }).openapi('NextFires')
const Fires = z.object({ items: z.array(Fire), next: z.string().nullable(), asOf: Time }).openapi('Fires')
const askedExplanation =
  'If code makes the input, the answer is `asked`: a worker with the code of the schedule makes the job, with the id of this answer. While `isOrphan` of the schedule is true, no worker has the code, and the fire waits.'
const Ran = z
  .object({ jobId: Id, action: z.enum(['fired', 'asked']), isOrphan: z.boolean(), asOf: Time })
  .openapi('RanSchedule')
const Backfilled = z
  .object({
    items: z.array(
      z.object({
        fireAt: Time,
        action: z.enum(['fired', 'asked', 'kept']),
        before: z.string().nullable(),
        jobId: Id.nullable(),
      }),
    ),
    count: z.int().describe('Jobs that were made or requested; with `dryRun`, jobs that would be.'),
    isOrphan: z.boolean(),
    dryRun: z.boolean(),
    asOf: Time,
  })
  .openapi('Backfilled')

const list = createRoute({
  method: 'get',
  path: '/v1/schedules',
  ...about,
  'x-action': 'view',
  'x-cli': 'stint schedule list',
  summary: 'Schedules by name, with their last fires',
  request: {
    query: z.object({
      cursor: z.string().max(200).optional().describe('The `next` of the previous page.'),
      limit: z.coerce.number().int().min(1).max(200).optional(),
    }),
  },
  responses: { 200: json('A page of schedules.', ScheduleList), ...reads },
})
const get = createRoute({
  method: 'get',
  path: '/v1/schedules/{name}',
  ...about,
  'x-action': 'view',
  'x-cli': 'stint schedule get {name}',
  summary: 'One schedule, with its next fires',
  request: { params },
  responses: { 200: json('The schedule.', ScheduleDetail), ...reads },
})
const next = createRoute({
  method: 'get',
  path: '/v1/schedules/{name}/next',
  ...about,
  'x-action': 'view',
  'x-cli': 'stint schedule next {name}',
  summary: 'The next fire times of a schedule',
  request: { params, query: z.object({ n: z.coerce.number().int().min(1).max(50).optional() }) },
  responses: { 200: json('The times.', NextFires), ...reads },
})
const fires = createRoute({
  method: 'get',
  path: '/v1/schedules/{name}/fires',
  ...about,
  'x-action': 'view',
  'x-cli': 'stint schedule get {name}',
  summary: 'The fires of a schedule with their outcomes, newest first',
  request: {
    params,
    query: z.object({
      cursor: Time.optional(),
      limit: z.coerce.number().int().min(1).max(200).optional(),
    }),
  },
  responses: { 200: json('A page of fires.', Fires), ...reads },
})
const set = createRoute({
  method: 'put',
  path: '/v1/schedules/{name}',
  ...about,
  'x-action': 'schedule.edit',
  'x-cli': 'stint schedule set {name} --every {every}',
  summary: 'Create or change a schedule',
  description:
    'Fields that are left out keep their stored value. A changed rule counts from now on. If the schedule is defined in code, the next worker that starts restores the definition of the code.',
  request: { params, body: accepts(SetScheduleBody) },
  responses: { 200: json('The schedule.', ScheduleDetail), ...acts },
})
const run = createRoute({
  method: 'post',
  path: '/v1/schedules/{name}/run',
  ...about,
  'x-action': 'schedule.run',
  'x-cli': 'stint schedule run {name}',
  summary: 'Fire a schedule now',
  description: askedExplanation,
  request: { params, body: accepts(RunScheduleBody) },
  responses: { 200: json('The job that was made or requested.', Ran), ...acts },
})
const pause = createRoute({
  method: 'post',
  path: '/v1/schedules/{name}/pause',
  ...about,
  'x-action': 'schedule.run',
  'x-cli': 'stint schedule pause {name}',
  summary: 'Pause a schedule until a time, or until it is resumed',
  request: { params, body: accepts(PauseScheduleBody) },
  responses: { 200: json('The schedule.', ScheduleDetail), ...acts },
})
const resume = createRoute({
  method: 'post',
  path: '/v1/schedules/{name}/resume',
  ...about,
  'x-action': 'schedule.run',
  'x-cli': 'stint schedule resume {name}',
  summary: 'Resume a schedule; it fires again from now on',
  request: { params, body: accepts(RunScheduleBody) },
  responses: { 200: json('The schedule.', ScheduleDetail), ...acts },
})
const backfill = createRoute({
  method: 'post',
  path: '/v1/schedules/{name}/backfill',
  ...about,
  'x-action': 'schedule.run',
  'x-cli': 'stint schedule backfill {name} --from {from} --to {to}',
  summary: 'Make jobs for missed fires in a time range, at most 1,000',
  description: askedExplanation,
  request: { params, body: accepts(BackfillBody) },
  responses: { 200: json('The fires, with what was done.', Backfilled), ...acts },
})
const remove = createRoute({
  method: 'delete',
  path: '/v1/schedules/{name}',
  ...about,
  'x-action': 'schedule.edit',
  'x-cli': 'stint schedule delete {name}',
  summary: 'Delete a schedule and its history; its jobs stay',
  request: { params, query: z.object({ reason: Reason.optional() }) },
  responses: { 204: { description: 'The schedule is deleted.' }, ...acts },
})

export const scheduleRoutes: Routes = (app, parts) => {
  const { stint } = parts
  const now = (): string => new Date().toISOString()

  app.openapi(list, async (c) => {
    const caller = requirePermission(c, 'view')
    const { cursor, limit = 50 } = c.req.valid('query')
    const { found, next: last } = await listFor(caller, parts, { after: cursor, limit })
    const recent = await stint.schedules.recent(found.map(({ name }) => name))
    const items = found.map((info) => toItem(info, recent.get(info.name) ?? []))
    return c.json({ items, next: last, asOf: now() }, 200)
  })

  app.openapi(get, async (c) => {
    const { name } = c.req.valid('param')
    const caller = requirePermission(c, 'view')
    return c.json(await toDetail(await findFor(caller, parts, name), caller, parts), 200)
  })

  app.openapi(next, async (c) => {
    const { name } = c.req.valid('param')
    const { n = 5 } = c.req.valid('query')
    await findFor(requirePermission(c, 'view'), parts, name)
    const times = await stint.schedules.next(name, n)
    return c.json(
      { items: times.map(({ at, shift }) => ({ at: at.toISOString(), shift })), asOf: now() },
      200,
    )
  })

  app.openapi(fires, async (c) => {
    const { name } = c.req.valid('param')
    const { cursor, limit = 20 } = c.req.valid('query')
    await findFor(requirePermission(c, 'view'), parts, name)
    const found = await stint.schedules.fires(name, { limit, before: cursor })
    const last = found.length === limit ? timeOf(found.at(-1)?.fireAt ?? null) : null
    return c.json({ items: found.map(toFire), next: last, asOf: now() }, 200)
  })

  const acting = async (
    c: Parameters<typeof requireOperator>[0],
    name: string,
    {
      action,
      act,
      reason,
    }: { action: 'schedule.run' | 'schedule.edit'; act: string; reason: string | undefined },
  ) => {
    const { queue, kind } = await findFor(requirePermission(c, 'view'), parts, name)
    return requireOperator(c, parts, { action, act, target: name, resource: { queue, kind }, reason })
  }
  const isOrphan = async (name: string): Promise<boolean> =>
    (await stint.schedules.get(name))?.isOrphan ?? false

  app.openapi(set, async (c) => {
    const { name } = c.req.valid('param')
    const { reason, ...body } = c.req.valid('json')
    const caller = requirePermission(c, 'view')
    const before = await stint.schedules.get(name)
    const isVisibleToCaller = before !== undefined && isVisible(caller, before)
    const doing = { action: 'schedule.edit', act: 'schedule.set', reason } as const
    if (isVisibleToCaller) await acting(c, name, doing)
    const stored = isVisibleToCaller ? await stint.schedules.definition(name) : undefined
    const definition = wantedDefinition(parts, { name, body, stored, caller })
    // The name is taken by a schedule that the caller may not see. Checked last, so that only a valid request reveals it.
    if (before !== undefined && !isVisibleToCaller) return missingSchedule(name)
    const { job, options } = definition
    // The permission for the new queue and kind: the caller may not have it, even if it has the one for the old.
    const resource = { queue: options?.queue ?? job.queue, kind: job.kind }
    const as = await requireOperator(c, parts, { ...doing, target: name, resource })
    return c.json(await toDetail(await as.schedules.set(definition, { reason }), caller, parts), 200)
  })
  app.openapi(run, async (c) => {
    const { name } = c.req.valid('param')
    const { reason } = c.req.valid('json')
    const as = await acting(c, name, { action: 'schedule.run', act: 'schedule.run', reason })
    const ran = await as.schedules.run(name, { reason })
    return c.json({ ...ran, isOrphan: await isOrphan(name), asOf: now() }, 200)
  })
  app.openapi(pause, async (c) => {
    const { name } = c.req.valid('param')
    const body = c.req.valid('json')
    const as = await acting(c, name, { action: 'schedule.run', act: 'schedule.pause', reason: body.reason })
    return c.json(await toDetail(await as.schedules.pause(name, body), c.get('caller'), parts), 200)
  })
  app.openapi(resume, async (c) => {
    const { name } = c.req.valid('param')
    const { reason } = c.req.valid('json')
    const as = await acting(c, name, { action: 'schedule.run', act: 'schedule.resume', reason })
    return c.json(await toDetail(await as.schedules.resume(name, { reason }), c.get('caller'), parts), 200)
  })
  app.openapi(backfill, async (c) => {
    const { name } = c.req.valid('param')
    const { from, to, dryRun = false, reason } = c.req.valid('json')
    const as = await acting(c, name, { action: 'schedule.run', act: 'schedule.backfill', reason })
    const times = dryRun
      ? await stint.schedules.backfill(name, { from, to, dryRun })
      : await as.schedules.backfill(name, { from, to, reason })
    const items = times.map((one) => ({ ...one, fireAt: one.fireAt.toISOString() }))
    const count = items.filter(({ action }) => action !== 'kept').length
    return c.json({ items, count, isOrphan: await isOrphan(name), dryRun, asOf: now() }, 200)
  })
  app.openapi(remove, async (c) => {
    const { name } = c.req.valid('param')
    const { reason } = c.req.valid('query')
    const as = await acting(c, name, { action: 'schedule.edit', act: 'schedule.delete', reason })
    await as.schedules.delete(name, { reason })
    return c.body(null, 204)
  })
}

/** Finds a schedule. The answer is the same for a missing schedule and for one that the caller may not see. */
async function findFor(caller: Caller, { stint }: ConsoleParts, name: string): Promise<ScheduleDetails> {
  const found = await stint.schedules.get(name)
  if (found === undefined || !isVisible(caller, found)) return missingSchedule(name)
  return found
}

function isVisible(caller: Caller, { queue, kind }: Pick<ScheduleInfo, 'queue' | 'kind'>): boolean {
  return caller.can('view', { queue, kind })
}

/** Schedules per read after the first, when the caller may not see most of them. */
const laterReadSize = 200

/** A page of the schedules that this caller may see. The cursor is always the name of a visible schedule. */
async function listFor(
  caller: Caller,
  { stint }: ConsoleParts,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<{ found: ScheduleInfo[]; next: string | null }> {
  const found: ScheduleInfo[] = []
  let last = after
  for (let size = limit; ; size = Math.max(limit, laterReadSize)) {
    const page = await stint.schedules.list({ after: last, limit: size })
    found.push(...page.filter((one) => isVisible(caller, one)))
    last = page.at(-1)?.name
    if (found.length >= limit) {
      const shown = found.slice(0, limit)
      const isMore = found.length > limit || page.length === size
      return { found: shown, next: isMore ? (shown.at(-1)?.name ?? null) : null }
    }
    if (page.length < size) return { found, next: null }
  }
}

async function toDetail(
  details: ScheduleDetails,
  caller: Caller,
  parts: ConsoleParts,
): Promise<z.infer<typeof ScheduleDetail>> {
  const { name, queue, kind } = details
  const recent = await parts.stint.schedules.recent([name])
  const upcoming = await parts.stint.schedules.next(name, 5)
  const mayRead = caller.can('view.input', { queue, kind })
  return {
    ...toItem(details, recent.get(name) ?? []),
    input: mayRead
      ? (redactFor(caller, parts, { kind, queue, key: null }, details.input).value ?? null)
      : null,
    inputFromCode: details.inputFromCode,
    askedFires: details.askedFires,
    lastError: shownText(details.lastError),
    upcoming: upcoming.map(({ at, shift }) => ({ at: at.toISOString(), shift })),
    asOf: new Date().toISOString(),
  }
}

function toItem(info: ScheduleInfo, recent: readonly StoredFire[]): z.infer<typeof ScheduleItem> {
  const { name, kind, queue, rule, spec, timeZone, overlap, missed, jitterMs, source } = info
  const { isOrphan, isPaused, pauseReason, lastOutcome, failures, invalid } = info
  return {
    name,
    kind,
    queue,
    rule,
    spec,
    timeZone,
    overlap,
    missed,
    jitterMs,
    source,
    isOrphan,
    isPaused,
    pauseReason,
    lastOutcome,
    failures,
    invalid,
    startsAt: timeOf(info.startsAt),
    endsAt: timeOf(info.endsAt),
    pausedUntil: timeOf(info.pausedUntil),
    nextFireAt: timeOf(info.nextFireAt),
    lastFireAt: timeOf(info.lastFireAt),
    recent: recent.map(toFire),
  }
}

function toFire({ fireAt, outcome, jobId, reason, at }: StoredFire): z.infer<typeof Fire> {
  return { fireAt: fireAt.toISOString(), outcome, jobId, reason, at: at.toISOString() }
}
