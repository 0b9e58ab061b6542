import { createRoute } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { randomUUID } from 'node:crypto'
import type { z } from '@hono/zod-openapi'
import { isStintError } from '../../core/errors.ts'
import type { ScopedJobOptions } from '../../jobs/new/enqueue-options.ts'
import { acceptedItem, acceptedJob } from '../answers/accepted.ts'
import { AcceptedJob, AcceptedJobs, NewJob, NewJobs } from '../api/job.ts'
import type { AcceptedItem } from '../api/job.ts'
import type { ConsoleParts, Env, Routes } from '../context.ts'
import { requirePermission } from '../auth/require-permission.ts'
import { digestOf, earlierResponse, keptResponse, onceRequest, scopeOf } from '../http/idempotency.ts'
import { checkNewJob } from '../answers/new-job.ts'
import type { Admission, CheckedJob } from '../answers/new-job.ts'
import { accepts, problems } from '../http/route-parts.ts'
import { HttpProblem, pointerOf, toProblem } from '../http/problem.ts'
import type { PointedError } from '../http/problem.ts'
import { afterWait, PreferHeader } from '../http/prefer-wait.ts'

const addJob = createRoute({
  method: 'post',
  path: '/v1/jobs',
  tags: ['Producers'],
  summary: 'Store a job',
  description:
    'The input is checked if the console has the contract of the kind. With an Idempotency-Key a repeated request gets the same answer.',
  'x-action': 'enqueue',
  request: { headers: PreferHeader, body: accepts(NewJob) },
  responses: {
    202: {
      description: 'The job is stored, or is a duplicate of an existing job.',
      content: { 'application/json': { schema: AcceptedJob } },
    },
    200: {
      description: 'With `Prefer: wait`: the job ended in time.',
      content: { 'application/json': { schema: AcceptedJob } },
    },
    ...problems(400, 401, 403, 409, 413, 415, 422, 429, 503),
  },
})

const addJobs = createRoute({
  method: 'post',
  path: '/v1/jobs/batch',
  tags: ['Producers'],
  summary: 'Store up to 1,000 jobs, all or none',
  'x-action': 'enqueue',
  request: { body: accepts(NewJobs) },
  responses: {
    202: {
      description: 'All jobs are stored, or are duplicates of existing jobs; in the order of the request.',
      content: { 'application/json': { schema: AcceptedJobs } },
    },
    ...problems(400, 401, 403, 409, 413, 415, 422, 429, 503),
  },
})

export const producerRoutes: Routes = (app, parts) => {
  app.openapi(addJob, async (c) => {
    const checked = await checkNewJob(parts, c.req.valid('json'), admissionOf(c))
    requirePermission(c, 'enqueue', checked.resource)
    const { response, id } = await storeOne(c, parts, checked)
    return (await afterWait(c, parts, id, response)) as never
  })

  app.openapi(addJobs, async (c) => {
    const { jobs } = c.req.valid('json')
    const checked = await checkAll(parts, jobs, admissionOf(c))
    for (const { resource } of checked) requirePermission(c, 'enqueue', resource)
    return (await storeAll(c, parts, checked)) as never
  })
}

function admissionOf(c: Context<Env>): Admission {
  return {
    caller: c.get('caller'),
    admit: (resource) => {
      requirePermission(c, 'enqueue', resource)
    },
  }
}

async function storeOne(
  c: Context<Env>,
  parts: ConsoleParts,
  { contract, input, options, startState }: CheckedJob,
): Promise<{ response: Response; id: string }> {
  const { stint } = parts
  const request = onceRequest(c)
  if (request === undefined) {
    const { id, duplicate } = await stint.enqueue(contract, input, options)
    const state = duplicate ? ((await stint.get(id, { blob: false }))?.state ?? 'succeeded') : startState
    const accepted = acceptedJob(parts, { id, state, duplicate })
    return { id, response: acceptedResponse(accepted, accepted.links.self) }
  }
  const outcome = await stint.replies.once(request, async ({ tx, stateOf }) => {
    const { id, duplicate } = await stint.enqueue(contract, input, { ...options, tx })
    const state = duplicate ? ((await stateOf(id)) ?? 'succeeded') : startState
    const accepted = acceptedJob(parts, { id, state, duplicate })
    const body = JSON.stringify(accepted)
    return { status: 202, headers: acceptedHeaders(accepted.links.self), body, asked: [] }
  })
  const response = outcome.type === 'done' ? keptResponse(outcome.reply) : earlierResponse(outcome)
  const { id } = (await response.clone().json()) as AcceptedJob
  return { response, id }
}

/** Stores all jobs and the answer in one transaction: if it is repeated after a lost reply, no job is stored twice. */
async function storeAll(
  c: Context<Env>,
  parts: ConsoleParts,
  checked: readonly CheckedJob[],
): Promise<Response> {
  const { stint } = parts
  const request = onceRequest(c) ?? {
    scope: scopeOf(c),
    key: `unnamed-${randomUUID()}`,
    digest: digestOf(c),
  }
  const outcome = await stint.replies.once(request, async ({ tx, stateOf }) => {
    const jobs = new Array<AcceptedItem>(checked.length)
    for (const group of byContract(checked)) {
      const [first] = group
      if (first === undefined) continue
      const { jobs: enqueued } = await stint.enqueueMany(
        first.job.contract,
        group.map(({ job }) => job.input),
        { tx, each: (_, index): ScopedJobOptions => group[index]?.job.options ?? {} },
      )
      for (const [place, { id, duplicate }] of enqueued.entries()) {
        const member = group[place] ?? first
        const state = duplicate ? ((await stateOf(id)) ?? 'succeeded') : member.job.startState
        jobs[member.index] = acceptedItem(parts, { id, state, duplicate })
      }
    }
    const duplicates = jobs.filter(({ duplicate }) => duplicate).length
    const stored = jobs.length - duplicates
    const body: AcceptedJobs = { jobs, stored, duplicates, asOf: new Date().toISOString() }
    return { status: 202, headers: acceptedHeaders(undefined), body: JSON.stringify(body), asked: [] }
  })
  return outcome.type === 'done' ? keptResponse(outcome.reply) : earlierResponse(outcome)
}

interface Placed {
  index: number
  job: CheckedJob
}

/** Groups jobs by contract. The order is the same for every batch, so that two batches do not deadlock on each other's keys. */
function byContract(checked: readonly CheckedJob[]): Placed[][] {
  const groups = new Map<string, Placed[]>()
  for (const [index, job] of checked.entries()) {
    const name = `${job.contract.kind} ${job.contract.queue}`
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [{ index, job }])
    else group.push({ index, job })
  }
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}

const mostErrors = 1_000

/** Checks every job before any is stored, and reports all errors at once. */
async function checkAll(
  parts: ConsoleParts,
  jobs: readonly z.infer<typeof NewJob>[],
  admission: Admission,
): Promise<CheckedJob[]> {
  const checked: CheckedJob[] = []
  const errors: PointedError[] = []
  for (const [index, job] of jobs.entries()) {
    try {
      checked.push(await checkNewJob(parts, job, admission))
    } catch (error) {
      if (!isOfItem(error)) throw error
      const { detail, errors: own = [{ pointer: '', message: detail }] } = toProblem(error)
      for (const { pointer, message } of own)
        errors.push({ pointer: `${pointerOf(`jobs[${index}]`)}${pointer}`, message })
      if (errors.length >= mostErrors) break
    }
  }
  if (errors.length === 0) return checked
  throw new HttpProblem({
    status: 422,
    code: 'invalid-input',
    title: 'Some of the jobs are invalid',
    detail: 'Nothing was stored.',
    errors: errors.slice(0, mostErrors),
  })
}

function isOfItem(error: unknown): boolean {
  const isOurs = error instanceof HttpProblem && error.status === 422
  return isOurs || isStintError(error, 'invalid-input') || isStintError(error, 'invalid-option')
}

function acceptedHeaders(location: string | undefined): Record<string, string> {
  return { 'Content-Type': 'application/json', ...(location === undefined ? {} : { Location: location }) }
}

function acceptedResponse(accepted: AcceptedJob, location: string): Response {
  return new Response(JSON.stringify(accepted), { status: 202, headers: acceptedHeaders(location) })
}
