import { createHash } from 'node:crypto'
import type { UniqueOptions } from '../../contracts/contract.ts'
import { checkInput } from '../../contracts/input.ts'
import { StintError } from '../../core/errors.ts'
import { resolveJob } from '../../jobs/new/enqueue-options.ts'
import type { Members } from '../../jobs/new/enqueue-options.ts'
import { asInvalidInput } from '../../jobs/new/new-job.ts'
import { defaultKeepFiresMs } from './define-schedule.ts'
import type { Schedule } from './define-schedule.ts'

/** A definition as it is stored. */
export interface StoredDefinition {
  /** JSON, with the names that set.sql reads. */
  text: string
  digest: string
}

/** If code makes the input, only the priority is known before a fire. */
export type JobMembers = Pick<Members, 'priority'> &
  Partial<
    Pick<Members, 'maxAttempts' | 'version' | 'key' | 'correlationId' | 'deadlineMs' | 'tokens' | 'options'>
  > & { unique?: { until: UniqueOptions['until']; key?: string | undefined } }

/** The members of a schedule's job, with the names that fire.sql reads, and its input. */
export interface ScheduledJob {
  job: JobMembers
  /** JSON. */
  input: string
}

/** Checks the input as enqueue() does, and resolves the job's members from the contract and the options. */
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
  // An input that code makes depends on the time of a fire, so it cannot be checked here.
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
    // The default is left out, so that digests stored before this option existed stay the same.
    ...(keepFiresMs === defaultKeepFiresMs ? {} : { keepFiresMs }),
  }
  const input = makeInput === undefined ? `,"input":${made.input}` : ''
  const text = `${JSON.stringify(definition).slice(0, -1)}${input}}`
  return { text, digest: createHash('sha256').update(text).digest('hex').slice(0, 32) }
}

/** The row that firing needs, from JSON or from the driver. Its values are unchecked: checkSchedule() checks them. */
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

/** When the job of a fire runs: its time plus the jitter, which every process computes alike. */
export function runAtMs(name: string, fireMs: number, jitterMs: number): number {
  if (jitterMs === 0) return fireMs
  const hash = createHash('sha256').update(`${name} ${fireMs}`).digest().readUInt32BE(0)
  return fireMs + Math.floor((hash / 2 ** 32) * jitterMs)
}
