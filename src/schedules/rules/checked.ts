import { StintError } from '../../core/errors.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import { resolveJob } from '../../jobs/new/enqueue-options.ts'
import { defineSchedule } from './define-schedule.ts'
import type { Schedule } from './define-schedule.ts'
import { definitionOf, storedMoment } from './definition.ts'
import { instant } from './rule.ts'
import type { ScheduleRow } from './stored.ts'

/** A stored schedule that passed the checks. */
export interface CheckedSchedule {
  schedule: Schedule
  decidedToMs: number
  /** The time of the fire that waits for the previous job to end. */
  queuedMs: number | undefined
}

/**
 * Checks a stored schedule by the rules of defineSchedule(): other programs can write to the table too, and the values
 * decide how long loops run and which jobs are made. Throws `invalid-option`.
 */
export function checkSchedule(row: ScheduleRow): CheckedSchedule {
  try {
    const schedule = defineSchedule(definitionOf(row))
    resolveJob(schedule.contract, null, schedule.options)
    const queued = storedMoment(row.queued_fire_at)
    return {
      schedule,
      decidedToMs: instant('decided_to', storedMoment(row.decided_to)),
      queuedMs: queued === undefined ? undefined : instant('queued_fire_at', queued),
    }
  } catch (error) {
    throw new StintError(
      'invalid-option',
      `The stored schedule is not valid: ${messageOf(error)} Set it again, or delete it.`,
      { cause: error, issues: [{ path: 'schedule', message: messageOf(error) }] },
    )
  }
}
