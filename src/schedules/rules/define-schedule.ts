import type { InputOf, JobContract } from '../../contracts/contract.ts'
import { checkInput } from '../../contracts/input.ts'
import type { Duration } from '../../core/duration.ts'
import { isStintError, StintError } from '../../core/errors.ts'
import { nameOption } from '../../core/names.ts'
import {
  durationOption,
  integerOption,
  invalidOption,
  oneOfOption,
  rejectUnknown,
} from '../../core/options.ts'
import type { JobOptions } from '../../jobs/new/enqueue-options.ts'
import { resolveRule } from './rule.ts'
import type { Rule, RuleOptions } from './rule.ts'

export const overlapPolicies = ['allow', 'skip', 'queue-one', 'cancel-previous'] as const
export type OverlapPolicy = (typeof overlapPolicies)[number]

export const missedPolicies = ['skip', 'once', 'all'] as const
export type MissedPolicy = (typeof missedPolicies)[number]

export interface MissedOptions {
  policy: MissedPolicy
  /** With `all`: how many missed fires run at most, the latest ones; 1 to 1,000. @default 100 */
  limit?: number | undefined
  /** A fire that is later than this does not run any more; up to '366d'. @default '24h' */
  window?: Duration | undefined
}

/** Options of the jobs of a schedule. There is no `runAt` or `delay`: the schedule decides when they run. */
export type ScheduledJobOptions = Pick<
  JobOptions,
  'priority' | 'queue' | 'key' | 'attempts' | 'timeout' | 'correlationId' | 'search'
> & {
  /** The job does not start later than this after it was due. */
  deadline?: Duration | undefined
}

export interface ScheduleDefinition<Contract extends JobContract = JobContract> extends RuleOptions {
  /** Its unique name: 1 to 128 letters, digits and `_ . : / % -`. */
  name: string
  /** The contract of the jobs it makes. */
  job: Contract
  /**
   * The input of its jobs, or a function that makes it from the time of the fire. Workers call the function, so only a
   * worker that has it in its code can fire the schedule.
   */
  input?: InputOf<Contract> | ((fireAt: Date) => InputOf<Contract> | Promise<InputOf<Contract>>) | undefined
  options?: ScheduledJobOptions | undefined
  /** What happens when a job of an earlier fire has not ended. @default 'allow' */
  overlap?: OverlapPolicy | undefined
  /** What happens to fires whose time passed while no worker ran. @default 'once' */
  missed?: MissedPolicy | MissedOptions | undefined
  /** Spreads the jobs over this span after their time, by a hash of schedule and time. @default none */
  jitter?: Duration | undefined
  /** How long its fires are kept: which times fired, and why others did not; from '1d' to '3660d'. @default '30d' */
  keepFires?: Duration | undefined
}

/** A complete, checked schedule. */
export interface Schedule {
  readonly name: string
  readonly contract: JobContract
  readonly rule: Rule
  readonly input: unknown
  readonly makeInput: ((fireAt: Date) => unknown) | undefined
  readonly options: ScheduledJobOptions
  readonly overlap: OverlapPolicy
  readonly missed: { readonly policy: MissedPolicy; readonly limit: number; readonly windowMs: number }
  readonly jitterMs: number
  readonly keepFiresMs: number
}

const known = [
  ...['name', 'job', 'cron', 'every', 'at', 'timeZone', 'startsAt', 'endsAt', 'input', 'options'],
  ...['overlap', 'missed', 'jitter', 'keepFires'],
]
const optionNames = ['priority', 'queue', 'key', 'attempts', 'timeout', 'correlationId', 'search', 'deadline']
const schedules = new WeakSet<object>()
const dayMs = 86_400_000
export const defaultKeepFiresMs = 30 * dayMs

/** Defines a schedule. A worker that is given it keeps the stored schedule equal to your code. */
export function defineSchedule<Contract extends JobContract>(
  definition: ScheduleDefinition<Contract>,
): Schedule {
  const { name, job, cron, every, at, timeZone, startsAt, endsAt, ...more } = definition
  const { input, options = {}, overlap = 'allow', missed = 'once', jitter = 0, ...late } = more
  const { keepFires = defaultKeepFiresMs, ...rest } = late
  rejectUnknown(`defineSchedule('${name}')`, rest, known)
  nameOption('name', name)
  if (typeof job !== 'object' || (job as unknown) === null || typeof job.kind !== 'string')
    throw invalidOption('job', 'a contract, made by defineJob()', job)
  rejectUnknown('a schedule’s jobs', without(options, optionNames), optionNames, 'options.')
  const makeInput = typeof input === 'function' ? (input as (fireAt: Date) => unknown) : undefined
  const schedule = Object.freeze({
    name,
    contract: job,
    rule: resolveRule({ cron, every, at, timeZone, startsAt, endsAt }),
    input: makeInput === undefined ? input : undefined,
    makeInput,
    options,
    overlap: oneOfOption('overlap', overlap, overlapPolicies),
    missed: resolveMissed(missed),
    jitterMs: Math.round(durationOption('jitter', jitter, { maxMs: dayMs })),
    keepFiresMs: Math.round(durationOption('keepFires', keepFires, { minMs: dayMs, maxMs: 3_660 * dayMs })),
  })
  if (input === undefined) mayHaveNone(name, job)
  schedules.add(schedule)
  return schedule
}

/** Returns what defineSchedule() made, or calls it with a plain definition. */
export function asSchedule(given: Schedule | ScheduleDefinition): Schedule {
  return schedules.has(given) ? (given as Schedule) : defineSchedule(given as ScheduleDefinition)
}

/** Finds a missing input that the contract requires here, not only when a worker starts. */
function mayHaveNone(name: string, job: JobContract): void {
  try {
    const checked = checkInput(job, undefined)
    // An asynchronous schema is checked when the schedule is stored.
    if (checked instanceof Promise) checked.catch(() => undefined)
  } catch (error) {
    if (!isStintError(error)) throw error
    const { issues } = error
    throw new StintError(error.code, `The schedule '${name}' has no input. ${error.message}`, {
      cause: error,
      issues,
    })
  }
}

function resolveMissed(missed: MissedPolicy | MissedOptions): Schedule['missed'] {
  const {
    policy,
    limit = 100,
    window = '24h',
    ...rest
  } = typeof missed === 'string' ? { policy: missed } : missed
  rejectUnknown('missed', rest, ['policy', 'limit', 'window'], 'missed.')
  return Object.freeze({
    policy: oneOfOption('missed', policy, missedPolicies),
    limit: integerOption('missed.limit', limit, { min: 1, max: 1_000 }),
    windowMs: Math.round(durationOption('missed.window', window, { maxMs: 366 * dayMs })),
  })
}

function without(options: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !names.includes(name)))
}
