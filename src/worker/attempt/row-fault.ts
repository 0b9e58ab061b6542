import { StintError } from '../../core/errors.ts'
import { longestMs, show } from '../../core/options.ts'
import { describeFailure } from '../../core/failures/stored-error.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import type { ClaimedDetails, ClaimedJob } from '../../jobs/claim.ts'
import type { Ending } from './outcome.ts'

/** A value of a claimed row with which no attempt can run. */
export interface RowFault {
  /** The column and path of the value: `options.timeoutMs`. */
  column: string
  expected: string
  value: unknown
}

/**
 * What is wrong with a claimed row, if anything. Only enqueue checks what it stores; logins that may insert rows, and
 * operators, can write any value. Rows without details cost two comparisons.
 */
export function faultIn({ attempt, epoch, more }: ClaimedJob): RowFault | undefined {
  if (attempt < 1) return { column: 'attempt', expected: 'a number from 0', value: attempt - 1 }
  if (epoch < 1) return { column: 'epoch', expected: 'a number from 0', value: epoch - 1 }
  return more === null ? undefined : faultInDetails(more)
}

const mostCrashes = 32_766
/** One less than the largest integer of Postgres: a failure adds one. */
const mostFailures = 2 ** 31 - 2

function faultInDetails(more: ClaimedDetails): RowFault | undefined {
  const { timeoutMs, crashLimit, fireAt, failures, progress, crashes } = more
  if (!isNothing(timeoutMs) && !isBetween(timeoutMs, 1, longestMs))
    return { column: 'options.timeoutMs', expected: `a number from 1 to ${longestMs}`, value: timeoutMs }
  if (!isNothing(crashLimit) && !(isBetween(crashLimit, 1, mostCrashes) && Number.isInteger(crashLimit)))
    return {
      column: 'options.crashLimit',
      expected: `an integer from 1 to ${mostCrashes}`,
      value: crashLimit,
    }
  if (!isNothing(fireAt) && (typeof fireAt !== 'string' || Number.isNaN(Date.parse(fireAt))))
    return { column: 'options.fireAt', expected: 'a time as ISO 8601', value: fireAt }
  if (!isBetween(crashes, 0, mostCrashes))
    return { column: 'crashes', expected: `a number from 0 to ${mostCrashes}`, value: crashes }
  if (!isNothing(failures) && !isCounts(failures))
    return { column: 'failures', expected: 'an object of counts by class', value: failures }
  if (!isNothing(progress) && !isProgress(progress))
    return { column: 'progress', expected: 'an object with a percent and a note', value: progress }
  return undefined
}

/** The ending of a job whose row allows no attempt: only this job dies, and its error says why. */
export function invalidRow(job: ClaimedJob, fault: RowFault | undefined, thrown?: unknown): Ending {
  const what =
    fault === undefined
      ? messageOf(thrown)
      : `\`${fault.column}\` is not ${fault.expected}: ${show(fault.value)}`
  const error = new StintError(
    'invalid-row',
    `No attempt could be made of the row of job ${job.id} of '${job.kind}': ${what}. It was not written by enqueue.`,
    { jobIds: [job.id], cause: thrown },
  )
  return {
    type: 'dead',
    reason: 'invalid-row',
    error: describeFailure(error, { kind: job.kind, failureClass: 'invalid' }),
    timedOut: false,
  }
}

function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

function isBetween(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max
}

function isCounts(value: unknown): boolean {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return (
    isObject && Object.values(value).every((one) => isBetween(one, 0, mostFailures) && Number.isInteger(one))
  )
}

function isProgress(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { percent, note } = value as Record<string, unknown>
  return isBetween(percent, 0, 100) && (isNothing(note) || typeof note === 'string')
}
