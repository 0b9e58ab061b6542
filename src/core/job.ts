/** Where a job is in its life. The first five are live; the others have ended. */
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

/** A job as it was when it was read, without what it carries. */
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
  /** Times that its process surely ended while it ran. */
  crashes: number
  /** Its worker ended once, and it may have been the reason: it runs so that a second time has a name. */
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
}

/** How far a job is, as its handler last said. */
export interface JobProgress {
  /** 0 to 100. */
  percent: number
  note: string | null
  /** ISO 8601, by the database's clock. */
  at: string
}

/** A job with all that is known of it. */
export interface Job extends JobSummary {
  input: unknown
  /** Where the input lies when it was too large for its row. */
  inputBlob: string | null
  result: unknown
  error: unknown
  progress: JobProgress | null
}

/** A row of the view stint.jobs, as list.sql selects it. */
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
  search: string[] | null
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
  progress: JobProgress | null
}

export function toJob(row: JobRow): Job {
  return {
    ...toJobSummary(row),
    input: row.input,
    inputBlob: row.input_blob,
    result: row.result,
    error: row.error,
    progress: row.progress,
  }
}

/** The one reader of job rows. */
export function toJobSummary(row: JobSummaryRow): JobSummary {
  return {
    id: row.id,
    state: row.state,
    queue: row.queue,
    kind: row.kind,
    key: row.key,
    priority: row.priority,
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    crashes: row.crashes,
    isSuspect: row.suspect,
    epoch: row.epoch,
    version: row.version,
    createdAt: row.created_at,
    runAt: row.run_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    deadlineAt: row.deadline_at,
    workerId: row.worker_id,
    // Most jobs begin a chain of their own; for those the column stays empty.
    correlationId: row.correlation_id ?? row.id,
    traceparent: row.traceparent,
    tracestate: row.tracestate,
    parentId: row.parent_id,
    flowId: row.flow_id,
    search: Object.fromEntries((row.search ?? []).map(splitToken)),
    reason: row.reason,
    attemptsBefore: row.attempts_before ?? 0,
    replaces: row.replaces,
    replacedBy: row.replaced_by,
    discardedAt: row.discarded_at,
    cancelRequestedAt: row.cancel_at,
  }
}

function splitToken(token: string): [name: string, value: string] {
  const colon = token.indexOf(':')
  return [token.slice(0, colon), token.slice(colon + 1)]
}
