import type { JobAttempt } from '../api/jobs.ts'
import { shortId, span } from '../text/format.ts'
import { StoredErrorNote } from './StoredErrorNote.tsx'
import { Time } from './Time.tsx'
import { outcomeTone } from './outcomes.ts'

export function AttemptList({ attempts }: { attempts: readonly JobAttempt[] }) {
  if (attempts.length === 0) return <p className="empty">No attempts yet.</p>
  return (
    <ol className="attempts">
      {attempts
        .toSorted((a, b) => b.epoch - a.epoch)
        .map((attempt) => (
          <li key={attempt.epoch} className={`attempt attempt-${outcomeTone(attempt)}`}>
            <p className="attempt-head">
              <strong>#{attempt.attempt}</strong>
              <span className="attempt-outcome">
                {attempt.endedAt === null ? 'running' : attempt.outcome}
              </span>
              <Time at={attempt.startedAt} />
              <span>{tookOf(attempt)}</span>
              {attempt.workerId === null ? null : (
                <span className="muted">worker {shortId(attempt.workerId)}</span>
              )}
              <span className="muted">epoch {attempt.epoch}</span>
              {attempt.reason === null ? null : <span>{attempt.reason}</span>}
            </p>
            {attempt.error === null ? null : <StoredErrorNote error={attempt.error} />}
          </li>
        ))}
    </ol>
  )
}

function tookOf(attempt: JobAttempt): string {
  if (attempt.startedAt === null || attempt.endedAt === null) return ''
  return span(Date.parse(attempt.endedAt) - Date.parse(attempt.startedAt))
}
