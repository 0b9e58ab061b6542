import { StintError } from '../../core/errors.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import { resolveJob } from '../../jobs/new/enqueue-options.ts'
import { defineSchedule } from './define-schedule.ts'
import type { Schedule } from './define-schedule.ts'
import { definitionOf, storedMoment } from './definition.ts'
import { instant } from './rule.ts'
import type { ScheduleRow } from './stored.ts'

/** A stored schedule that may be acted on. */
export interface CheckedSchedule {
  schedule: Schedule
  decidedToMs: number
  /** Of the fire that waits for the job before it. */
  queuedMs: number | undefined
}

/**
 * Checks what is stored of a schedule by the rules that it was defined under: a row may be written by anything that
 * reaches the table, and its values decide how long loops are and what jobs are made. Throws `invalid-option`.
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
      `What is stored of this schedule is not valid: ${messageOf(error)} Set it again, or delete it.`,
      { cause: error, issues: [{ path: 'schedule', message: messageOf(error) }] },
    )
  }
}
