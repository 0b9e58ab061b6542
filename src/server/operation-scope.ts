import { parseWhere, printWhere } from '../core/where.ts'
import type { Where } from '../core/where.ts'
import type { OperationInfo } from '../client/operations.ts'
import type { Action } from './api/common.ts'
import type { Caller, ConsoleParts, Resource } from './context.ts'
import { resourceOf } from './job-item.ts'
import { knownTo, mayAll, unheardOf } from './scope.ts'
import type { Known } from './scope.ts'

type Parts = Pick<ConsoleParts, 'stint' | 'looks' | 'contracts'>

/** Which jobs are meant: by a filter, or by their ids. */
export interface Target {
  where?: string | undefined
  ids?: readonly string[] | undefined
}

/** A target cut to what a caller may see, and what of that it has to have the right to. */
export interface Scoped {
  target: Target
  /** Undefined: to everything, and that it has. */
  about: readonly Resource[] | undefined
}

/**
 * What somebody's operation would be about. Ids of jobs that the caller may not see are left out, as those are that do not
 * exist; undefined where none is left. A filter is not cut: it has to name what the caller may act on.
 */
export async function scopeTarget(caller: Caller, parts: Parts, target: Target): Promise<Scoped | undefined> {
  if (caller.isNarrowed === false) return { target, about: undefined }
  // Both is a mistake that is told where an operation is read.
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

/** Whether a caller may do this to all that is meant. */
export async function mayActOn(
  caller: Caller,
  parts: Parts,
  { action, about }: { action: Action; about: readonly Resource[] | undefined },
): Promise<boolean> {
  if (about === undefined) return caller.can(action)
  return about.every((resource) => caller.can(action, resource)) || mayAll(caller, parts, action)
}

/**
 * Whether a caller may see an operation, or with another action steer it: its own, and those whose filter names nothing but
 * what it may. Which jobs others gave by their ids is not kept with their names.
 */
export async function isWithin(
  caller: Caller,
  parts: Parts,
  { actor, where }: Pick<OperationInfo, 'actor' | 'where'>,
  action: Action = 'view',
): Promise<boolean> {
  if (caller.isNarrowed === false || actor === caller.actor) return caller.can(action)
  const filter = where === null ? undefined : parseWhere(where)
  const isByName = filter !== undefined && filter.ids === undefined
  const about = isByName ? touchedBy(filter, await knownTo(parts)) : [unheardOf]
  return mayActOn(caller, parts, { action, about })
}

/** More questions than this are not asked: then the filter names too much to be sure. */
const mostQuestions = 20_000

/** All that a filter may hit: what it names, and where it names nothing all that is known, and what nobody knows of. */
function touchedBy(where: Where, known: Known): Resource[] {
  const queues = where.queues ?? [unheardOf.queue, ...known.queues]
  const kinds = where.kinds?.flatMap((kind) => meantBy(kind, known)) ?? [
    undefined,
    unheardOf.kind,
    ...known.kinds,
  ]
  const keys = where.keys ?? [undefined, unheardOf.key]
  if (queues.length * kinds.length * keys.length > mostQuestions) return [unheardOf]
  return queues.flatMap((queue) => kinds.flatMap((kind) => keys.map((key) => ({ queue, kind, key }))))
}

/** The kinds that a beginning (`charge.*`) may stand for. */
function meantBy(kind: string, { kinds }: Known): string[] {
  if (!kind.endsWith('*')) return [kind]
  const beginning = kind.slice(0, -1)
  return [`${beginning}${unheardOf.kind}`, ...kinds.filter((one) => one.startsWith(beginning))]
}
