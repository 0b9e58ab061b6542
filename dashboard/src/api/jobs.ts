import type { JobAttempt, JobDetail, JobItem, JobLog, JobPage, Lineage } from '../../../src/server/api/job.ts'
import type { SentSignal } from '../../../src/server/api/signal.ts'
import type { JobStep, JobSteps } from '../../../src/server/api/step.ts'
import type { Why, WhyPredicate } from '../../../src/server/api/why.ts'
import { at, get, send } from './client.ts'
import type { LiveQuery } from './use-live.ts'

export type { JobAttempt, JobDetail, JobItem, JobLog, JobPage, JobStep, Lineage, Why, WhyPredicate }
export type { StoredError } from '../../../src/server/api/job.ts'

export function jobsQuery(where: string, cursor: string | undefined, limit = 50): LiveQuery<JobPage> {
  return {
    queryKey: ['jobs', where, cursor ?? '', limit],
    queryFn: ({ signal }) => get('jobs', { where, cursor, limit }, signal),
    // The stream does not know which jobs match: its messages only trigger a fetch.
    topic: 'overview',
    anywayEveryMs: 10_000,
    keep: true,
  }
}

export function jobQuery(id: string): LiveQuery<JobDetail> {
  return {
    queryKey: ['job', id],
    queryFn: ({ signal }) => get(at('jobs', id), {}, signal),
    topic: `job:${id}`,
  }
}

export function attemptsQuery(id: string): LiveQuery<{ items: JobAttempt[] }> {
  return {
    queryKey: ['job', id, 'attempts'],
    queryFn: ({ signal }) => get(at('jobs', id, 'attempts'), {}, signal),
    topic: `job:${id}`,
  }
}

export function whyQuery(id: string): LiveQuery<Why> {
  return {
    queryKey: ['job', id, 'why'],
    queryFn: ({ signal }) => get(at('jobs', id, 'why'), {}, signal),
    topic: `job:${id}`,
    // Workers, limits and pauses change without a message about this job.
    anywayEveryMs: 5_000,
  }
}

export type ParkedJob = NonNullable<JobSteps['parked']>

export function stepsQuery(id: string): LiveQuery<JobSteps> {
  return {
    queryKey: ['job', id, 'steps'],
    queryFn: ({ signal }) => get(at('jobs', id, 'steps'), {}, signal),
    topic: `job:${id}`,
    // A step of a running job changes nothing that the stream tells.
    anywayEveryMs: 5_000,
  }
}

export function logsQuery(id: string): LiveQuery<{ items: JobLog[] }> {
  return {
    queryKey: ['job', id, 'logs'],
    queryFn: ({ signal }) => get(at('jobs', id, 'logs'), {}, signal),
    topic: `job:${id}`,
  }
}

export function lineageQuery(id: string): LiveQuery<Lineage> {
  return {
    queryKey: ['job', id, 'lineage'],
    queryFn: ({ signal }) => get(at('jobs', id, 'lineage'), {}, signal),
    everyMs: 10_000,
  }
}

export type Verb = 'replay' | 'cancel' | 'run-now' | 'reschedule' | 'reprioritize' | 'discard' | 'restore'

/** Acts on the job in the state that the person saw. The server refuses if the job has changed since. */
export function act(job: JobItem, verb: Verb, body: object = {}): Promise<JobDetail> {
  return send('POST', at('jobs', job.id, verb), { expect: seen(job), ...body })
}

/** Tries a parked job again at once; with `accept`, the new code goes on. */
export function resumeJob(job: JobItem, accept: boolean): Promise<JobDetail> {
  return send('POST', at('jobs', job.id, 'resume'), { expect: seen(job), ...(accept && { accept }) })
}

/** The input is sent as the person wrote it, so that no number is rounded. */
export function editAndReplay(job: JobItem, inputText: string, reason: string): Promise<{ id: string }> {
  const body = `{"input":${inputText},"reason":${JSON.stringify(reason)},"expect":${JSON.stringify(seen(job))}}`
  return send('POST', at('jobs', job.id, 'edit-and-replay'), body)
}

/** The payload is sent as the person wrote it, so that no number is rounded. */
export function sendSignal(
  id: string,
  name: string,
  { payloadText, reason }: { payloadText: string; reason: string },
): Promise<SentSignal> {
  const why = reason === '' ? '' : `,"reason":${JSON.stringify(reason)}`
  return send('POST', at('jobs', id, 'signals', name), `{"payload":${payloadText}${why}}`)
}

function seen(job: JobItem): object {
  return job.state === 'running' ? { state: job.state, epoch: job.epoch } : { state: job.state }
}
