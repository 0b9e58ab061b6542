import type { JobSummary } from '../../core/job.ts'
import type { DeadLetterFacts, DeadReason } from '../../jobs/dead/dead-letter.ts'
import type { FoundJob, SearchPage } from '../../jobs/search/search.ts'

/** A dead letter without what it carries. */
export interface DeadLetterSummary extends JobSummary, DeadLetterFacts {
  state: 'dead'
  reason: DeadReason
  /** The last one, without its stack: at most 1,000 characters. */
  error: { name: string | null; message: string | null } | null
}

export interface DeadLetterPage {
  /** Newest first: by when the jobs were made. */
  dead: DeadLetterSummary[]
  /**
   * Where the next page begins; undefined when there is no more. A page with few or no dead letters and a `next`
   * looked through 50,000 and found no more that match.
   */
  next: string | undefined
}

/** What a search for dead letters found, as dead.list() shows it. */
export function deadLetterPage({ jobs, next }: SearchPage): DeadLetterPage {
  return { dead: jobs.map(deadLetter), next }
}

function deadLetter(job: FoundJob): DeadLetterSummary {
  const { name = null, message = null, group: fingerprint = null } = job.error ?? {}
  const error = name === null && message === null ? null : { name, message }
  return { ...job, state: 'dead', reason: job.reason as DeadReason, fingerprint, error }
}
