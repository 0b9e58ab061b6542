import { priorityOption } from '../../contracts/define-job.ts'
import { integerOption, invalidOption, oneOfOption, rejectUnknown } from '../../core/options.ts'
import { isUuid } from '../../core/uuid.ts'
import { isEmptyWhere, printWhere } from '../../core/filter/print-where.ts'
import { parseWhere } from '../../core/filter/where.ts'
import type { Where } from '../../core/filter/where.ts'
import { operationActions } from '../../core/operation.ts'
import type { OperationSettings, StopRule } from '../../operations/operation.ts'
import type { JobOutcome, OperationAction, OperationState } from '../../core/operation.ts'
import { reasonOption } from '../operator/actor.ts'

export interface PreviewOptions {
  action: OperationAction
  /** Which jobs, as a filter: `state:dead error:b02c`. Jobs that begin to match later are not taken. */
  where?: string | undefined
  /** Or which, by their ids; at most 1,000. */
  ids?: readonly string[] | undefined
  /** For `reprioritize`. */
  priority?: number | undefined
  /** Jobs tried first, of a replay; 0 to 1,000. @default 1 of up to 10, a tenth of up to 100, else 10; 1 where one of them crashed its worker; 0 of a single job */
  canary?: number | undefined
  /** Jobs a second after the canary; null: as fast as it goes. @default 20 for a replay of more than 100, else null */
  pace?: number | null | undefined
  /** Percent of the canary, and then of all that have ended, above which it stops. @default { sameError: 20 } */
  stopIf?: { sameError?: number | undefined; anyFailure?: number | undefined } | undefined
  /** Never more than this; up to 1,000,000. @default 10,000 */
  max?: number | undefined
  /** Of the preview that was looked at: what was made, or died, since then is not taken. @default now */
  asOf?: Date | undefined
}

export interface StartOptions extends PreviewOptions {
  /** Why, for the audit. */
  reason: string
  /** Of the request: one that is sent again starts nothing. */
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
  /** Only those that this became of. @default all */
  outcome?: JobOutcome | undefined
  /** Jobs a page, 1 to 1,000. @default 200 */
  limit?: number | undefined
  /** `next` of the page before. */
  cursor?: string | undefined
}

export interface OperationRequest {
  action: OperationAction
  /** Undefined where ids are given. */
  where: Where | undefined
  ids: readonly string[] | undefined
  priority: number | null
  canary: number | undefined
  pace: number | null | undefined
  stopIf: StopRule
  max: number
  asOf: Date | undefined
}

const known = ['action', 'where', 'ids', 'priority', 'canary', 'pace', 'stopIf', 'max', 'asOf']

export function resolvePreview(options: PreviewOptions): OperationRequest {
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
      'left out: only what is replayed comes to an end by which it can be judged',
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

/** What holds once it is known how many match: what is replayed is tried first, and many are slowed down. */
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

/** The command that does the same. */
export function commandLine(
  { action, where, ids }: { action: OperationAction; where: string | null; ids: readonly string[] },
  { canary, pace, stopIf, max, priority }: OperationSettings,
  reason: string | null,
): string {
  const noun = action === 'replay' || action === 'discard' || action === 'restore' ? 'dead' : 'job'
  const target = where === null ? ids : ['--where', where]
  const rules = [
    ...(stopIf.sameError === null ? [] : [`same>${stopIf.sameError}%`]),
    ...(stopIf.anyFailure === null ? [] : [`any>${stopIf.anyFailure}%`]),
  ]
  const words = [
    ...['stint', noun, action, ...target],
    // With `=`, for what begins with a dash would be taken for another option.
    ...(priority === null ? [] : [`--priority=${priority}`]),
    ...(action === 'replay' && where !== null ? ['--canary', String(canary)] : []),
    ...(canary > 0 && rules.length > 0 && where !== null ? ['--stop-if', rules.join(',')] : []),
    ...(where === null ? [] : paceWords(action, pace)),
    ...(max === 10_000 || where === null ? [] : ['--max', String(max)]),
    // What begins with a dash would be taken for an option.
    ...(reason?.startsWith('-') === true ? [`--reason=${reason}`] : ['--reason', reason ?? '…']),
  ]
  return words.map(quoted).join(' ')
}

/** Said of a replay in any case: left out it is 20 a second as soon as more than 100 match. */
function paceWords(action: OperationAction, pace: number | null): string[] {
  if (pace !== null) return ['--pace', `${pace}/s`]
  return action === 'replay' ? ['--pace', 'max'] : []
}

/** As a POSIX shell reads it. */
export function quoted(word: string): string {
  return /^[\w.,:/@%+=…-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
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
