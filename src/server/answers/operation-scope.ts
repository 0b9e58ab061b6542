import { printWhere } from '../../core/filter/print-where.ts'
import { parseWhere, readWhere } from '../../core/filter/where.ts'
import type { Where } from '../../core/filter/where.ts'
import type { JobSummary } from '../../core/job.ts'
import type { Operation, OperationAction } from '../../core/operation.ts'
import type { Action } from '../api/common.ts'
import type { Caller, Resource } from '../auth/caller.ts'
import type { ConsoleParts } from '../context.ts'
import { resourceOf } from './job-item.ts'
import { knownTo } from './known-names.ts'
import { AllOf, everything, mayAll, unusedNames } from '../auth/scope.ts'
import type { Known } from './known-names.ts'

type Parts = Pick<ConsoleParts, 'stint' | 'reads' | 'contracts'>

/** The jobs of an operation: given by a filter, or by their ids. */
export interface Target {
  where?: string | undefined
  ids?: readonly string[] | undefined
}

/** A target reduced to the jobs that the caller may see, and the resources that it needs permission for. */
export interface Scoped {
  target: Target
  /** Undefined if it needs permission for everything, and has it. */
  about: readonly Resource[] | undefined
}

/**
 * The target of a caller's operation. Ids of jobs that the caller may not see are left out, like ids of jobs that do not
 * exist; undefined if none is left. A filter must name queues, kinds and keys that the caller may act on, as far as names are
 * known; `takesFor` checks each matching job.
 */
export async function scopeTarget(caller: Caller, parts: Parts, target: Target): Promise<Scoped | undefined> {
  if (caller.isNarrowed === false) return { target, about: undefined }
  // Giving both is a mistake; reading the operation's options reports it.
  if (target.where !== undefined && target.ids !== undefined) return { target, about: [] }
  const where = target.where === undefined ? undefined : parseWhere(target.where)
  const ids = where?.ids ?? target.ids
  if (ids === undefined) return { target, about: touchedBy(where ?? {}, await knownTo(parts)) }
  const jobs = await parts.stint.view.jobs([...ids])
  const visible = jobs.filter((job) => caller.can('view', resourceOf(job)))
  if (visible.length === 0) return undefined
  const left = visible.map(({ id }) => id)
  const cut = where === undefined ? { ids: left } : { where: printWhere({ ...where, ids: left }) }
  return { target: cut, about: visible.map(resourceOf) }
}

/** Whether a caller may do this to the whole target. */
export function mayActOn(
  caller: Caller,
  { action, about }: { action: Action; about: readonly Resource[] | undefined },
): boolean {
  if (about === undefined) return caller.can(action)
  return about.every((resource) => caller.can(action, resource)) || mayAll(caller, action)
}

/** Which jobs an operation of this caller may take; undefined: all that match. */
export function takesFor(
  caller: Caller,
  action: OperationAction,
): ((job: Pick<JobSummary, 'queue' | 'kind' | 'key'>) => boolean) | undefined {
  if (caller.isNarrowed === false) return undefined
  return (job) =>
    (['view', 'operation', action] as const).every((right) => caller.can(right, resourceOf(job)))
}

/**
 * Whether a caller may see an operation, or steer it if another action is given: its own operations, and those whose filter
 * names only what the caller may see. For operations by ids, the names of queues and kinds are not stored.
 */
export function isWithin(
  caller: Caller,
  { actor, where }: Pick<Operation, 'actor' | 'where'>,
  action: Action = 'view',
): boolean {
  if (caller.isNarrowed === false || actor === caller.actor) return caller.can(action)
  return namedBy(where).every((resource) => caller.can(action, resource))
}

/** Whether a caller may resume an operation: for its own, each remaining job is checked again. */
export async function mayGoOn(
  caller: Caller,
  { stint }: Pick<ConsoleParts, 'stint'>,
  operation: Pick<Operation, 'id' | 'action' | 'actor' | 'where'>,
): Promise<boolean> {
  const { id, action, actor } = operation
  const takes = takesFor(caller, action)
  if (takes === undefined || actor !== caller.actor) return isWithin(caller, operation, action)
  let cursor: string | undefined
  do {
    const page = await stint.operations.jobs(id, { cursor, limit: 1_000 })
    const left = page.jobs.filter(({ outcome }) => outcome === null)
    const there = await stint.view.jobs(left.map((job) => job.id))
    if (!there.every(takes)) return false
    cursor = page.next
  } while (cursor !== undefined)
  return true
}

/** All jobs that a filter may have matched. */
function namedBy(where: string | null): AllOf[] {
  const read = where === null ? undefined : readWhere(where)
  if (read === undefined || !('where' in read) || read.where.ids !== undefined) return [everything]
  const { queues, kinds, keys } = read.where
  const named = combined({
    queues: queues ?? [undefined],
    // A prefix (`charge.*`) does not name a kind.
    kinds: kinds?.map((kind) => (kind.endsWith('*') ? undefined : kind)) ?? [undefined],
    keys: keys ?? [undefined],
  })
  return named?.map((resource) => new AllOf(resource)) ?? [everything]
}

/** Every resource that a filter may match: what it names; for fields it does not name, all known names and an unused one. */
function touchedBy(where: Where, known: Known): Resource[] {
  const touched = combined({
    queues: where.queues ?? [unusedNames.queue, ...known.queues],
    kinds: where.kinds?.flatMap((kind) => meantBy(kind, known)) ?? [
      undefined,
      unusedNames.kind,
      ...known.kinds,
    ],
    keys: where.keys ?? [undefined, unusedNames.key],
  })
  return touched ?? [unusedNames]
}

/** Checks at most this many combinations; a filter with more names too much to be sure. */
const mostQuestions = 20_000

function combined({
  queues,
  kinds,
  keys,
}: Record<'queues' | 'kinds' | 'keys', readonly (string | undefined)[]>): Resource[] | undefined {
  if (queues.length * kinds.length * keys.length > mostQuestions) return undefined
  return queues.flatMap((queue) => kinds.flatMap((kind) => keys.map((key) => ({ queue, kind, key }))))
}

/** The kinds that a prefix (`charge.*`) matches. */
function meantBy(kind: string, { kinds }: Known): string[] {
  if (!kind.endsWith('*')) return [kind]
  const beginning = kind.slice(0, -1)
  return [`${beginning}${unusedNames.kind}`, ...kinds.filter((one) => one.startsWith(beginning))]
}
