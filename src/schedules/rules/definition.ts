import { defineJob } from '../../contracts/define-job.ts'
import type { SearchTokens, UniqueOptions } from '../../contracts/contract.ts'
import { FarTime } from '../../core/far-time.ts'
import { given, invalidOption } from '../../core/options.ts'
import type { MissedOptions, MissedPolicy, OverlapPolicy, ScheduleDefinition } from './define-schedule.ts'
import type { RuleOptions } from './rule.ts'
import type { JobMembers, ScheduleRow } from './stored.ts'

/**
 * A stored schedule as an argument of set(), so that a part of it can be changed without the code it came from. Passed to
 * set() unchanged, it is stored as it was.
 *
 * Its contract replaces the real one and knows only what is stored: no schema, and what the real one made from the input
 * (key, unique key, search words) as constants. An input that code makes is not stored, so it is left out.
 *
 * Throws `invalid-option` if the stored value has another shape; defineSchedule() checks the values.
 */
export function definitionOf(row: ScheduleRow): ScheduleDefinition {
  const job = objectIn('job', row.job) as JobMembers
  const unique = job.unique === undefined ? undefined : objectIn('job.unique', job.unique)
  const options = job.options === undefined ? {} : objectIn('job.options', job.options)
  const { key: uniqueKey, until } = (unique ?? {}) as { key?: string; until?: UniqueOptions['until'] }
  const { crashLimit, timeoutMs } = options as { crashLimit?: number; timeoutMs?: number }
  return {
    name: row.name,
    job: defineJob({
      kind: row.kind,
      queue: row.queue,
      version: job.version,
      retry: crashLimit === undefined ? {} : { classes: { crash: { attempts: crashLimit } } },
      ...(unique === undefined
        ? {}
        : { unique: { until, ...(uniqueKey === undefined ? {} : { by: () => uniqueKey }) } }),
    }),
    ...ruleOptionsOf(row),
    ...(row.input_from_code ? {} : { input: row.input }),
    options: {
      priority: job.priority,
      attempts: job.maxAttempts,
      key: job.key,
      timeout: timeoutMs,
      deadline: job.deadlineMs,
      correlationId: job.correlationId,
      search: searchOf(job.tokens),
    },
    overlap: row.overlap as OverlapPolicy,
    missed: { policy: row.missed as MissedPolicy, limit: row.missed_limit, window: row.missed_window_ms },
    jitter: row.jitter_ms,
    keepFires: row.keep_fires_ms,
  }
}

/** The members to change: undefined keeps the stored value, null removes it. */
export type ScheduleChanges = Partial<Omit<ScheduleDefinition, 'missed' | 'startsAt' | 'endsAt'>> & {
  missed?: { [Name in keyof MissedOptions]?: MissedOptions[Name] | undefined } | undefined
  startsAt?: Date | string | null | undefined
  endsAt?: Date | string | null | undefined
}

export function changed(definition: ScheduleDefinition, changes: ScheduleChanges): ScheduleDefinition {
  const { cron, every, at, missed = 'once', startsAt, endsAt, ...rest } = definition
  const { missed: otherMissed, startsAt: otherStart, endsAt: otherEnd, ...others } = changes
  const hasOtherRule = [others.cron, others.every, others.at].some((one) => one !== undefined)
  return {
    ...rest,
    // A schedule has one rule: an interval takes the place of a cron expression.
    ...(hasOtherRule ? {} : { cron, every, at }),
    ...given(others),
    startsAt: otherStart === undefined ? startsAt : (otherStart ?? undefined),
    endsAt: otherEnd === undefined ? endsAt : (otherEnd ?? undefined),
    options: { ...rest.options, ...given(others.options ?? {}) },
    missed: { ...(typeof missed === 'string' ? { policy: missed } : missed), ...given(otherMissed ?? {}) },
  }
}

/** When a stored schedule fires, as an argument of resolveRule(). */
export function ruleOptionsOf(
  row: Pick<ScheduleRow, 'spec' | 'time_zone' | 'starts_at' | 'ends_at'>,
): RuleOptions {
  return {
    ...specOptions(row.spec),
    timeZone: row.time_zone,
    startsAt: storedMoment(row.starts_at),
    endsAt: storedMoment(row.ends_at),
  }
}

/** A stored time for a check. An invalid one is returned as it is stored, so that the check can show it. */
export function storedMoment(time: string | Date | null): string | Date | undefined {
  return time instanceof FarTime ? time.stored : (time ?? undefined)
}

function specOptions(spec: unknown): Pick<RuleOptions, 'cron' | 'every' | 'at'> {
  const { type, cron, everyMs, atMs } = objectIn('spec', spec)
  if (type === 'cron') return { cron: cron as string }
  if (type === 'every' && typeof everyMs === 'number') return { every: everyMs }
  if (type === 'at' && Array.isArray(atMs)) return { at: atMs.map((ms) => new Date(Number(ms))) }
  throw invalidOption(
    'spec',
    "{ type: 'cron', cron }, { type: 'every', everyMs } or { type: 'at', atMs }",
    spec,
  )
}

/** `['country:BR']` → `{ country: 'BR' }`: the first colon ends the name, since names have none. */
function searchOf(tokens: unknown = []): SearchTokens {
  const words: unknown[] = Array.isArray(tokens) ? tokens : [tokens]
  return Object.fromEntries(
    words.map((token) => {
      if (typeof token !== 'string') throw invalidOption('job.tokens', 'a list of name:value', tokens)
      return [token.slice(0, token.indexOf(':')), token.slice(token.indexOf(':') + 1)]
    }),
  )
}

function objectIn(name: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw invalidOption(name, 'an object', value)
}
