import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Operator } from '../../client/operator/operator.ts'
import type { Job } from '../../core/job.ts'
import { Id } from '../api/common.ts'
import type { Action } from '../api/common.ts'
import {
  AcceptedJob,
  Act,
  EditBody,
  JobDetail,
  ReprioritizeBody,
  RescheduleBody,
  ResumeBody,
} from '../api/job.ts'
import type { Caller } from '../auth/caller.ts'
import type { ConsoleParts, Env, Routes } from '../context.ts'
import { acceptedJob } from '../answers/accepted.ts'
import { findJob } from '../answers/find-job.ts'
import { toJobDetail } from '../answers/job-detail.ts'
import { resourceOf } from '../answers/job-item.ts'
import { requireOperator, withCurrent } from '../auth/operator.ts'
import { maskedByHost, maskWithoutOriginal } from '../auth/redacted-input.ts'
import { HttpProblem } from '../http/problem.ts'
import { redactFor, restoreRedacted } from '../auth/redact.ts'
import { accepts, problems } from '../http/route-parts.ts'

const failures = problems(400, 401, 403, 404, 409, 410, 413, 415, 422, 503)
const done = {
  200: { description: 'The changed job.', content: { 'application/json': { schema: JobDetail } } },
  202: {
    description: 'The running attempt was asked to stop and has not ended yet.',
    content: { 'application/json': { schema: JobDetail } },
  },
} as const

/** A route for one verb, which is the last segment of the path. */
function verbRoute<Body extends z.ZodType>(
  verb: string,
  { action, cli, summary, body }: { action: Action; cli: string; summary: string; body: Body },
) {
  return createRoute({
    method: 'post',
    path: `/v1/jobs/{id}/${verb}`,
    tags: ['Jobs'],
    summary,
    'x-action': action,
    'x-cli': cli,
    request: { params: z.object({ id: Id }), body: accepts(body) },
    responses: { ...done, ...failures },
  })
}

const replay = verbRoute('replay', {
  action: 'replay',
  cli: 'stint dead replay {id}',
  body: Act,
  summary: 'Replay a dead letter under its old id',
})
const cancel = verbRoute('cancel', {
  action: 'cancel',
  cli: 'stint job cancel {id}',
  body: Act,
  summary: 'Cancel a job; a running job is asked to stop',
})
const runNow = verbRoute('run-now', {
  action: 'run-now',
  cli: 'stint job run-now {id}',
  body: Act,
  summary: 'Run a scheduled or retrying job now',
})
const reschedule = verbRoute('reschedule', {
  action: 'reschedule',
  cli: 'stint job reschedule {id} --delay 1h',
  body: RescheduleBody,
  summary: 'Move a waiting job to another time',
})
const resume = verbRoute('resume', {
  action: 'flow',
  cli: 'stint job resume {id}',
  body: ResumeBody,
  summary: 'Let a job run that is parked because its steps have changed',
})
const reprioritize = verbRoute('reprioritize', {
  action: 'reprioritize',
  cli: 'stint job reprioritize {id} --priority 5',
  body: ReprioritizeBody,
  summary: 'Change the priority of a job',
})
const discard = verbRoute('discard', {
  action: 'discard',
  cli: 'stint dead discard {id}',
  body: Act,
  summary: 'Move a dead letter to the trash, for 24 hours',
})
const restore = verbRoute('restore', {
  action: 'restore',
  cli: 'stint dead restore {id}',
  body: Act,
  summary: 'Take a dead letter out of the trash',
})

const edit = createRoute({
  method: 'post',
  path: '/v1/jobs/{id}/edit-and-replay',
  tags: ['Jobs'],
  summary: 'Replay a dead letter as a new job with another input',
  description:
    'The input is checked against the contract of the kind. `[redacted]` keeps the stored value. The request is refused ' +
    "if the host's own `redact` hides a part of the input from you: its mask would be stored as data.",
  'x-action': 'edit',
  'x-cli': 'stint job edit {id} --input FILE --contracts FILE --reason {reason}',
  request: { params: z.object({ id: Id }), body: accepts(EditBody) },
  responses: {
    202: {
      description: 'The new job. `replacedBy` of the dead letter has its id.',
      content: { 'application/json': { schema: AcceptedJob } },
    },
    ...failures,
  },
})

export const jobVerbRoutes: Routes = (app, parts) => {
  /** Finds the job, checks the permission, acts, and answers with the changed job. */
  const acting = async (
    c: Context<Env>,
    verb: { id: string; action: Action; act?: string; reason: string | undefined },
    act: (operator: Operator) => Promise<Job>,
  ): Promise<never> => {
    const job = await findJob(c, parts, verb.id)
    const { action, reason } = verb
    const doing = {
      action,
      act: verb.act ?? `job.${action}`,
      target: verb.id,
      resource: resourceOf(job),
      reason,
    }
    const operator = await requireOperator(c, parts, doing)
    const after = await withCurrent(() => act(operator))
    const detail = toJobDetail(after, c.get('caller'), parts, new Date())
    // verbRoute() is generic, so the exact response type of the route is lost.
    return c.json(detail, action === 'cancel' && after.state === 'running' ? 202 : 200) as never
  }

  app.openapi(replay, (c) => {
    const { id } = c.req.valid('param')
    const { expect, reason } = c.req.valid('json')
    return acting(c, { id, action: 'replay', reason }, (as) => as.replay(id, { expect, reason }))
  })
  app.openapi(cancel, (c) => {
    const { id } = c.req.valid('param')
    const { expect, reason } = c.req.valid('json')
    return acting(c, { id, action: 'cancel', reason }, (as) => as.cancel(id, { expect, reason }))
  })
  app.openapi(runNow, (c) => {
    const { id } = c.req.valid('param')
    const { expect, reason } = c.req.valid('json')
    return acting(c, { id, action: 'run-now', reason }, (as) => as.runNow(id, { expect, reason }))
  })
  app.openapi(reschedule, (c) => {
    const { id } = c.req.valid('param')
    const { expect, reason, runAt, delay } = c.req.valid('json')
    if ((runAt === undefined) === (delay === undefined)) throw oneTime()
    const when = runAt === undefined ? { delay: delay ?? '' } : { runAt }
    return acting(c, { id, action: 'reschedule', reason }, (as) =>
      as.reschedule(id, { ...when, expect, reason }),
    )
  })
  app.openapi(resume, (c) => {
    const { id } = c.req.valid('param')
    const { expect, reason, accept } = c.req.valid('json')
    return acting(c, { id, action: 'flow', act: 'job.resume', reason }, (as) =>
      as.resume(id, { accept, expect, reason }),
    )
  })
  app.openapi(reprioritize, (c) => {
    const { id } = c.req.valid('param')
    const { expect, reason, priority } = c.req.valid('json')
    return acting(c, { id, action: 'reprioritize', reason }, (as) =>
      as.reprioritize(id, { priority, expect, reason }),
    )
  })
  app.openapi(discard, (c) => {
    const { id } = c.req.valid('param')
    const { expect, reason } = c.req.valid('json')
    return acting(c, { id, action: 'discard', reason }, (as) => as.discard(id, { expect, reason }))
  })
  app.openapi(restore, (c) => {
    const { id } = c.req.valid('param')
    const { expect, reason } = c.req.valid('json')
    return acting(c, { id, action: 'restore', reason }, (as) => as.restore(id, { expect, reason }))
  })
  app.openapi(edit, async (c) => {
    const { id } = c.req.valid('param')
    const { input, expect, reason } = c.req.valid('json')
    const job = await findJob(c, parts, id)
    const doing = { action: 'edit', act: 'job.edit', target: id, resource: resourceOf(job), reason } as const
    const operator = await requireOperator(c, parts, doing)
    const edited = await withCurrent(() =>
      editJob(operator, parts, { job, caller: c.get('caller'), input, expect, reason }),
    )
    const { state } = edited
    const accepted = acceptedJob(parts, { id: edited.id, state, duplicate: false })
    c.header('Location', accepted.links.self)
    return c.json(accepted, 202)
  })
}

interface Edit {
  job: Job
  caller: Caller
  input: unknown
  expect: { state: Job['state']; epoch?: number | undefined } | undefined
  reason: string
}

async function editJob(
  operator: Operator,
  parts: ConsoleParts,
  { job, caller, input, expect, reason }: Edit,
): Promise<Job> {
  const contract = parts.contracts.get(job.kind)
  if (contract === undefined) throw unknownKind(job.kind)
  const original = job.inputBlob === null ? job : await parts.stint.get(job.id)
  if (redactFor(caller, parts, job, original?.input).isByHost)
    throw maskedByHost('Replay the job unchanged, or ask a person who may see the whole input to edit it.')
  const { value, pointer } = restoreRedacted(input, original?.input, contract.redact)
  if (pointer !== undefined) throw maskWithoutOriginal(`/input${pointer}`)
  return operator.editAndReplay(job.id, { contract, input: value, expect, reason })
}

function unknownKind(kind: string): HttpProblem {
  return new HttpProblem({
    status: 422,
    code: 'unknown-kind',
    title: 'Unknown kind of job',
    detail: `The contract checks an edited input, and the console has no contract for '${kind}'.`,
    hint: 'Pass the contracts of your app to the console.',
  })
}

function oneTime(): HttpProblem {
  return new HttpProblem({
    status: 422,
    code: 'invalid-option',
    title: 'Invalid value',
    detail: 'Pass either `runAt` or `delay`.',
    errors: [{ pointer: '/runAt', message: 'either this or /delay is required' }],
  })
}
