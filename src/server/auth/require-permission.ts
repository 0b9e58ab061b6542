import type { Context } from 'hono'
import type { Action } from '../api/common.ts'
import type { Caller, Resource } from './caller.ts'
import type { Env } from '../context.ts'
import { HttpProblem } from '../http/problem.ts'

/**
 * Returns the caller, or throws 403 if the caller lacks the permission. For a resource that the caller may not view it
 * throws 404 instead, so that a caller cannot find out what exists outside its scope.
 */
export function requirePermission(c: Context<Env>, action: Action, resource?: Resource): Caller {
  const caller = c.get('caller')
  if (caller.can(action, resource)) return caller
  if (resource !== undefined && caller.can('view') && !caller.can('view', resource)) throw hidden()
  throw new HttpProblem({
    status: 403,
    code: 'forbidden',
    title: 'Not allowed',
    detail: `${caller.actor} is ${article(caller.role)} ${caller.role} and may not do this. It needs the permission '${action}'.`,
    hint: 'Ask a person with that permission, or sign in with a token of another role.',
  })
}

function hidden(): HttpProblem {
  return new HttpProblem({
    status: 404,
    code: 'not-found',
    title: 'Not found',
    detail: 'It does not exist, or you may not see it.',
  })
}

function article(role: string): string {
  return /^[aeiou]/.test(role) ? 'an' : 'a'
}
