import type { JobAttempt } from '../../../src/server/api/job.ts'

export type Tone = 'good' | 'bad' | 'warn' | 'flow' | 'quiet'

/** What an attempt's ending means to a person: done, failed, lost with its worker, or given back. */
export function outcomeTone(attempt: Pick<JobAttempt, 'endedAt' | 'outcome'>): Tone {
  if (attempt.endedAt === null) return 'flow'
  if (attempt.outcome === 'succeeded') return 'good'
  if (/lease|lost|crash|expired/.test(attempt.outcome)) return 'warn'
  if (/released|snooz|put-back|cancel|wait/.test(attempt.outcome)) return 'quiet'
  return 'bad'
}
