import { randomUUID } from 'node:crypto'
import type { Action } from '../api/common.ts'
import type { Caller, Resource } from './caller.ts'
import { HttpProblem } from '../http/problem.ts'

/*
 * What somebody sees whom the host narrows to some queues, kinds or keys.
 *
 * `can` of the host is a function: it has no list of what it lets through, it can only be asked. So every list is cut by
 * asking about each of its items, and what cannot be cut is shown only to callers for whom `can` says yes to all of it.
 * Whether it does is found out without trusting names that happen to be known: a host may deny a single key that nobody
 * has heard of yet. `can` is asked about `AllOf`, whose unnamed fields note that they are read. A yes that did not depend on
 * them is a yes to every value they could have.
 *
 * A question with a plain resource leaves out what it is not about: `{ queue: 'mail' }` is the whole queue, and the host
 * decides whether that is for people whom it narrows to a key. A queue is never left out to mean all of them: a host that
 * checks queues by name would take that for a question about none.
 */

/** All jobs that have what is named here, whatever the fields are that are not. */
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

/** Whether `can` says yes to all of it: without reading a field that is not named. */
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

/** Whether nothing at all is kept from this caller. */
export function mayAll(caller: Pick<Caller, 'can'>, action: Action = 'view'): boolean {
  return caller.can(action, everything)
}

/** A name that nothing has. */
export const unheardOf = nobody()

function nobody(): Required<{ [Name in keyof Resource]: string }> {
  const name = `unheard-of-${randomUUID()}`
  return { queue: name, kind: name, key: name }
}

/** What is answered where something is about more than a caller may see, and cannot be cut to that. */
export function tooWide(what: string, hint: string): HttpProblem {
  return new HttpProblem({ status: 403, code: 'forbidden', title: 'Not allowed', detail: what, hint })
}
