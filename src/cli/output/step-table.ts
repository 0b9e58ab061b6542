import { FarTime } from '../../core/far-time.ts'
import type { JobStep } from '../../flows/steps/job-steps.ts'
import type { ParkedJob } from '../../flows/steps/parked-job.ts'
import { moment, oneLine, relative, span } from './format.ts'
import { table } from './output.ts'

export function stepTable(steps: readonly JobStep[], now: Date): string {
  const heads = ['STEP', 'TYPE', 'STATE', '>TRIES', 'WHEN', '>TOOK', 'RESULT']
  const rows = steps.map((step) => [
    step.n === 0 ? step.name : `${step.name} #${step.n + 1}`,
    ...[step.type, step.state, String(step.tries)],
    step.startedAt === null ? '' : relative(step.startedAt, now),
    ...[tookOf(step), endOf(step, now)],
  ])
  return table(heads, rows, { spare: ['TYPE', 'WHEN'] })
}

/** Why the job is parked, and what to do. */
export function parkedText({ reason, tries, nextTryAt }: ParkedJob, now: Date): string {
  const often = tries > 1 ? ` (${tries} times)` : ''
  return `parked${often}: ${oneLine(reason, 500)}; tried again ${relative(nextTryAt, now)}, or now: stint job resume`
}

function tookOf({ startedAt, endedAt }: JobStep): string {
  if (startedAt === null || endedAt === null) return ''
  if (startedAt instanceof FarTime || endedAt instanceof FarTime) return ''
  return span(endedAt.getTime() - startedAt.getTime())
}

/** What it returned, why it failed, or how long it waits; the table cuts it. */
function endOf({ state, error, result, isCut, until }: JobStep, now: Date): string {
  if (error !== null) return `${error.name}: ${error.message}`
  if (state === 'open' && until !== null) return `until ${moment(until, now)}`
  if (isCut) return '(too large)'
  return result === undefined ? '' : JSON.stringify(result)
}
