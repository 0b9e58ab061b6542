import { createHash } from 'node:crypto'
import type { UniqueOptions } from '../../contracts/contract.ts'
import { checkInput } from '../../contracts/input.ts'
import { StintError } from '../../core/errors.ts'
import { resolveJob } from '../../jobs/new/enqueue-options.ts'
import type { Members } from '../../jobs/new/enqueue-options.ts'
import { asInvalidInput } from '../../jobs/new/new-job.ts'
import { usualKeepFiresMs } from './define-schedule.ts'
import type { Schedule } from './define-schedule.ts'

/** A definition as it is stored. */
export interface StoredDefinition {
  /** JSON, in the names that set.sql reads. */
  text: string
  digest: string
}

/** Where code makes the input, only the priority is known before a fire. */
export type JobMembers = Pick<Members, 'priority'> &
  Partial<
    Pick<Members, 'maxAttempts' | 'version' | 'key' | 'correlationId' | 'deadlineMs' | 'tokens' | 'options'>
  > & { unique?: { until: UniqueOptions['until']; key?: string | undefined } }

/** What one job of a schedule is, beside its input: in the names that fire.sql reads. */
export interface ScheduledJob {
  job: JobMembers
  /** JSON. */
  input: string
}

/** Checks the input as enqueue() does, and puts together what the contract and the options say of it. */
export async function scheduledJob(
  { contract, options }: Pick<Schedule, 'contract' | 'options'>,
  input: unknown,
): Promise<ScheduledJob> {
  const { text, parsed } = await checkInput(contract, input)
  const { members, deciding } = asInvalidInput(contract.kind, () => resolveJob(contract, parsed, options))
  const { priority, maxAttempts, version, key, correlationId, deadlineMs, tokens } = members
  const { until, key: uniqueKey } = deciding.unique ?? {}
  return {
    job: {
      priority,
      maxAttempts,
      version,
      key,
      correlationId,
      deadlineMs,
      tokens,
      options: members.options,
      ...(until === undefined ? {} : { unique: { until, key: uniqueKey } }),
    },
    input: text,
  }
}

export async function storedDefinition(schedule: Schedule): Promise<StoredDefinition> {
  const { contract, rule, options, overlap, missed, jitterMs, keepFiresMs, makeInput } = schedule
  const queue = options.queue ?? contract.queue
  // One that code makes cannot be checked before there is a time to make it for.
  const made =
    makeInput === undefined
      ? await scheduledJob(schedule, schedule.input)
      : { job: { priority: contract.priority }, input: 'null' }
  const definition = {
    kind: contract.kind,
    queue,
    spec: rule.spec,
    timeZone: rule.timeZone,
    job: made.job,
    inputFromCode: makeInput !== undefined,
    overlap,
    missed: missed.policy,
    missedLimit: missed.limit,
    missedWindowMs: missed.windowMs,
    jitterMs,
    startsAt: rule.startsAtMs === undefined ? null : new Date(rule.startsAtMs).toISOString(),
    endsAt: rule.endsAtMs === undefined ? null : new Date(rule.endsAtMs).toISOString(),
    // The usual is left out: it is the same definition as before one could say it.
    ...(keepFiresMs === usualKeepFiresMs ? {} : { keepFiresMs }),
  }
  const input = makeInput === undefined ? `,"input":${made.input}` : ''
  const text = `${JSON.stringify(definition).slice(0, -1)}${input}}`
  return { text, digest: createHash('sha256').update(text).digest('hex').slice(0, 32) }
}

/** A row as a scheduler needs it, from JSON or from the driver: whatever the columns hold, until it is checked. */
export interface ScheduleRow {
  name: string
  kind: string
  queue: string
  spec: unknown
  time_zone: string
  job: unknown
  input?: unknown
  input_from_code: boolean
  overlap: string
  missed: string
  missed_limit: number
  missed_window_ms: number
  jitter_ms: number
  keep_fires_ms: number
  starts_at: string | Date | null
  ends_at: string | Date | null
  decided_to: string | Date
  queued_fire_at: string | Date | null
}

export function missingSchedule(name: string): never {
  throw new StintError('schedule-not-found', `There is no schedule '${name}'.`)
}

/** When the job of a fire runs: its time, and a delay that every process comes to alike. */
export function runAtMs(name: string, fireMs: number, jitterMs: number): number {
  if (jitterMs === 0) return fireMs
  const hash = createHash('sha256').update(`${name} ${fireMs}`).digest().readUInt32BE(0)
  return fireMs + Math.floor((hash / 2 ** 32) * jitterMs)
}
