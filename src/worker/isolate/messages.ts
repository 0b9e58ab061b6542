import type { ClaimedJob } from '../../jobs/claim.ts'
import type { JobHint } from '../../jobs/new/new-job.ts'
import type { AbortCause } from '../attempt/held-job.ts'
import type { JobLog } from '../attempt/handler-context.ts'
import type { Outcome } from '../attempt/outcome.ts'

/** Messages between a worker and its child, by structured clone; they arrive in order. */
export type ToChild =
  | Introduction
  | { type: 'run'; job: ClaimedJob; workerId: string; heldForMs: number; timeoutMs: number }
  | { type: 'abort'; lease: string; cause: AbortCause; reason: AbortReason }
  /** The notes that the job has sent so far are stored. */
  | { type: 'written'; lease: string }
  /** The worker stops: no further step begins. */
  | { type: 'drain' }
  | { type: 'end' }

/** The first message to a child: what to load, and which database its jobs are in. */
export interface Introduction {
  type: 'load'
  entry: string
  /** Whether `stint work` set the entry: then it applies to all workers that name no other. */
  isTold: boolean
  /** Zero-based index of the worker within the entry. */
  index: number
  /** The kinds that the worker must have handlers for. */
  kinds: readonly string[]
  url: string
  schema: string
  leaseMs: number
  graceMs: number
  deadlineMs: number
}

/** An error, in a form that the other side can rebuild. */
export interface AbortReason {
  name: string
  message: string
  code: string | undefined
  /** The reason that the caller gave for the cancellation, if the job was cancelled. */
  cancelReason: string | null
}

export type FromChild =
  /** It has loaded the entry, and has handlers for these kinds. */
  | { type: 'ready'; kinds: readonly string[]; rssBytes: number }
  | { type: 'failed'; message: string }
  /** An error was never caught; most likely the child ends because of it. */
  | { type: 'uncaught'; message: string }
  /** A job threw an error after its attempt was over. */
  | { type: 'late'; jobId: string; kind: string; message: string }
  | JobMessage

/** About the job under this lease: a job that ended may still send messages while the next one runs. */
export type JobMessage = { lease: string } &
  /** Its handler is about to run: from here on the job is the cause if the child crashes. */
  (
    | { type: 'begun' }
    | { type: 'progress'; percent: number; note: string | null }
    | { type: 'line'; level: string; message: string; data: string | undefined }
    | { type: 'log'; level: keyof JobLog; fields: object; message: string }
    /** The handler is about to store its completion, and waits until its notes are written. */
    | { type: 'write' }
    | { type: 'completed' }
    /** It has stored a step: its timeout counts from here. */
    | { type: 'progressed' }
    /** It has stored children: workers are told where they are. */
    | { type: 'stored'; hints: readonly JobHint[] }
    | { type: 'outcome'; outcome: Outcome }
  )
