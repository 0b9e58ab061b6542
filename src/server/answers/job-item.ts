import type { z } from '@hono/zod-openapi'
import { FarTime } from '../../core/far-time.ts'
import type { Job, JobSummary } from '../../core/job.ts'
import { textIn } from '../../core/json/stored-json.ts'
import { peek } from '../../core/failures/thrown.ts'
import type { FoundJob } from '../../jobs/search/search.ts'
import type { JobItem, StoredError } from '../api/job.ts'
import type { Resource } from '../auth/caller.ts'
import { hidePasswords } from '../auth/telling.ts'

/** What rights to a job hang on. */
export function resourceOf({ queue, kind, key }: Pick<JobSummary, 'queue' | 'kind' | 'key'>): Resource {
  return { queue, kind, key }
}

/** A job as the API lists it. */
export function toJobItem(job: JobSummary & Partial<Pick<FoundJob, 'error'>>): z.infer<typeof JobItem> {
  const { id, state, queue, kind, key, priority, attempt, maxAttempts, crashes, epoch, version } = job
  return {
    id,
    state,
    queue,
    kind,
    key,
    priority,
    attempt,
    maxAttempts,
    crashes,
    epoch,
    version,
    createdAt: timeOf(job.createdAt),
    runAt: timeOf(job.runAt),
    startedAt: timeOf(job.startedAt),
    finishedAt: timeOf(job.finishedAt),
    deadlineAt: timeOf(job.deadlineAt),
    workerId: job.workerId,
    correlationId: job.correlationId,
    parentId: job.parentId,
    search: { ...job.search },
    reason: shownText(job.reason),
    error:
      job.error === undefined || job.error === null
        ? null
        : { ...job.error, message: shownText(job.error.message) },
    replaces: job.replaces,
    replacedBy: job.replacedBy,
    discardedAt: timeOf(job.discardedAt),
    cancelRequestedAt: timeOf(job.cancelRequestedAt),
    broken: [...job.broken],
  }
}

/** A whole job as a list would have it: its error in a line. */
export function jobToItem(job: Job): z.infer<typeof JobItem> {
  const { error, ...summary } = job
  const stored = toStoredError(error)
  const line =
    stored === null
      ? null
      : { name: stored.name, message: stored.message?.slice(0, 1_000) ?? null, group: stored.group }
  return toJobItem({ ...summary, error: job.state === 'dead' ? line : null })
}

/** What was stored of a failure: by a worker of any version, so nothing is taken for granted. */
export function toStoredError(error: unknown): z.infer<typeof StoredError> | null {
  if (typeof error !== 'object' || error === null) return null
  const causes = peek(error, 'causes')
  return {
    name: shownIn(error, 'name'),
    message: shownIn(error, 'message'),
    class: shownIn(error, 'class'),
    stack: shownIn(error, 'stack'),
    causes: (Array.isArray(causes) ? causes : []).map((cause: unknown) => ({
      name: shownIn(cause, 'name'),
      message: shownIn(cause, 'message'),
    })),
    group: shownIn(error, 'fingerprint'),
  }
}

function shownIn(value: unknown, name: string): string | null {
  return shownText(textIn(value, name))
}

/** A text that code or people wrote, such as the message of an error; anything else that is stored there stays as it is. */
export function shownText<Text extends string | null>(text: Text): Text | string {
  return typeof text === 'string' ? hidePasswords(text) : text
}

/** Null also for a time that ISO 8601 cannot write: what was stored instead is in `broken`. */
export function timeOf(time: Date | null): string | null {
  return time === null || time instanceof FarTime ? null : time.toISOString()
}
