import { randomUUID } from 'node:crypto'
import type { JobContract } from '../contracts/contract.ts'
import type { Action } from './api/common.ts'
import type { Caller, ConsoleParts, Resource } from './context.ts'
import type { OverviewFacts } from './overview.ts'
import { HttpProblem } from './problem.ts'

/*
 * What somebody sees whom the host narrows to some queues, kinds or keys.
 *
 * `can` of the host is a function: it has no list of what it lets through, it can only be asked. So it is asked about all
 * that is known by name, and about something that nobody has ever heard of. Whoever may see that as well sees everything;
 * for all others lists are cut to what they may see, and what cannot be cut is refused.
 *
 * A question leaves out what it is not about: `{ queue: 'mail' }` is the whole queue, and the host decides whether that is
 * for people whom it narrows to a key. A queue is never left out to mean all of them: a host that checks queues by name
 * would take that for a question about none.
 */

/** What is there for nobody: asked about to find out whether a caller is narrowed at all. */
export const unheardOf = nobody()

function nobody(): Required<{ [Name in keyof Resource]: string }> {
  const name = `unheard-of-${randomUUID()}`
  return { queue: name, kind: name, key: name }
}

/** Names that are known: of queues, and of kinds of jobs. */
export interface Known {
  queues: readonly string[]
  kinds: readonly string[]
}

export function knownIn(
  { queues, trouble }: OverviewFacts,
  contracts: ReadonlyMap<string, JobContract> = new Map(),
): Known {
  const kinds = new Set([
    ...queues.workers.flatMap((worker) => worker.kinds),
    ...trouble.errors.map(({ kind }) => kind),
    ...trouble.schedules.map(({ kind }) => kind),
    ...contracts.keys(),
  ])
  return { queues: queues.queues.map(({ queue }) => queue), kinds: [...kinds] }
}

/** What has to be allowed to whoever may see, or act on, all of it. */
export function allOf({ queues, kinds }: Known): Resource[] {
  return [{}, unheardOf, ...queues.map((queue) => ({ queue })), ...kinds.map((kind) => ({ kind }))]
}

/** Whether nothing at all is kept from this caller. */
export async function mayAll(
  caller: Pick<Caller, 'can' | 'isNarrowed'>,
  parts: Pick<ConsoleParts, 'looks' | 'contracts'>,
  action: Action = 'view',
): Promise<boolean> {
  if (caller.isNarrowed === false) return caller.can(action)
  return allOf(await knownTo(parts)).every((resource) => caller.can(action, resource))
}

export async function knownTo({
  looks,
  contracts,
}: Pick<ConsoleParts, 'looks' | 'contracts'>): Promise<Known> {
  return knownIn(await looks.overview(), contracts)
}

/** What is answered where something is about more than a caller may see, and cannot be cut to that. */
export function tooWide(what: string, hint: string): HttpProblem {
  return new HttpProblem({ status: 403, code: 'forbidden', title: 'Not allowed', detail: what, hint })
}
