import type { JobAttempt, JobDetail } from '../../../src/server/api/job.ts'
import { outcomeTone } from '../components/outcomes.ts'
import type { Tone } from '../components/outcomes.ts'
import { span } from './format.ts'

/** A part of a job's timeline. */
export interface Segment {
  from: number
  to: number
  /** `before`: before the first attempt, if it is not known when the job became ready. */
  type: 'scheduled' | 'ready' | 'before' | 'between' | 'running'
  tone: Tone
  words: string
}

export const segmentWords: Readonly<Record<Segment['type'], string>> = {
  scheduled: 'scheduled',
  ready: 'ready',
  before: 'before the first attempt',
  between: 'between attempts',
  running: 'running',
}

type Life = Pick<JobDetail, 'createdAt' | 'runAt' | 'finishedAt'>
type Try = Pick<JobAttempt, 'startedAt' | 'endedAt' | 'outcome' | 'attempt'>

/** The waiting and running segments of a job from its creation to its end, or until now. */
export function segmentsOf(job: Life, attempts: readonly Try[], now: number): Segment[] {
  const created = momentOf(job.createdAt, now)
  const end = job.finishedAt === null ? Math.max(now, created) : Date.parse(job.finishedAt)
  const tried = attempts
    .flatMap((attempt) =>
      attempt.startedAt === null ? [] : [{ attempt, from: Date.parse(attempt.startedAt) }],
    )
    .sort((a, b) => a.from - b.from)
  const segments: Segment[] = []
  let at = created
  for (const { attempt, from } of tried) {
    const to = attempt.endedAt === null ? end : Date.parse(attempt.endedAt)
    if (from > at) segments.push(...(at === created ? untilFirst(job, from) : [waited('between', at, from)]))
    segments.push({
      type: 'running',
      from,
      to: Math.max(to, from),
      tone: outcomeTone(attempt),
      words: `#${attempt.attempt} ${attempt.endedAt === null ? 'running' : attempt.outcome}, ${span(to - from)}`,
    })
    at = Math.max(at, to)
  }
  if (at < end && job.finishedAt === null)
    segments.push(...(tried.length === 0 ? notYet(job, end) : [waited('between', at, end)]))
  return segments
}

/** A retry, snooze or replay moves `runAt`. If it is later than the first attempt, the first `runAt` is not known. */
function untilFirst(job: Life, started: number): Segment[] {
  return momentOf(job.runAt, started) > started
    ? [waited('before', momentOf(job.createdAt, started), started)]
    : notYet(job, started)
}

/** Until its first attempt a job waits for `runAt`, then for a worker. */
function notYet(job: Life, until: number): Segment[] {
  const created = momentOf(job.createdAt, until)
  const due = Math.min(Math.max(momentOf(job.runAt, created), created), until)
  return [waited('scheduled', created, due), waited('ready', due, until)].filter(({ from, to }) => to > from)
}

function waited(type: Exclude<Segment['type'], 'running'>, from: number, to: number): Segment {
  return { type, from, to, tone: 'quiet', words: `${segmentWords[type]}, ${span(to - from)}` }
}

/** The API has null for a stored time that ISO 8601 cannot express. */
function momentOf(time: string | null, otherwise: number): number {
  return time === null ? otherwise : Date.parse(time)
}
