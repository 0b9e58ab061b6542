import { defineJob } from '../contracts/define-job.ts'
import type { SearchTokens } from '../contracts/contract.ts'
import { given } from '../core/options.ts'
import type { MissedOptions, ScheduleDefinition } from './define-schedule.ts'
import type { FoundSchedule } from './read.ts'
import type { RuleOptions, Spec } from './rule.ts'

/**
 * A stored schedule as set() takes it, so that a part of it can be changed without the code that it came from: given to
 * set() as it is, it is stored as it was.
 *
 * The contract stands in for the real one and knows only what is stored: no schema, and what the real one made of the
 * input (key, unique key, search words) as constants. An input that code makes is not stored, and left out.
 */
export function definitionOf({ row }: Pick<FoundSchedule, 'row'>): ScheduleDefinition {
  const { unique, options, tokens, ...job } = row.job
  const uniqueKey = unique?.key
  return {
    name: row.name,
    job: defineJob({
      ...{ kind: row.kind, queue: row.queue, version: job.version },
      retry:
        options?.crashLimit === undefined ? {} : { classes: { crash: { attempts: options.crashLimit } } },
      ...(unique === undefined
        ? {}
        : { unique: { until: unique.until, ...(uniqueKey === undefined ? {} : { by: () => uniqueKey }) } }),
    }),
    ...ruleOptionsOf(row.spec),
    timeZone: row.time_zone,
    startsAt: row.starts_at ?? undefined,
    endsAt: row.ends_at ?? undefined,
    ...(row.input_from_code ? {} : { input: row.input }),
    options: {
      ...{ priority: job.priority, attempts: job.maxAttempts, key: job.key, timeout: options?.timeoutMs },
      ...{ deadline: job.deadlineMs, correlationId: job.correlationId, search: searchOf(tokens) },
    },
    overlap: row.overlap,
    missed: { policy: row.missed, limit: row.missed_limit, window: row.missed_window_ms },
    jitter: row.jitter_ms,
    keepFires: row.keep_fires_ms,
  }
}

/** What is to be another: what is undefined stays as it is, and null takes away. */
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

function ruleOptionsOf(spec: Spec): Pick<RuleOptions, 'cron' | 'every' | 'at'> {
  if (spec.type === 'cron') return { cron: spec.cron }
  if (spec.type === 'every') return { every: spec.everyMs }
  return { at: spec.atMs.map((ms) => new Date(ms)) }
}

/** `['country:BR']` → `{ country: 'BR' }`: no name has a colon. */
function searchOf(tokens: readonly string[] = []): SearchTokens {
  return Object.fromEntries(
    tokens.map((token) => [token.slice(0, token.indexOf(':')), token.slice(token.indexOf(':') + 1)]),
  )
}
