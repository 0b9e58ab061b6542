import type { JobState, JobSummary } from '../../core/job.ts'
import { relative, span, stateText } from './format.ts'
import type { Styled } from './format.ts'
import { table } from './output.ts'

const heads = ['ID', 'STATE', 'QUEUE', 'KIND', 'KEY', '>ATTEMPT', 'WHEN', '>AGE']

/** Jobs in a table, with the time that matters in their state, and their age. */
export function jobTable(jobs: readonly JobSummary[], now: Date): string {
  const rows = jobs.map((job) => [
    ...[
      job.id,
      job.broken.length === 0 ? stateText(job.state) : invalidText(job.state),
      job.queue,
      job.kind,
      job.key ?? '',
      `${job.attempt}/${job.maxAttempts}`,
    ],
    ...[when(job, now), span(now.getTime() - job.createdAt.getTime())],
  ])
  return table(heads, rows, { spare: ['AGE', 'ATTEMPT', 'KEY', 'WHEN'] })
}

/** Marks a job whose row has invalid values; `stint job get` lists them. */
function invalidText(state: JobState): Styled {
  return { text: `${stateText(state).text} (invalid row)`, style: 'red' }
}

/** Since when or until when the job is in its state. */
export function when(job: JobSummary, now: Date): string {
  switch (job.state) {
    case 'scheduled':
    case 'retrying':
      return `due ${relative(job.runAt, now)}`
    case 'waiting':
    case 'ready':
      return `for ${span(now.getTime() - job.runAt.getTime())}`
    case 'running':
      return `for ${span(now.getTime() - (job.startedAt ?? now).getTime())}`
    case 'succeeded':
    case 'cancelled':
    case 'dead':
      return relative(job.finishedAt ?? now, now)
  }
}
