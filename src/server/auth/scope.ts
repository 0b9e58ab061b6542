import { randomUUID } from 'node:crypto'
import type { Action } from '../api/common.ts'
import type { Caller, Resource } from './caller.ts'
import { HttpProblem } from '../http/problem.ts'

/*
 * What a caller sees if the host narrows it to some queues, kinds or keys.
 *
 * `can` of the host is a function: it has no list of what it allows, the console can only call it. So the console filters
 * every list by calling `can` for each item. An answer that cannot be filtered is shown to a caller only if `can` allows
 * all of it. The names that the console knows cannot show that: a host may deny a single key that no job has yet. So the
 * console calls `can` with the fields of an `AllOf`, and notes whether `can` reads an unnamed field. If it returns true
 * without reading one, it returns true for every value of that field.
 *
 * A plain resource leaves out the fields that do not matter: `{ queue: 'mail' }` is the whole queue, and the host decides
 * whether a caller that it narrows to a key may see it. The console never leaves out the queue to mean all queues: a host
 * that checks queues by name would take that for no queue.
 */

/** All jobs with the values named here; a field that is not named may have any value. */
export class AllOf implements Resource {
  readonly queue: string | undefined
  readonly kind: string | undefined
  readonly key: string | null | undefined

  constructor({ queue, kind, key }: Resource = {}) {
    this.queue = queue
    this.kind = kind
    this.key = key
  }
}

export const everything = new AllOf()

/** Whether `can` allows all of these jobs: it returns true and reads no field that is not named. */
export function saysYesToAll(
  can: (action: Action, resource: Resource) => boolean,
  action: Action,
  named: AllOf,
): boolean {
  let isRead = false
  const fields = (['queue', 'kind', 'key'] as const).map((name) => {
    const get = (): unknown => {
      if (named[name] === undefined) isRead = true
      return named[name]
    }
    return [name, { get, enumerable: true }] as const
  })
  return can(action, Object.defineProperties({}, Object.fromEntries(fields))) && !isRead
}

/** Whether the caller may do the action on all jobs. */
export function mayAll(caller: Pick<Caller, 'can'>, action: Action = 'view'): boolean {
  return caller.can(action, everything)
}

/** Names that no queue, kind or key has. */
export const unusedNames = makeUnusedNames()

function makeUnusedNames(): Required<{ [Name in keyof Resource]: string }> {
  const name = `unused-${randomUUID()}`
  return { queue: name, kind: name, key: name }
}

/** Refuses an answer that includes more than the caller may see and cannot be filtered. */
export function tooWide(what: string, hint: string): HttpProblem {
  return new HttpProblem({ status: 403, code: 'forbidden', title: 'Not allowed', detail: what, hint })
}
