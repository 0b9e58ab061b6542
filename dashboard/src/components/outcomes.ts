import type { JobAttempt } from '../../../src/server/api/job.ts'

export type Tone = 'good' | 'bad' | 'warn' | 'flow' | 'quiet'

/** The tone of an attempt's outcome: succeeded, failed, lost with its worker, or released. */
export function outcomeTone(attempt: Pick<JobAttempt, 'endedAt' | 'outcome'>): Tone {
  if (attempt.endedAt === null) return 'flow'
  if (attempt.outcome === 'succeeded') return 'good'
  if (/lease|lost|crash|expired/.test(attempt.outcome)) return 'warn'
  if (/released|snooz|put-back|cancel|wait/.test(attempt.outcome)) return 'quiet'
  return 'bad'
}
