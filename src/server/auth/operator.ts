import type { Context } from 'hono'
import type { Operator } from '../../client/operator/operator.ts'
import { isStintError } from '../../core/errors.ts'
import type { Job } from '../../core/job.ts'
import type { Action } from '../api/common.ts'
import type { Resource } from './caller.ts'
import type { ConsoleParts, Env } from '../context.ts'
import { requirePermission } from './require-permission.ts'
import { jobToItem } from '../answers/job-item.ts'
import { HttpProblem, toProblem } from '../http/problem.ts'

/** The caller as the operator whose acts the audit records. */
export function operatorOf(c: Context<Env>, { stint }: ConsoleParts): Operator {
  const { actor, role, origin } = c.get('caller')
  return stint.as({ actor, role, origin, requestId: c.get('requestId') })
}

/** The act for the audit: `job.replay` of this job. */
export interface Doing {
  action: Action
  act: string
  target: string
  resource?: Resource | undefined
  reason?: string | undefined
}

/** The operator, if the caller may do this; otherwise records the refusal and throws. */
export async function requireOperator(
  c: Context<Env>,
  parts: ConsoleParts,
  { action, act, target, resource, reason }: Doing,
): Promise<Operator> {
  const operator = operatorOf(c, parts)
  try {
    requirePermission(c, action, resource)
  } catch (error) {
    if (error instanceof HttpProblem && error.status === 403)
      await operator.refused({ action: act, target, why: error.detail, reason })
    throw error
  }
  return operator
}

/** Acts. If the job has changed since the caller read it, the answer has the job as it is now. */
export async function withCurrent<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!isStintError(error, 'state-changed') || error.current === undefined) throw error
    const { status, code, title, detail, hint } = toProblem(error)
    throw new HttpProblem({
      status,
      code,
      title,
      detail,
      hint,
      current: jobToItem(error.current as Job),
    })
  }
}

const nouns: Readonly<Record<string, string>> = {
  jobs: 'job',
  operations: 'operation',
  schedules: 'schedule',
  breakers: 'breaker',
  queues: 'queue',
  limits: 'limit',
  flows: 'flow',
  'error-groups': 'error',
}

/** The acts of methods that are not `delete`, `start` or `set`. */
const acts: Readonly<Record<string, string>> = {
  'POST jobs signals': 'job.signal',
  'PUT limits': 'limit.override',
  'DELETE limits': 'limit.clear',
  'PUT limits keys': 'limit.set-key',
  'DELETE limits keys': 'limit.clear-key',
}

/** Records an act that was refused because of the caller's permissions, before its route was reached. */
export async function noteRefused(c: Context<Env>, parts: ConsoleParts): Promise<void> {
  const [, noun = '', id, verb] = c.req.path.split('/').slice(1)
  const usual = c.req.method === 'DELETE' ? 'delete' : id === undefined ? 'start' : 'set'
  const named = `${c.req.method} ${noun}${verb === undefined ? '' : ` ${verb}`}`
  const action = acts[named] ?? `${nouns[noun] ?? noun}.${verb ?? usual}`
  const target = (id === undefined ? c.req.path : decoded(id)).slice(0, 2_000)
  const why = `${c.get('caller').role} may not`
  // The act is refused even if the refusal cannot be recorded.
  await operatorOf(c, parts)
    .refused({ action, target, why })
    .catch(() => undefined)
}

/** A decoded part of a path; left as it was sent if it is not valid text, since any client can send such a path. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
