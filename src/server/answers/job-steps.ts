import type { Job } from '../../core/job.ts'
import type { JobStep as StoredStep } from '../../flows/steps/job-steps.ts'
import type { JobStep, JobSteps } from '../api/step.ts'
import type { Caller } from '../auth/caller.ts'
import { redactFor } from '../auth/redact.ts'
import type { ConsoleParts } from '../context.ts'
import { resourceOf, shownText, timeOf } from './job-item.ts'

/** The page of a job cannot show megabytes of results. */
const mostShownBytes = 256 * 1024

async function parkedFor(job: Job, caller: Caller, { stint }: ConsoleParts): Promise<JobSteps['parked']> {
  const parked = job.state === 'waiting' ? await stint.parked(job.id) : undefined
  if (parked === undefined) return null
  const { reason, tries, asked, recorded, nextTryAt } = parked
  return {
    ...{ asked, recorded, tries: Math.trunc(tries) },
    reason: shownText(reason),
    nextTryAt: timeOf(nextTryAt),
    cli: caller.can('flow', resourceOf(job)) ? `stint job resume ${job.id}` : null,
  }
}

/** The steps of a job, with the results that this caller may see. */
export async function stepsFor(job: Job, caller: Caller, parts: ConsoleParts): Promise<JobSteps> {
  const mayRead = caller.can('view.input', resourceOf(job))
  const steps = await parts.stint.steps(job.id, {
    limit: 1_000,
    maxResultBytes: mayRead ? mostShownBytes : 0,
  })
  let isRedacted = false
  const shown = (step: StoredStep): JobStep => {
    const { name, n, type, state, tries, result, isCut, error } = step
    const hasResult = isCut || result !== undefined
    const own = redactFor(caller, parts, job, mayRead ? result : null)
    isRedacted ||= own.isRedacted
    return {
      ...{ name, n, type, state, tries },
      startedAt: timeOf(step.startedAt),
      endedAt: timeOf(step.endedAt),
      until: timeOf(step.until),
      result: own.value ?? null,
      resultHidden: !hasResult ? null : !mayRead ? 'role' : isCut ? 'size' : null,
      error: error === null ? null : { name: shownText(error.name), message: shownText(error.message) },
    }
  }
  const parked = await parkedFor(job, caller, parts)
  return { items: steps.map(shown), parked, redacted: isRedacted, asOf: new Date().toISOString() }
}
