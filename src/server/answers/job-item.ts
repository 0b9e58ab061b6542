import type { z } from '@hono/zod-openapi'
import { FarTime } from '../../core/far-time.ts'
import type { Job, JobSummary } from '../../core/job.ts'
import { textIn } from '../../core/json/stored-json.ts'
import { peek } from '../../core/failures/thrown.ts'
import type { FoundJob } from '../../jobs/search/search.ts'
import type { JobItem, StoredError } from '../api/job.ts'
import type { Resource } from '../auth/caller.ts'
import { hidePasswords } from '../auth/secret-names.ts'

/** The fields of a job that decide who may see or change it. */
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

/** A whole job in the form of a list item: with a short error, without its input and result. */
export function jobToItem(job: Job): z.infer<typeof JobItem> {
  const { error, ...summary } = job
  const stored = toStoredError(error)
  const line =
    stored === null
      ? null
      : { name: stored.name, message: stored.message?.slice(0, 1_000) ?? null, group: stored.group }
  return toJobItem({ ...summary, error: job.state === 'dead' ? line : null })
}

/** Reads a stored error. A worker of any version may have written it, so every field may be missing or invalid. */
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

/** Hides passwords in a text that code or people wrote, such as an error message. A stored value that is no text stays unchanged. */
export function shownText<Text extends string | null>(text: Text): Text | string {
  return typeof text === 'string' ? hidePasswords(text) : text
}

/** The time as ISO 8601. Null also for a stored time that ISO 8601 cannot express; `broken` then has its text. */
export function timeOf(time: Date | null): string | null {
  return time === null || time instanceof FarTime ? null : time.toISOString()
}
