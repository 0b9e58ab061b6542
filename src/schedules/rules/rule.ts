import { unitMs } from '../../core/duration.ts'
import type { Duration } from '../../core/duration.ts'
import { StintError } from '../../core/errors.ts'
import { durationOption, invalidOption } from '../../core/options.ts'
import { parseCron } from './cron.ts'
import { timeZoneOption } from './zone.ts'

/** When a schedule fires, as it is stored. */
export type Spec =
  | { readonly type: 'cron'; readonly cron: string }
  | { readonly type: 'every'; readonly everyMs: number }
  | { readonly type: 'at'; readonly atMs: readonly number[] }

/** When a schedule fires, with all that its times depend on. */
export interface Rule {
  readonly spec: Spec
  readonly timeZone: string
  readonly startsAtMs: number | undefined
  readonly endsAtMs: number | undefined
}

/** When a schedule fires, as people write it: one of `cron`, `every` and `at`. */
export interface RuleOptions {
  /** 5 fields, or 6 with seconds in front: `'0 2 * * *'`. Also `@daily` and the like. */
  cron?: string | undefined
  /** A fixed interval from '1s' up, counted from `startsAt`, else from 1970: `'15m'`. */
  every?: Duration | undefined
  /** A list of times, at most 1,000. */
  at?: readonly (Date | string)[] | undefined
  /** For `cron`: an IANA name. @default 'UTC' */
  timeZone?: string | undefined
  /** It does not fire before this time. */
  startsAt?: Date | string | undefined
  /** It does not fire after this time. */
  endsAt?: Date | string | undefined
}

const mostTimes = 1_000

export function resolveRule(options: RuleOptions): Rule {
  const { cron, every, at, timeZone = 'UTC', startsAt, endsAt } = options
  const given = [cron, every, at].filter((one) => one !== undefined)
  if (given.length !== 1)
    throw new StintError(
      'invalid-option',
      'Expected one of `cron`, `every` and `at`, to say when it fires.',
      {
        issues: [{ path: 'cron', message: 'only one of cron, every and at is allowed' }],
      },
    )
  const startsAtMs = startsAt === undefined ? undefined : instant('startsAt', startsAt)
  const endsAtMs = endsAt === undefined ? undefined : instant('endsAt', endsAt)
  if (startsAtMs !== undefined && endsAtMs !== undefined && endsAtMs < startsAtMs)
    throw invalidOption('endsAt', 'later than `startsAt`', endsAt)
  return Object.freeze({
    spec: Object.freeze(specOf({ cron, every, at })),
    timeZone: timeZoneOption(timeZone),
    startsAtMs,
    endsAtMs,
  })
}

function specOf({ cron, every, at }: Pick<RuleOptions, 'cron' | 'every' | 'at'>): Spec {
  if (cron !== undefined) {
    parseCron(cron)
    return { type: 'cron', cron: cron.trim() }
  }
  if (every !== undefined)
    return { type: 'every', everyMs: Math.round(durationOption('every', every, { minMs: 1_000 })) }
  if (!Array.isArray(at) || at.length === 0 || at.length > mostTimes)
    throw invalidOption('at', `a list of 1 to ${mostTimes} times`, at)
  const times = at.map((one, index) => instant(`at[${index}]`, one))
  return { type: 'at', atMs: [...new Set(times)].sort((a, b) => a - b) }
}

/** A moment, long ago or far ahead, in milliseconds. */
export function instant(name: string, value: unknown): number {
  const isText = typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(value)
  const time = value instanceof Date ? value.getTime() : isText ? Date.parse(value) : Number.NaN
  if (time >= earliest && time <= latest) return time
  throw invalidOption(name, "a Date or ISO 8601 text with a zone ('2030-01-31T09:00:00Z')", value)
}

const earliest = Date.UTC(1970, 0, 1)
const latest = Date.UTC(2200, 0, 1)

/** The rule in words: `0 2 * * * Europe/Rome`, `every 15m`, `at 3 times`. */
export function describeRule({ spec, timeZone }: Pick<Rule, 'spec' | 'timeZone'>): string {
  if (spec.type === 'cron') return timeZone === 'UTC' ? spec.cron : `${spec.cron} ${timeZone}`
  if (spec.type === 'every') return `every ${spanText(spec.everyMs)}`
  return spec.atMs.length === 1 ? 'at one time' : `at ${spec.atMs.length} times`
}

/** As a whole number of the largest unit that divides it: `90m`, not `1.5h`. */
function spanText(ms: number): string {
  const units = ['d', 'h', 'm', 's', 'ms'] as const
  const unit = units.find((one) => ms % unitMs[one] === 0) ?? 'ms'
  return `${ms / unitMs[unit]}${unit}`
}
