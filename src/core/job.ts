import { FarTime } from './far-time.ts'
import { boundedText, isName } from './names.ts'
import { priorityRange } from './priority.ts'

/** The state of a job. The first five are live; the others have ended. */
export const jobStates = [
  'scheduled',
  'waiting',
  'ready',
  'running',
  'retrying',
  'succeeded',
  'cancelled',
  'dead',
] as const
export type JobState = (typeof jobStates)[number]

/** A job as it was when it was read, without its input and result. */
export interface JobSummary {
  id: string
  state: JobState
  queue: string
  kind: string
  key: string | null
  /** Higher runs sooner. */
  priority: number
  attempt: number
  maxAttempts: number
  /** How often its process ended while this job surely ran. */
  crashes: number
  /** Its worker crashed once, and this job may be the cause: it runs alone, so that a second crash identifies it. */
  isSuspect: boolean
  /** Grows with every claim. */
  epoch: number
  /** The contract version that the input was written for. */
  version: number
  createdAt: Date
  runAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  deadlineAt: Date | null
  workerId: string | null
  correlationId: string
  traceparent: string | null
  tracestate: string | null
  parentId: string | null
  flowId: string | null
  search: Readonly<Record<string, string>>
  /** Why it was cancelled or died. */
  reason: string | null
  /** Attempts before the last replay: `attempt` goes on counting. */
  attemptsBefore: number
  /** The dead letter that was edited into this job. */
  replaces: string | null
  /** The job that this dead letter was edited into. */
  replacedBy: string | null
  /** In the trash since. */
  discardedAt: Date | null
  /** It runs, and was asked to stop. */
  cancelRequestedAt: Date | null
  /**
   * Values of its row that Stint does not store, each as `runAt: infinity`; usually none. Such a time is null in JSON,
   * a text that is too long is cut, and an unreadable value is left out.
   */
  broken: readonly string[]
}

/** The progress of a job, as its handler last reported it. */
export interface JobProgress {
  /** 0 to 100. */
  percent: number
  note: string | null
  /** ISO 8601, by the database's clock. */
  at: string
}

/** A job with its input and result. */
export interface Job extends JobSummary {
  input: unknown
  /** The key of the input in the blob store, if it was too large for its row. */
  inputBlob: string | null
  result: unknown
  error: unknown
  progress: JobProgress | null
}

/** A row of the view stint.jobs, as jobs/fragments/shown.sql selects it. */
export interface JobSummaryRow {
  id: string
  state: JobState
  queue: string
  kind: string
  key: string | null
  priority: number
  attempt: number
  max_attempts: number
  crashes: number
  epoch: number
  version: number
  created_at: Date
  run_at: Date
  started_at: Date | null
  finished_at: Date | null
  deadline_at: Date | null
  worker_id: string | null
  correlation_id: string | null
  traceparent: string | null
  tracestate: string | null
  parent_id: string | null
  flow_id: string | null
  /** May have any depth and contain nulls, if it was stored by hand. */
  search: readonly unknown[] | null
  reason: string | null
  attempts_before: number | null
  replaces: string | null
  replaced_by: string | null
  discarded_at: Date | null
  suspect: boolean
  cancel_at: Date | null
}

export interface JobRow extends JobSummaryRow {
  input: unknown
  input_blob: string | null
  result: unknown
  error: unknown
  progress: unknown
  options: unknown
}

export function toJob(row: JobRow): Job {
  const summary = toJobSummary(row)
  const { progress, options } = row
  const reported = toJobProgress(progress)
  const isProgress = progress === null || reported !== null
  return {
    ...summary,
    input: row.input,
    inputBlob: row.input_blob,
    result: row.result,
    error: row.error,
    progress: reported,
    broken: [
      ...summary.broken,
      ...(isProgress ? [] : ['progress: not { percent, note, at }']),
      ...(areJobOptions(options) ? [] : ['options: not { timeoutMs, crashLimit, fireAt }']),
    ],
  }
}

/** A stored progress, or null if there is none or it is not one that Stint stores. */
export function toJobProgress(value: unknown): JobProgress | null {
  return isJobProgress(value) ? value : null
}

function isJobProgress(value: unknown): value is JobProgress {
  if (typeof value !== 'object' || value === null) return false
  const { percent, note, at } = value as Partial<Record<keyof JobProgress, unknown>>
  return (
    typeof percent === 'number' &&
    Number.isFinite(percent) &&
    (note === null || typeof note === 'string') &&
    typeof at === 'string' &&
    !Number.isNaN(Date.parse(at))
  )
}

function areJobOptions(value: unknown): boolean {
  if (value === null) return true
  if (typeof value !== 'object' || Array.isArray(value)) return false
  const { timeoutMs, crashLimit, fireAt } = value as Record<string, unknown>
  return (
    [timeoutMs, crashLimit].every((one) => one === undefined || (typeof one === 'number' && one > 0)) &&
    (fireAt === undefined || (typeof fireAt === 'string' && !Number.isNaN(Date.parse(fireAt))))
  )
}

/** The one reader of job rows. It accepts any value that a column can hold: one bad row must never hide the others. */
export function toJobSummary(row: JobSummaryRow): JobSummary {
  const broken: string[] = []
  const time = <Time extends Date | null>(name: string, value: Time): Time => {
    if (value instanceof FarTime) broken.push(`${name}: ${value.stored}`)
    return value
  }
  const name = (column: 'queue' | 'kind'): string => {
    if (!isName(row[column])) broken.push(`${column}: not a name`)
    return cut(row[column], longestName)
  }
  const text = <Text extends string | null>(column: string, value: Text, bytes: number): Text => {
    if (value === null || boundedText(value, bytes)) return value
    broken.push(`${column}: ${value === '' ? 'empty' : `longer than ${bytes} bytes`}`)
    return cut(value, longestText) as Text
  }
  const number = (column: string, value: number, { min, max = Infinity }: { min: number; max?: number }) => {
    if (value < min || value > max) broken.push(`${column}: ${value}`)
    return value
  }
  const summary = {
    id: row.id,
    state: row.state,
    queue: name('queue'),
    kind: name('kind'),
    key: text('key', row.key, 512),
    priority: number('priority', row.priority, priorityRange),
    attempt: number('attempt', row.attempt, { min: 0 }),
    maxAttempts: number('maxAttempts', row.max_attempts, { min: 0 }),
    crashes: number('crashes', row.crashes, { min: 0 }),
    isSuspect: row.suspect,
    epoch: number('epoch', row.epoch, { min: 0 }),
    version: number('version', row.version, { min: 1 }),
    createdAt: time('createdAt', row.created_at),
    runAt: time('runAt', row.run_at),
    startedAt: time('startedAt', row.started_at),
    finishedAt: time('finishedAt', row.finished_at),
    deadlineAt: time('deadlineAt', row.deadline_at),
    workerId: row.worker_id,
    // Most jobs begin a chain of their own; for those the column stays empty.
    correlationId: text('correlationId', row.correlation_id, 256) ?? row.id,
    traceparent: text('traceparent', row.traceparent, 55),
    tracestate: text('tracestate', row.tracestate, 512),
    parentId: row.parent_id,
    flowId: row.flow_id,
    search: wordsOf(row.search, broken),
    reason: row.reason === null ? null : cut(row.reason, longestText),
    attemptsBefore: row.attempts_before ?? 0,
    replaces: row.replaces,
    replacedBy: row.replaced_by,
    discardedAt: time('discardedAt', row.discarded_at),
    cancelRequestedAt: time('cancelRequestedAt', row.cancel_at),
  }
  return { ...summary, broken }
}

const longestName = 200
const longestText = 2_000

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`
}

/** Eight of the contract, and the schedule that made the job. */
const mostWords = 9
/** Longer than any text that Stint stores. */
const longestWord = 400

function wordsOf(search: readonly unknown[] | null, broken: string[]): Record<string, string> {
  if (search === null || search.length === 0) return {}
  const words = search.filter((word) => typeof word === 'string' && /^[^:]+:./s.test(word)) as string[]
  if (words.length < search.length) broken.push('search: a word is not name:value')
  if (search.length > mostWords) broken.push('search: too many words')
  if (words.some((word) => word.length > longestWord)) broken.push('search: a word is too long')
  return Object.fromEntries(words.slice(0, mostWords).map((word) => splitToken(cut(word, longestWord))))
}

function splitToken(token: string): [name: string, value: string] {
  const colon = token.indexOf(':')
  return [token.slice(0, colon), token.slice(colon + 1)]
}
