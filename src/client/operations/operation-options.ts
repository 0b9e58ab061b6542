import { priorityOption } from '../../contracts/define-job.ts'
import { integerOption, invalidOption, oneOfOption, rejectUnknown } from '../../core/options.ts'
import { isUuid } from '../../core/uuid.ts'
import { isEmptyWhere, printWhere } from '../../core/filter/print-where.ts'
import { parseWhere } from '../../core/filter/where.ts'
import type { Where } from '../../core/filter/where.ts'
import { operationActions } from '../../core/operation.ts'
import type {
  JobOutcome,
  NewOperation,
  Operation,
  OperationSettings,
  OperationState,
  StopRule,
} from '../../core/operation.ts'
import { reasonOption } from '../operator/actor.ts'

export interface StartOptions extends NewOperation {
  /** Why, for the audit. */
  reason: string
  /** The id of the request: the same request sent again starts nothing. */
  intentId?: string | undefined
}

export interface ListOperationsOptions {
  /** One state or several. @default all */
  state?: OperationState | readonly OperationState[] | undefined
  /** Operations a page, 1 to 200. @default 50 */
  limit?: number | undefined
  /** `next` of the page before. */
  cursor?: string | undefined
}

export interface ListOperationJobsOptions {
  /** Only jobs with this outcome. @default all */
  outcome?: JobOutcome | undefined
  /** Jobs a page, 1 to 1,000. @default 200 */
  limit?: number | undefined
  /** `next` of the page before. */
  cursor?: string | undefined
}

/** A new operation whose options are checked. */
export interface OperationRequest
  extends
    Pick<Operation, 'action' | 'priority' | 'stopIf' | 'max'>,
    Required<Pick<NewOperation, 'ids' | 'canary' | 'pace' | 'asOf'>> {
  /** Undefined if ids are given. */
  where: Where | undefined
}

const known = ['action', 'where', 'ids', 'priority', 'canary', 'pace', 'stopIf', 'max', 'asOf']

export function resolvePreview(options: NewOperation): OperationRequest {
  const { action, where, ids, priority, canary, pace, stopIf = {}, max = 10_000, asOf, ...rest } = options
  rejectUnknown('an operation', rest, known)
  const chosen = oneOfOption('action', action, operationActions)
  if ((where === undefined) === (ids === undefined))
    throw invalidOption('where', 'given, or `ids`, and not both', where)
  if ((chosen === 'reprioritize') === (priority === undefined))
    throw invalidOption('priority', 'given for `reprioritize`, and for nothing else', priority)
  if (chosen !== 'replay' && (canary ?? 0) > 0)
    throw invalidOption(
      'canary',
      'left out: only replayed jobs end in a way that shows whether to go on',
      canary,
    )
  return {
    action: chosen,
    where: where === undefined ? undefined : whereOption(where),
    ids: ids === undefined ? undefined : idsOption(ids),
    priority: priority === undefined ? null : priorityOption(priority),
    canary: canary === undefined ? undefined : integerOption('canary', canary, { min: 0, max: 1_000 }),
    pace: pace === undefined ? undefined : paceOption(pace),
    stopIf: stopOption(stopIf),
    max: integerOption('max', max, { min: 1, max: 1_000_000 }),
    asOf: asOf === undefined ? undefined : asOfOption(asOf),
  }
}

export function resolveStart({ reason, intentId, ...options }: StartOptions): {
  request: OperationRequest
  reason: string
  intentId: string | null
} {
  const said = reasonOption(reason)
  if (said === null) throw invalidOption('reason', 'given: why, for the audit', reason)
  if (intentId !== undefined && !isUuid(intentId)) throw invalidOption('intentId', 'a UUID', intentId)
  return { request: resolvePreview(options), reason: said, intentId: intentId ?? null }
}

export function paceOption(pace: unknown): number | null {
  if (pace === null) return null
  if (typeof pace === 'number' && pace >= 0.1 && pace <= 10_000) return pace
  throw invalidOption('pace', 'jobs a second, from 0.1 to 10,000, or null', pace)
}

function asOfOption(asOf: unknown): Date {
  if (asOf instanceof Date && !Number.isNaN(asOf.getTime())) return asOf
  throw invalidOption('asOf', 'the `asOf` of a preview: a Date', asOf)
}

/** The settings once it is known how many jobs match: a replay tries a few first, and a large one is slowed down. */
export function settingsOf(
  { action, ids, priority, canary, pace, stopIf, max }: OperationRequest,
  matched: { count: number; isExact: boolean; crashed: number },
): OperationSettings {
  const { count, isExact, crashed } = matched
  const isLarge = action === 'replay' && (count > 100 || !isExact)
  const usualCanary = action !== 'replay' || count < 2 ? 0 : isLarge ? 10 : Math.ceil(count / 10)
  return {
    ids: ids?.length ?? 0,
    priority,
    canary: canary ?? (crashed > 0 ? Math.min(1, usualCanary) : usualCanary),
    pace: pace === undefined ? (isLarge ? 20 : null) : pace,
    stopIf,
    max,
    crashed,
  }
}

function whereOption(where: unknown): Where {
  if (typeof where !== 'string') throw invalidOption('where', 'a filter', where)
  const parsed = parseWhere(where)
  if (isEmptyWhere(parsed))
    throw invalidOption('where', 'a filter that names something: an empty one would mean every job', where)
  return parsed
}

export function whereText(where: Where | undefined): string | null {
  return where === undefined ? null : printWhere(where)
}

function idsOption(ids: unknown): readonly string[] {
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > 1_000 || !ids.every(isUuid))
    throw invalidOption('ids', '1 to 1,000 job ids', ids)
  return [...new Set(ids.map((id: string) => id.toLowerCase()))]
}

function stopOption(stopIf: unknown): StopRule {
  if (typeof stopIf !== 'object' || stopIf === null)
    throw invalidOption('stopIf', 'an object such as { sameError: 20 }', stopIf)
  const { sameError, anyFailure, ...rest } = stopIf as Record<string, unknown>
  rejectUnknown('stopIf', rest, ['sameError', 'anyFailure'], 'stopIf.')
  const isUsual = sameError === undefined && anyFailure === undefined
  return {
    sameError: isUsual ? 20 : percentOption('stopIf.sameError', sameError),
    anyFailure: percentOption('stopIf.anyFailure', anyFailure),
  }
}

function percentOption(name: string, value: unknown): number | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'number' && value >= 0 && value <= 100) return value
  throw invalidOption(name, 'a percentage from 0 to 100', value)
}
